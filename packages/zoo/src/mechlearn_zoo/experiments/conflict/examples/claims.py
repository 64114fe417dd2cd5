"""What is claimed of single examples as environments; written before any recorded run."""

from claimlab import (
    Claim,
    Measurement,
    OverSeeds,
    Paired,
    Row,
    Rows,
    at_least,
    at_most,
    bootstrap,
    low_above,
    low_at_least,
    number,
)

_SOURCE = "ours; issue 'rules that test for conflict'"
_TRIED = "On seeds 1000 and 1001, with one setting for all methods; multiples 1 and 3 of the median were a prototype's."


def _final(key: str, board: str, method: str) -> OverSeeds:
    return OverSeeds(key, {"kind": "final", "board": board, "method": method})


def difference(key: str, one: str, other: str) -> Paired:
    """Return a measure: what one method ends with less what another does, with wrong labels, median over seeds."""
    end = {"kind": "final", "board": "wrong labels"}
    return Paired(key, end | {"method": one}, end | {"method": other})


def _at_best(rows: Rows) -> Row:
    return max(rows, key=lambda row: number(row, "validation_accuracy"))


def over_early_stopping(rows: Rows) -> Measurement | None:
    """Return the clipped mean's final test accuracy less averaging's where clean validation images stop it, by seed."""
    found: list[float] = []
    for group in rows.where(board="wrong labels").by("seed").values():
        clipped = group.where(kind="final", method="clipped 3")["test_accuracy"][0]
        found.append(clipped - number(_at_best(group.where(method="averaging")), "test_accuracy"))
    return bootstrap(found) if found else None


CLAIMS = (
    Claim(
        id="conflict-examples.averaging",
        text="Averaging fits wrong labels in the end.",
        source=_SOURCE,
        measure=_final("fitted", "wrong labels", "averaging"),
        condition=at_least(0.9, of="share of the wrong labels that it gives, median over seeds,"),
        kind="control",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-examples.and-mask",
        text="The AND-mask, which counts examples' signs, leaves them.",
        source=_SOURCE,
        measure=_final("fitted", "wrong labels", "AND 0.2"),
        condition=at_most(0.1, of="share of the wrong labels that it gives at threshold 0.2, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-examples.clipped",
        text="So does a robust mean that masks nothing: each component clipped at three times the batch's median size.",
        source=_SOURCE,
        measure=_final("fitted", "wrong labels", "clipped 3"),
        condition=at_most(0.1, of="share of the wrong labels that it gives, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-examples.as-good",
        text="It is as right on test images as the AND-mask: against wrong labels robustness is what counts.",
        source=_SOURCE,
        measure=difference("test_accuracy", "clipped 3", "AND 0.2"),
        condition=low_at_least(-0.02, of="test accuracy less the AND-mask's at threshold 0.2, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-examples.early-stopping",
        text="It is more right than averaging that clean validation images stop.",
        source=_SOURCE,
        measure=over_early_stopping,
        condition=low_above(0.0, of="test accuracy less that of averaging stopped at its best, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-examples.heads",
        text="A t-test of the mean does not stand in for counting heads: it fits more of the wrong labels.",
        source=_SOURCE,
        measure=difference("fitted", "t 2", "AND 0.2"),
        condition=low_above(0.05, of="share of the wrong labels that it gives less the AND-mask's, median over seeds,"),
        kind="ours",
        tried=_TRIED + " Threshold 0.2 over 80 examples is a sign test with z = 1.8, beside t = 2.",
    ),
    Claim(
        id="conflict-examples.memorisation",
        text="Labels that are all random it does not memorise either.",
        source=_SOURCE,
        measure=_final("fitted", "random labels", "clipped 3"),
        condition=at_most(0.5, of="share of the random labels that it gives, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-examples.memorised",
        text="Averaging memorises most of them in as many steps.",
        source=_SOURCE,
        measure=_final("fitted", "random labels", "averaging"),
        condition=at_least(0.8, of="share of the random labels that it gives, median over seeds,"),
        kind="control",
        tried=_TRIED,
    ),
)

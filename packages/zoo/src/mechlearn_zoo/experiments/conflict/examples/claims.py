"""What is claimed of single examples as environments; written before any recorded run."""

from claimlab import (
    Claim,
    OverSeeds,
    Paired,
    at_most,
    low_at_least,
)

_SOURCE = "ours; issue 'rules that test for conflict'"
_TRIED = "On seeds 1000 and 1001, with one setting for all methods; multiples 1 and 3 of the median were a prototype's."


def _final(key: str, board: str, method: str) -> OverSeeds:
    return OverSeeds(key, {"kind": "final", "board": board, "method": method})


def difference(key: str, one: str, other: str) -> Paired:
    """Return a measure: what one method ends with less what another does, with wrong labels, median over seeds."""
    end = {"kind": "final", "board": "wrong labels"}
    return Paired(key, end | {"method": one}, end | {"method": other})


CLAIMS = (
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
)

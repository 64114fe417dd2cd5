"""What is claimed of cloning with levels as environments; written before any recorded run."""

from claimlab import Claim, Measure, Measurement, Rows, at_most, bootstrap, low_above, low_at_least, number
from mechlearn_zoo.experiments.agreement.cloning.run import TESTING

_SOURCE = "ours; issue 'rules that test for conflict'"


def selected(rows: Rows, methods: tuple[str, ...]) -> dict[float, float]:
    """Return, by seed, the test divergence where held-out levels' is least, over methods, trials and steps."""
    looks = rows.where(kind="look").where(lambda row: row["method"] in methods)
    chosen = {seed: min(group, key=lambda row: number(row, "held_out")) for seed, group in looks.by("seed").items()}
    return {number(row, "seed"): number(row, "test") for row in chosen.values()}


def saved(methods: tuple[str, ...], over: str = "averaging") -> Measure:
    """Return a measure: the share of another's test divergence that methods save, by seed; median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        ours, theirs = selected(rows, methods), selected(rows, (over,))
        found = [1 - ours[seed] / theirs[seed] for seed in ours if seed in theirs]
        return bootstrap(found) if found else None

    return measure


def learnt(rows: Rows) -> Measurement | None:
    """Return averaging's test divergence over that of a constant policy, by seed; median over seeds."""
    theirs = selected(rows, ("averaging",))
    constant = {number(row, "seed"): number(row, "test") for row in rows.where(kind="constant")}
    found = [theirs[seed] / constant[seed] for seed in theirs if seed in constant]
    return bootstrap(found) if found else None


_SAVED = "share of averaging's divergence that is saved on test levels, median over seeds,"

CLAIMS = (
    Claim(
        id="cloning-conflict.learns",
        text="Averaging over levels learns to find the goal on levels that it has never seen.",
        source=_SOURCE,
        measure=learnt,
        condition=at_most(0.75, of="divergence on test levels over that of equal probabilities, median over seeds,"),
        kind="control",
    ),
    Claim(
        id="cloning-conflict.and-mask",
        text="The AND-mask over sixteen levels a step clones better than averaging does.",
        source=_SOURCE,
        measure=saved(("AND-mask",)),
        condition=low_above(0, of=_SAVED),
        kind="ours",
        tried="One threshold, one network, three drawn settings; nothing was searched beside these.",
    ),
    Claim(
        id="cloning-conflict.qualitative",
        text="Gail-Simon's rule costs at most a twentieth.",
        source=_SOURCE,
        measure=saved(("Gail-Simon",)),
        condition=low_at_least(-0.05, of=_SAVED),
        kind="ours",
    ),
    Claim(
        id="cloning-conflict.testing",
        text="A rule that tests for conflict, chosen on held-out levels, clones better than averaging does.",
        source=_SOURCE,
        measure=saved(TESTING),
        condition=low_above(0, of=_SAVED),
        kind="ours",
    ),
    Claim(
        id="cloning-conflict.again",
        text="On fresh levels Gail-Simon's rule clones better than averaging does.",
        source=_SOURCE,
        measure=saved(("Gail-Simon",)),
        condition=low_above(0, of=_SAVED).at("placebo"),
        kind="ours",
        tried="Written after `quick` had shown a gain, before this preset's run on other seeds.",
    ),
    Claim(
        id="cloning-conflict.not-decay",
        text="It is the test and not the decay: as many weights masked at random, which decay alike, do not clone as well.",
        source=_SOURCE,
        measure=saved(("Gail-Simon",), "placebo"),
        condition=low_above(0, of="share of the placebo's divergence that is saved on test levels, median over seeds,").at(
            "placebo"
        ),
        kind="control",
        tried="Written after `quick` had shown a gain, before this preset's run on other seeds.",
    ),
)

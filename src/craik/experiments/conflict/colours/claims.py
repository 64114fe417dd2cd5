"""What is claimed of coloured digits; written before any recorded run. The second is kept as the limit."""

from collections.abc import Callable, Sequence

from craik.experiments.conflict.colours.run import COMPARED
from craik.lab import Claim, Measurement, Rows, bootstrap, high_below, low_above, low_at_least, number

_SOURCE = "ours; issue 'rules that test for conflict'"
_TRAINING, _ORACLE = "training-domain", "oracle"


def selected(rows: Rows, method: str, selection: str) -> dict[float, float]:
    """Return, by seed, the test accuracy of the trial that a rule selects."""
    groups = rows.where(method=method).by("seed").values()
    chosen = [max(group, key=lambda row: number(row, selection)) for group in groups]
    return {number(row, "seed"): number(row, "test_accuracy") for row in chosen}


def best(methods: Sequence[str], selection: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: the best of some methods, by seed, each selected by a rule; median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = [selected(rows, method, selection) for method in methods]
        seeds = set.intersection(*(set(one) for one in found))
        return bootstrap([max(one[seed] for one in found) for seed in sorted(seeds)]) if seeds else None

    return measure


def over(method: str, other: str, selection: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: one method's test accuracy less another's, both selected by a rule; median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        ours, theirs = (selected(rows, name, selection) for name in (method, other))
        found = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
        return bootstrap(found) if found else None

    return measure


CLAIMS = (
    Claim(
        id="conflict-colours.averaging",
        text="Averaging follows the colour: below chance where it misleads.",
        source=_SOURCE,
        measure=best(("mean",), _TRAINING),
        condition=high_below(0.5, of="test accuracy under training-domain selection, median over seeds,"),
        kind="control",
    ),
    Claim(
        id="conflict-colours.fails",
        text="So does every mask: selected on examples of the training environments none is better than chance.",
        source=_SOURCE,
        measure=best(COMPARED[1:], _TRAINING),
        condition=high_below(0.5, of="best test accuracy of any mask under training-domain selection, median over seeds,"),
        kind="ours",
    ),
    Claim(
        id="conflict-colours.differences",
        text="Cochran's test, which sees differences in size, follows the colour less than averaging does.",
        source=_SOURCE,
        measure=over("homogeneous-decay", "mean", _TRAINING),
        condition=low_above(0.0, of="difference of test accuracies under training-domain selection, median over seeds,"),
        kind="ours",
    ),
    Claim(
        id="conflict-colours.signs",
        text="Gail-Simon's test, which sees signs, does not lose against averaging where signs agree.",
        source=_SOURCE,
        measure=over("qualitative-decay", "mean", _TRAINING),
        condition=low_at_least(-0.05, of="difference of test accuracies under training-domain selection, median over seeds,"),
        kind="ours",
    ),
    Claim(
        id="conflict-colours.oracle",
        text="With settings chosen on the test environment Cochran's test is better than averaging, too.",
        source=_SOURCE,
        measure=over("homogeneous-decay", "mean", _ORACLE),
        condition=low_above(0.0, of="difference of test accuracies under oracle selection, median over seeds,"),
        kind="ours",
    ),
)

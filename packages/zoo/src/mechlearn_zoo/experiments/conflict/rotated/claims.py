"""What is claimed of rotated shortcuts; written before any recorded run. The first is kept as the limit."""

from claimlab import Claim, Greatest, Measurement, OverSeeds, Rows, at_least, at_most, bootstrap

_SOURCE = "ours; issue 'rules that test for conflict'"


def _accuracy(board: str, method: str) -> OverSeeds:
    return OverSeeds("accuracy", {"kind": "final", "board": board, "method": method})


def best(rows: Rows) -> Measurement | None:
    """Return the best accuracy of any rule on as many rotated shortcuts as environments, median over seeds."""
    groups = rows.where(kind="final", board="16 rotated").by("seed").values()
    found = [max(group["accuracy"]) for group in groups]
    return bootstrap(found) if found else None


CLAIMS = (
    Claim(
        id="conflict-rotated.fails",
        text="With as many shortcuts as environments, rotated, every rule fails: one direction agrees in all environments.",
        source=_SOURCE,
        measure=best,
        condition=at_most(0.6, of="best test accuracy of any rule, median over seeds,"),
        kind="ours",
    ).also_stopped(Greatest, trainings="each"),
    Claim(
        id="conflict-rotated.and-mask",
        text="With four rotated shortcuts, which could be told apart, the AND-mask fails.",
        source=_SOURCE,
        measure=_accuracy("4 rotated", "and-mask"),
        condition=at_most(0.65, of="test accuracy, median over seeds,"),
        kind="ours",
    ).also_stopped(Greatest, trainings="it"),
    Claim(
        id="conflict-rotated.subspace",
        text="There a mask of directions, tested in the basis in which the environments disagree, finds the spirals.",
        source=_SOURCE,
        measure=_accuracy("4 rotated", "subspace, first"),
        condition=at_least(0.95, of="test accuracy of the subspace mask of the first layer, median over seeds,"),
        kind="ours",
    ),
    Claim(
        id="conflict-rotated.deep",
        text="So does the same mask of every layer's inputs, where no coordinate has a meaning to begin with.",
        source=_SOURCE,
        measure=_accuracy("4 rotated", "subspace, all"),
        condition=at_least(0.95, of="test accuracy of the subspace mask of all layers, median over seeds,"),
        kind="ours",
    ),
)

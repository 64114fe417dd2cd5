"""What chapter 4's experiments measure while they train, and the two ways to report a training run by one number.

The papers report the best value that the test set saw at any time. That selects on test data, so it stands beside the
value at the time that was best on held-out data: "as printed" and "selected".
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from claimlab import Measurement, Row, Rows, Scalar, bootstrap, number


class Measured(NamedTuple):
    """One look at a student while it trains.

    Attributes:
        step: ordinary steps of the student so far.
        selection: on the held-out examples for choosing.
        test: on the test examples.
    """

    step: int
    selection: float
    test: float


def summary(points: Sequence[Measured], best: Callable[[Sequence[float]], float]) -> Row:
    """Return a run's columns: as printed, selected, and last.

    Args:
        points: in the order of steps; of equally good ones the earliest counts.
        best: ``max`` for accuracies, ``min`` for losses and errors.
    """
    chosen = next(point for point in points if point.selection == best([point.selection for point in points]))
    return {
        "as_printed": best([point.test for point in points]),
        "selected": chosen.test,
        "selected_step": chosen.step,
        "selection": chosen.selection,
        "last": points[-1].test,
    }


OF_A_LOOK = {"kind", "seconds", "training", "lost", *Measured._fields}
"""Columns of a curve's row that are of the look; the others say whose run it is."""


def shortened(rows: Rows, share: float, best: Callable[[Sequence[float]], float] = min) -> Rows:
    """Return the rows of training runs as if each had ended at a share of the longest one's steps.

    These are the looks until then and, made of them, a final row a run. What was measured at the end alone is left out, and
    so is a run without a look until then.

    Args:
        rows: those of kind "curve" are read, in the order of steps.
        share: of the steps, above 0, up to 1.
        best: ``max`` for accuracies, ``min`` for losses and errors.
    """
    curves = rows.where(kind="curve")
    end = share * max(curves["step"], default=0.0)
    runs: dict[tuple[tuple[str, Scalar], ...], list[Row]] = {}
    for row in curves.where(lambda row: number(row, "step") <= end):
        runs.setdefault(tuple((key, value) for key, value in row.items() if key not in OF_A_LOOK), []).append(row)
    finals: list[Row] = []
    for run, looks in runs.items():
        points = [Measured(int(number(row, "step")), number(row, "selection"), number(row, "test")) for row in looks]
        found = summary(points, best)
        training = next(number(row, "training") for row in looks if row["step"] == found["selected_step"])
        gap = number(found, "selected") - training
        finals.append({"kind": "final", **dict(run), **found, "training": training, "gap": gap})
    return Rows([*(row for looks in runs.values() for row in looks), *finals])


def best_of_seeds(rows: Rows, key: str, best: Callable[..., Row] = min) -> Rows:
    """Return each seed's row whose value of a column is best, the earliest of equally good ones; seeds ascending.

    Args:
        rows: one for each setting and seed.
        key: "selection" for choosing on held-out examples, "as_printed" for choosing as the papers do, on test data.
        best: ``max`` for accuracies, ``min`` for losses and errors.
    """

    def value(row: Row) -> float:
        return number(row, key)

    return Rows(best(group, key=value) for group in rows.by("seed").values())


def ratio(ours: Rows, theirs: Rows, key: str) -> Measurement | None:
    """Return the median over common seeds of one number divided by another, a row a seed each; None where there are none."""
    found = [mine / other for mine, other in pairs(ours, theirs, key)]
    return bootstrap(found) if found else None


def pairs(ours: Rows, theirs: Rows, key: str) -> list[tuple[float, float]]:
    """Return a column's two numbers of each seed that both have, a row a seed each."""
    other = {row["seed"]: number(row, key) for row in theirs}
    return [(number(row, key), other[row["seed"]]) for row in ours if row["seed"] in other]

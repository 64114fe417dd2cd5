"""What chapter 4's experiments measure while they train, and the two ways to report a training run by one number.

The papers report the best value that the test set saw at any time. That selects on test data, so it stands beside the
value at the time that was best on held-out data: "as printed" and "selected".
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from claimlab import Measurement, Row, Rows, bootstrap, number


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

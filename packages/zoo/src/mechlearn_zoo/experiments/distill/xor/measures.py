"""What is measured of a teacher's advantage over the grid."""

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Rows, bootstrap, number


def advantage(method: str, over: str, key: str = "selected") -> EachSeed:
    """Return a measure: a method's accuracy minus another's, the mean over cells of the grid and over seeds.

    Args:
        method: the one that exceeds.
        over: the method that is exceeded.
        key: "as_printed" or "selected".
    """

    def mean(rows: Rows) -> float | None:
        cells = _cells(rows, method, over, key)
        return float(np.mean(cells)) if cells else None

    return EachSeed(mean)


def least_advantage(method: str, over: str) -> Measure:
    """Return a measure: a method's accuracy minus another's in the cell where it is least in the mean over seeds."""

    def measured(rows: Rows) -> Measurement | None:
        table = np.array([cells for group in rows.by("seed").values() if (cells := _cells(group, method, over, "selected"))])
        return bootstrap(table[:, table.mean(0).argmin()], np.mean) if table.size else None

    return measured


def _cells(rows: Rows, method: str, over: str, key: str) -> list[float]:
    """One seed's differences, a cell each; none where a method was not run."""
    ours, theirs = (
        {(number(row, "inputs"), number(row, "examples")): number(row, key) for row in rows.where(method=one)}
        for one in (method, over)
    )
    return [ours[cell] - theirs[cell] for cell in sorted(ours)] if ours and theirs else []

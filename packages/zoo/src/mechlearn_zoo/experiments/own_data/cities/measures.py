"""What the claims of the five cities measure: differences between methods, mean over seeds."""

from claimlab import Measure, Measurement, Rows, number
from mechlearn_zoo.experiments.own_data.cities.run import cell
from mechlearn_zoo.experiments.own_data.measures import difference, least, most

__all__ = ["difference", "least", "most"]


def recorded(method: str, over: str, horizons: tuple[int, ...], up_to: int) -> Measure:
    """Return a measure: the smallest mean difference of two methods at all numbers of rows recorded, up to one of them."""

    def measure(rows: Rows) -> Measurement | None:
        counts = {int(number(row, "rows")) for row in rows.where(kind="score", part="privileged")}
        cells = [cell(horizon, count) for horizon in horizons for count in sorted(counts) if count <= up_to]
        return least((method,), (over,), cells)(rows)

    return measure

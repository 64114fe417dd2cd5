"""How far a seed is, told by its latest row, where a seed goes through the cells of a table one by one."""

from collections.abc import Callable, Iterable
from typing import Any

from claimlab.rows import Row, number

Values = str | Iterable[Any] | Callable[[Any], Iterable[Any]]
"""A column's values in their order; the name of a setting that has them, or what gives them of a config."""


def progress_over(shown: str = "", /, **columns: Values) -> Callable[[Any, Row], tuple[float, str]]:
    """Return an experiment's progress over cells, the last column fastest.

    Args:
        shown: the column of a number that is printed beside the cell; "" for none.
        columns: that rows have, with their values.

    Example:
        >>> progress = progress_over("accuracy", method=("plain", "ours"), trial=lambda config: range(3))
        >>> progress(None, {"method": "ours", "trial": 0, "accuracy": 0.9})
        (0.6666666666666666, 'ours, trial 0  accuracy 0.9')
    """

    def progress(config: Any, row: Row) -> tuple[float, str]:  # noqa: ANN401  # of whichever experiment
        place, count = 0, 1
        for column, given in columns.items():
            found = getattr(config, given) if isinstance(given, str) else given(config) if callable(given) else given
            values = list(found)
            place, count = place * len(values) + values.index(row[column]), count * len(values)
        words = ", ".join(text if isinstance(text := row[column], str) else f"{column} {text}" for column in columns)
        return (place + 1) / count, f"{words}  {shown} {number(row, shown):.3g}" if shown in row else words

    return progress

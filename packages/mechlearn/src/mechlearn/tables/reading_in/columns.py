"""A table's columns by name, whatever holds them, and one value for each row."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray


def columns_of(X: Any) -> dict[str, NDArray[Any]]:  # noqa: ANN401, N803
    """Return a table's columns by name.

    Raises:
        TypeError: nothing that is a table.
        ValueError: no rows, no columns, columns of different lengths, or two of one name.
    """
    if isinstance(X, Mapping):
        named = [(str(name), _array(values)) for name, values in X.items()]
    elif hasattr(X, "columns") or hasattr(X, "column_names"):
        names = list(getattr(X, "column_names", None) or X.columns)
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Columns should have names of their own. Found {repeated[0]!r} more than once. Rename one of them."
            )
        named = [(str(name), _array(X[name])) for name in names]
    else:
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            raise TypeError(f"X should be a table: a data frame, columns by name or a matrix. Found shape {matrix.shape}.")
        named = [(f"x{index}", matrix[:, index]) for index in range(matrix.shape[1])]
    lengths = {len(values) for _, values in named}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"A table should have columns of one length, above 0. Found lengths {sorted(lengths)}.")
    return dict(named)


def _array(values: Any) -> NDArray[Any]:  # noqa: ANN401
    """A column's values.

    NumPy alone would make the last category of Arrow's missing ones, numbers of 53 bits of large ones where others are missing,
    and the text "nan" of a gap in a list of texts.
    """
    if hasattr(values, "to_pylist"):  # Arrow's
        kind = str(values.type)
        if kind.startswith("dictionary"):
            return _array(values.cast(values.type.value_type))
        return np.array(values.to_pylist(), dtype=object) if "int" in kind and values.null_count else np.asarray(values)
    if hasattr(values, "to_list") and callable(getattr(values, "null_count", None)) and values.dtype.is_integer():  # polars'
        return np.array(values.to_list(), dtype=object) if values.null_count() else np.asarray(values)
    if hasattr(values, "dtype") or not any(isinstance(value, str) for value in values):
        return np.asarray(values)
    return np.asarray(values, dtype=object)


def one_dimensional(name: str, values: Any, rows: int) -> NDArray[Any]:  # noqa: ANN401
    """Return one value for each row.

    Raises:
        ValueError: another shape.
    """
    if values is None:
        raise ValueError(
            f"`{name}` should hold one value for each of the {rows} rows. Found None. Name the column that says it."
        )
    arrow = hasattr(values, "to_pylist")
    found = _array(values) if arrow else np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if found.dtype.kind == "O" and found.ndim == 1 and not any(isinstance(value, str) or value is None for value in found):
        with suppress(ValueError):  # ragged lists: refused below
            found = np.asarray(found.tolist())
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (rows,):
        raise ValueError(
            f"`{name}` should hold one value for each of the {rows} rows. Found shape {found.shape}. "
            "Targets of survival or ranking are pairs and lists: ask about one number or one class."
        )
    return found


def nearest(name: str, names: Mapping[str, Any] | Sequence[str]) -> str:
    """Return a sentence with the likeliest name, or all there are."""
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(name, [*names], n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(list(names)[:12])}."

"""A table's columns by name, whatever holds them, and one value for each row."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in.cells import NOTHING, is_missing


def columns_of(X: Any) -> dict[str, NDArray[Any]]:  # noqa: ANN401, N803
    """Return a table's columns by name."""
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # a lazy frame of polars
        return columns_of(X.collect())
    if isinstance(X, Mapping):
        named = [(str(name), _input(values)) for name, values in X.items()]
    elif hasattr(X, "columns") or hasattr(X, "column_names"):
        names = list(getattr(X, "column_names", None) or X.columns)
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Columns should have names of their own. Found {repeated[0]!r} more than once. Rename one of them."
            )
        named = [(str(name), _input(X[name])) for name in names]
    else:
        matrix = _array(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if matrix.ndim != 2:
            raise TypeError(f"X should be a table: a data frame, columns by name or a matrix. Found shape {matrix.shape}.")
        named = [(f"x{index}", matrix[:, index]) for index in range(matrix.shape[1])]
    lengths = {len(values) for _, values in named}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"A table should have columns of one length, above 0. Found lengths {sorted(lengths)}.")
    return {name: _without_nothing(values) for name, values in named}


def _input(values: Any) -> NDArray[Any]:  # noqa: ANN401
    """An input's values: pandas' categories stay categories, though they be numbers."""
    found = _array(values)
    if str(getattr(values, "dtype", "")) != "category":
        return found
    return np.array([None if gone else str(value) for value, gone in zip(found, is_missing(found), strict=True)], dtype=object)


def _without_nothing(values: NDArray[Any]) -> NDArray[Any]:
    """Return a column with None for texts that say that nothing is there."""
    if values.dtype.kind not in "OU":
        return values
    gone = np.array([isinstance(value, str) and value.strip().lower() in NOTHING for value in values], dtype=bool)
    if not gone.any():
        return values
    found = values.astype(object)
    found[gone] = None
    return found


def _array(values: Any) -> NDArray[Any]:  # noqa: ANN401
    """A column's values.

    NumPy alone would make the last category of Arrow's missing ones, numbers of 53 bits of large ones where others are missing,
    the text "nan" of a gap in a list of texts, and show what a mask hides.
    """
    if isinstance(values, np.ma.MaskedArray):
        return _hidden(values)
    if hasattr(values, "isna") and not isinstance(values.dtype, np.dtype):  # a type of pandas' own
        return np.asarray(values.astype(object) if bool(np.any(values.isna())) or hasattr(values.dtype, "tz") else values)
    if hasattr(values, "to_pylist"):  # Arrow's
        kind = str(values.type)
        if kind.startswith("dictionary"):
            return _array(values.cast(values.type.value_type))
        return np.array(values.to_pylist(), dtype=object) if "int" in kind and values.null_count else np.asarray(values)
    kind = getattr(values, "dtype", None)
    if callable(getattr(values, "null_count", None)) and getattr(kind, "is_integer", bool)():  # polars' whole numbers
        values = np.array(values.to_list(), dtype=object) if values.null_count() else values
    texts = not hasattr(values, "dtype") and any(isinstance(value, str) for value in values)
    return np.asarray(values, dtype=object if texts else None)


def _hidden(masked: Any) -> NDArray[Any]:  # noqa: ANN401  # a masked array
    if masked.dtype.kind == "f":
        return masked.filled(np.nan)
    found = masked.data.astype(object)
    found[np.ma.getmaskarray(masked)] = None
    return found


def one_dimensional(name: str, values: Any, rows: int) -> NDArray[Any]:  # noqa: ANN401
    """Return one value for each row."""
    if values is None:
        raise ValueError(
            f"`{name}` should hold one value for each of the {rows} rows. Found None. Name the column that says it."
        )
    typed = hasattr(values, "to_pylist") or hasattr(values, "dtype")
    found = _array(values) if typed else np.asarray(values, dtype=object)
    if found.dtype.kind == "O" and found.ndim == 1 and not any(isinstance(value, str) for value in found[~is_missing(found)]):
        with suppress(ValueError):  # ragged lists: refused below
            found = found if is_missing(found).any() else np.asarray(found.tolist())
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

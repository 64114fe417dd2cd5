"""A table's columns by name, whatever holds them, and one value for each row."""

import unicodedata
from collections import Counter
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
        _check_names([str(name) for name in names])
        named = [(str(name), _input(X[name])) for name in names]
    elif hasattr(X, "tocsr"):
        raise TypeError("X should be dense. Found a sparse matrix. Give X.toarray().")
    else:
        matrix = _array(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if matrix.ndim != 2:
            raise TypeError(f"X should be a table: a data frame, columns by name or a matrix. Found shape {matrix.shape}.")
        named = [(f"x{index}", matrix[:, index]) for index in range(matrix.shape[1])]
    _check_names([name for name, _ in named])
    for name, values in named:
        if values.ndim != 1:
            raise ValueError(f"A column should hold one value for each row. Found shape {values.shape} in {name!r}. Split it.")
    lengths = {len(values) for _, values in named}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"A table should have columns of one length, above 0. Found lengths {sorted(lengths)}.")
    return {name: _as_texts(values) for name, values in named}


def _check_names(names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"Columns should have names of their own. Found {repeated[0]!r} more than once. Rename one of them.")


def _input(values: Any) -> NDArray[Any]:  # noqa: ANN401
    """An input's values: pandas' categories stay categories, though they be numbers."""
    found = _array(values)
    if str(getattr(values, "dtype", "")) != "category":
        return found
    return np.array([None if gone else str(value) for value, gone in zip(found, is_missing(found), strict=True)], dtype=object)


def _as_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Return a column with None for texts that say that nothing is there, and texts in one of Unicode's forms (NFC)."""
    if values.dtype.kind not in "OU":
        return values
    changed = {row: text for row, value in enumerate(values) if isinstance(value, str) and (text := _text(value)) != value}
    if not changed:
        return values
    found = values.astype(object)
    for row, text in changed.items():
        found[row] = text
    return found


def _text(value: str) -> str | None:
    return None if value.strip().lower() in NOTHING else unicodedata.normalize("NFC", value)


def _array(values: Any) -> NDArray[Any]:  # noqa: ANN401
    """A column's values.

    NumPy alone would make the last category of Arrow's missing ones, numbers of 53 bits of large ones where others are missing,
    the text "nan" of a gap in a list of texts, and show what a mask hides.
    """
    if isinstance(values, np.ma.MaskedArray):
        masked: Any = values
        if masked.dtype.kind == "f":
            return masked.filled(np.nan)
        found: NDArray[Any] = masked.data.astype(object)
        found[np.ma.getmaskarray(masked)] = None
        return found
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

"""The target: what cannot be predicted, and numbers or classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.fitting import Task
from mechlearn.tables.reading_in.cells import Numbers, check_finite, check_strays, is_missing, kind, plain, strays

CLASSED = "leave their rows out; if each is a class of its own, ask for classification (--task classification)"
"""Way out where a target's numbers have some texts among them."""


def check_target(target: NDArray[Any], name: str | None = None, task: Task | None = None, gaps: bool = False) -> None:
    """Reject an (n,) target that cannot be predicted; with gaps it may be missing in some rows.

    Without a task, up to `MOST` different texts are classes rather than numbers with cells to mend (`check_column`).
    """
    column, gone = name or "y", is_missing(target)
    if gone.all() or (gone.any() and not gaps):
        raise ValueError(
            f"The target should be known in {'some' if gaps else 'every'} row. Found {gone.sum()} missing of {column!r}, first "
            f"in data row {gone.argmax() + 1} of {len(target)}. Leave these rows out (fit: --labelled), or where cells "
            "say NA or none and mean a class, give it another name."
        )
    if kind(target) in ("dates", "others"):
        raise ValueError(f"The target should be a number or a class. Found {kind(target)}. Say what of it is to be predicted.")
    if kind(target) == "numbers":
        check_finite(column, target)
    if kind(target) == "texts" and task is None:
        check_strays(column, target, CLASSED)
    known = target[~gone]
    if len(np.unique(known.astype(str) if known.dtype.kind == "O" else known)) < 2:
        raise ValueError(
            f"The target should take two values or more. Found {plain(known[0])!r} only in {column!r}. "
            "There is nothing to predict."
        )


def check_known(target: object) -> None:
    """Reject a target of objects with gaps, such as pandas' NA among texts, before NumPy makes a text of them or fails.

    What is no sequence of one cell a row, and a NaN among numbers, is scikit-learn's to refuse.
    """
    kind_of = getattr(getattr(target, "dtype", None), "kind", "O")
    if target is None or isinstance(target, str | bytes) or (isinstance(target, np.ndarray) and kind_of != "O"):
        return
    try:
        cells = np.asarray(target, dtype=object)
    except (TypeError, ValueError):
        return
    gone = is_missing(cells) if cells.ndim == 1 else np.zeros(0, dtype=bool)
    if gone.any():
        raise ValueError(
            f"`y` should be known in every row. Found {gone.sum()} missing, first in row {gone.argmax() + 1} of {len(cells)}. "
            "Leave these rows out, or where nothing means a class, give it a name."
        )


def target_codes(target: NDArray[Any], task: Task | None) -> tuple[Numbers, tuple[Any, ...] | None]:
    """Return (n, K) a column of 0 and 1 for each class and the classes, or (n, 1) numbers and None.

    Without a task, up to 20 different whole numbers and all texts are classes. None of the target's (n,) may be missing.
    """
    numeric = kind(target) == "numbers" and target.dtype.kind != "b"
    values = target.astype(np.float64) if numeric else target.astype(str)
    distinct = np.unique(values)
    whole = numeric and bool((values == np.round(values)).all())
    if task is None:
        task = "regression" if numeric and not (whole and len(distinct) <= 20) else "classification"
    if task == "regression":
        if not numeric:
            raise ValueError(
                f"A regression's target should hold numbers. Found texts, {strays(target)}. Mend these cells, or ask for "
                "classification."
            )
        return values[:, None], None
    if len(distinct) > 100:
        way_out = "Ask for regression." if numeric else f"It holds texts, {strays(target)}: mend them to ask for regression."
        raise ValueError(f"A classification's target should have at most 100 classes. Found {len(distinct)}. {way_out}")
    if numeric and whole:
        distinct = distinct.astype(np.int64)
    return (values[:, None] == distinct).astype(np.float64), tuple(distinct.tolist())

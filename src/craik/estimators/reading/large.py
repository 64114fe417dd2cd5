"""Files too large for memory: some of their rows to learn from, all of them in pieces to predict."""

import importlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craik.estimators.reading import files
from craik.estimators.reading.files import (
    check_file,
    csv_chunks,
    csv_names,
    decimals_noted,
    read_noted,
    read_table,
    too_large,
    values_of,
)
from craik.estimators.tables import HUGE, columns_of, is_missing, kind

Columns = dict[str, NDArray[Any]]

PIECE = 100_000
"""Rows that are predicted at a time."""


def read_part(path: Path, keys: Collection[str] = (), target: str | None = None) -> tuple[Columns, list[str]]:
    """Return a file's columns, and a sentence where only some of its rows were read, or commas are decimal marks.

    A file that is too large is read lazily by polars: rows at random, the same ones each time, as many as fit. There "NA" and
    "none" are missing in keys and target, too.

    Args:
        path: of the file.
        keys: columns that only say whose a row is.
        target: column in which a class may be called "none".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no table, or one too large without polars; the sentence says how large.
    """
    check_file(path)
    if path.stat().st_size <= files.LARGEST:
        return read_noted(path, keys, target)
    if path.suffix.lower() not in (".csv", ".tsv", ".parquet"):
        raise ValueError(too_large(path, "Save it as Parquet, of which a part of the rows can be read."))
    polars = _polars(path)
    lazy, notes = _scanned(polars, path, keys)
    total = int(lazy.select(polars.len()).collect(engine="streaming").item())
    every = -(-path.stat().st_size // files.LARGEST)
    # By the hash of a row's number: every k-th row would follow any rhythm that the file has.
    chosen = lazy.with_row_index("\0").filter(polars.col("\0").hash(0) % every == 0).drop("\0")
    found = columns_of(chosen.collect(engine="streaming"))
    rows = len(next(iter(found.values())))
    size = path.stat().st_size / 2**30
    part = f"The file has {size:.1f} GiB, more than is read into memory: {rows} of its {total} rows, drawn at random."
    return found, [*notes, part]


def _polars(path: Path) -> Any:  # noqa: ANN401  # a module of an optional package
    try:
        return importlib.import_module("polars")
    except ImportError:
        way_out = "With polars (pip install polars) a part of the rows is read; or take some rows."
        raise ValueError(too_large(path, way_out)) from None


def _scanned(polars: Any, path: Path, keys: Collection[str]) -> tuple[Any, list[str]]:  # noqa: ANN401  # a lazy frame
    if path.suffix.lower() == ".parquet":
        return polars.scan_parquet(path), []
    names = csv_names(path)  # refuses names that come twice, which polars would rename
    nothing = ["", "NA", "N/A", "n/a", "na", "nan", "NaN", "null", "NULL", "None", "none"]
    mark, commas = _decimals(path, keys)
    found = {"separator": mark, "null_values": nothing, "try_parse_dates": True, "infer_schema_length": _FIRST}
    texts = {name: polars.String for name in names if name in keys}  # else 01 and 1 are one
    lazy = polars.scan_csv(path, schema_overrides=texts, decimal_comma=bool(commas), **found)
    return lazy, decimals_noted(commas, mark)


_FIRST = 10_000
"""Rows by which the columns of a large file are understood."""


def _decimals(path: Path, keys: Collection[str]) -> tuple[str, list[str]]:
    """What parts the cells of a large file, and the columns that have decimal commas; polars reads all columns one way."""
    piece = next(csv_chunks(path, _FIRST))
    commas = piece.with_commas(keys)
    for index, name in enumerate(piece.names) if commas else ():
        cells = piece.cells(index, name in keys)
        if name not in (*commas, *keys) and "." in "".join(cells) and values_of(cells).dtype.kind == "f":
            raise ValueError(
                "A file that is too large for memory should write all decimals alike. Found decimal commas in column "
                f"{commas[0]!r} and points in {name!r} of {path.name}. Write them with points, or take some rows."
            )
    return piece.mark, commas


def read_batches(
    path: Path, texts: Collection[str] = (), rows: int = PIECE, numbers: Collection[str] = ()
) -> Iterator[Columns]:
    """Yield a table in pieces.

    Args:
        path: of the file.
        texts: columns whose cells stay texts, whatever a piece of them looks like.
        rows: of a piece, where the file can be read in pieces: CSV, TSV, and Parquet by pyarrow.
        numbers: columns of numbers, where they are there at all; a cell may be empty, and nothing else.

    Raises:
        FileNotFoundError, ImportError, ValueError: as `read_table`, or a cell that is no number; the sentence says which.
    """
    start = 0
    for piece, lines in _pieces(path, texts, rows):
        for name in (name for name in piece if name in numbers):
            _check_numbers(piece[name], name, start, lines, path)
        start += len(next(iter(piece.values())))
        yield piece


def _pieces(path: Path, texts: Collection[str], rows: int) -> Iterator[tuple[Columns, Sequence[int]]]:
    """Pieces, and the line of each row where a file has lines."""
    check_file(path)
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        for piece in csv_chunks(path, rows):
            columns = ((name, piece.cells(index, name in texts)) for index, name in enumerate(piece.names))
            yield {name: values_of(cells, name in texts) for name, cells in columns}, piece.lines
        return
    parquet = _parquet() if suffix == ".parquet" else None
    if parquet is None:
        yield read_table(path), ()
        return
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=rows):
        yield columns_of(importlib.import_module("pyarrow").Table.from_batches([batch])), ()


def _check_numbers(values: NDArray[Any], name: str, start: int, lines: Sequence[int], path: Path) -> None:
    """Refuse a column of a piece with the first cell that is no number; `start` rows came before the piece."""
    wrong = np.flatnonzero(_no_numbers(values))
    if not len(wrong):
        return
    row = int(wrong[0])
    line = f" (line {lines[row]})" if lines else ""
    raise ValueError(
        f"Column {name!r} should hold finite numbers up to {HUGE:g}, as in training. Found {str(values[row])[:40]!r} in data "
        f"row {start + row + 1}{line} of {path.name}. Mend this cell, or leave it empty."
    )


def _no_numbers(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (n,) True where a value is there and is no finite number of a size that can be squared."""
    absent = is_missing(values)
    if values.dtype.kind in "biu" or absent.all():
        return np.zeros(len(values), dtype=bool)
    if kind(values) == "numbers":
        return ~absent & ~(np.abs(np.where(absent, 0, values).astype(np.float64)) <= HUGE)
    strange = np.array([not gone and not _is_number(value) for value, gone in zip(values, absent, strict=True)])
    return strange if strange.any() else ~absent  # numbers written as texts


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, str | int | float | np.number) and abs(float(value)) <= HUGE
    except (TypeError, ValueError):
        return False


def _parquet() -> Any:  # noqa: ANN401  # a module of an optional package, or None
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        return None

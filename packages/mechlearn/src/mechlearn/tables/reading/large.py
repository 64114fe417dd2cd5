"""Files too large for memory: some of their rows to learn from, all of them in pieces to predict."""

import importlib
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading import files, sizes
from mechlearn.tables.reading.cells import texts_of, values_of, with_points
from mechlearn.tables.reading.files import (
    Loaded,
    Piece,
    check_file,
    clear,
    csv_chunks,
    head_of,
    pyarrow_parquet,
    read_noted,
    read_table,
    table_of,
    too_large,
)
from mechlearn.tables.reading_in import HUGE, columns_of, is_missing, kind

Columns = dict[str, NDArray[Any]]

PIECE = 100_000
"""Rows that are predicted at a time."""


def read_part(path: Path, keys: Collection[str] = (), target: str | None = None) -> Loaded:
    """Return a file's columns as `read_table` does, with a sentence where only some of its rows were read.

    A file that is too large is read lazily by polars: rows at random, the same ones each time, as many as fit.
    """
    check_file(path)
    if path.stat().st_size <= files.LARGEST:
        return read_noted(path, keys, target)
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".tsv", ".parquet"):
        raise ValueError(too_large(path, "Save it as Parquet, of which a part of the rows can be read."))
    polars = _polars(path)
    head = None if suffix == ".parquet" else head_of(path)  # refuses names that come twice, which polars would rename
    try:
        scan = partial(polars.scan_csv, separator=head.mark, infer_schema=False) if head else polars.scan_parquet
        chosen, total = _chosen(polars, scan(path), path)
    except polars.exceptions.PolarsError as error:
        found = str(error).strip().partition("\n")[0]
        raise ValueError(f"A table should be a file that polars can read. Found in {path.name}: {found}. Mend it.") from None
    if head is None:
        found = Loaded(columns_of(chosen), [], {})
    else:
        rows = [[(cell or "").strip() for cell in row] for row in chosen.iter_rows()]
        found = table_of(Piece(head.names, rows, [], head.mark), keys, target)
    size = path.stat().st_size / 2**30
    part = f"The file has {size:.1f} GiB, more than is read into memory: {len(chosen)} of its {total} rows, drawn at random."
    return found._replace(notes=[*found.notes, part])


def _chosen(polars: Any, lazy: Any, path: Path) -> tuple[Any, int]:  # noqa: ANN401  # a module of an optional package, its frames
    """As many rows as fit, and how many there are."""
    total = int(lazy.select(polars.len()).collect(engine="streaming").item())
    every = -(-path.stat().st_size // files.LARGEST)
    # By the hash of a row's number: every k-th row would follow any rhythm that the file has.
    chosen = lazy.with_row_index("\0").filter(polars.col("\0").hash(0) % every == 0).drop("\0")
    return chosen.collect(engine="streaming"), total


def _polars(path: Path) -> Any:  # noqa: ANN401  # a module of an optional package
    try:
        return importlib.import_module("polars")
    except ImportError:
        way_out = "With polars (pip install polars) a part of the rows is read; or take some rows."
        raise ValueError(too_large(path, way_out)) from None


RAW = "\0"
"""Before the name of a column whose cells are as they stand in the file."""


def read_batches(
    path: Path,
    texts: Collection[str] = (),
    rows: int = PIECE,
    numbers: Collection[str] | None = None,
    raw: Collection[str] = (),
) -> Iterator[Columns]:
    """Yield a table in pieces.

    Args:
        path: of the file.
        texts: columns whose cells stay texts, whatever a piece of them looks like.
        rows: of a piece, where the file can be read in pieces: CSV, TSV, and Parquet by pyarrow.
        numbers: columns of numbers, where they are there at all; a cell may be empty, and nothing else. What others hold does
            not matter then; if None, it does.
        raw: columns to be there as they stand in the file, too, under their name behind `RAW`; only an empty cell is missing.
    """
    start = 0
    for piece, lines in _pieces(path, texts, rows, numbers, raw):
        for name in (name for name in piece if name in (numbers or ())):
            _check_numbers(piece[name], name, start, lines, path)
        start += len(next(iter(piece.values())))
        yield piece


def _pieces(
    path: Path, texts: Collection[str], rows: int, numbers: Collection[str] | None, raw: Collection[str]
) -> Iterator[tuple[Columns, Sequence[int]]]:
    """Pieces, and the line of each row where a file has lines."""
    check_file(path)
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        for piece in csv_chunks(path, head_of(path), rows):
            yield _piece(piece, texts, numbers, raw), piece.lines
        return
    parquet = pyarrow_parquet() if suffix == ".parquet" else None
    if parquet is None:
        found = read_table(path)
        yield {**found, **{RAW + name: found[name] for name in raw if name in found}}, ()
        return
    with sizes.of_parquet(path):
        if path.stat().st_size <= files.LARGEST:
            sizes.check_parquet(parquet, path, 8 * files.LARGEST)  # it comes in pieces
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=rows):
            found = columns_of(importlib.import_module("pyarrow").Table.from_batches([batch]))
            yield {**found, **{RAW + name: found[name] for name in raw if name in found}}, ()


def _piece(piece: Piece, texts: Collection[str], numbers: Collection[str] | None, raw: Collection[str]) -> Columns:
    cells = piece.cells
    decimals = with_points(cells, piece.mark, texts)
    clear(Loaded({}, [], {name: one for name, one in decimals.unclear.items() if numbers is None or name in numbers}))
    found = {name: values_of(some, name in texts) for name, some in decimals.cells.items()}
    if piece.mark != ",":  # where one cell is no number the others keep their commas
        mixed = [name for name in found if name in (numbers or ()) and found[name].dtype.kind == "O"]
        found |= {name: values_of([_with_point(cell) for cell in cells[name]], text=True) for name in mixed}
    return {**found, **{RAW + name: texts_of(cells[name]) for name in raw if name in cells}}


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _is_number(cell.replace(",", ".")) else cell


def _check_numbers(values: NDArray[Any], name: str, start: int, lines: Sequence[int], path: Path) -> None:
    """Reject a column of a piece with the first cell that is no number; `start` rows came before the piece."""
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
        text = isinstance(value, str)
        return isinstance(value, str | int | float | np.number) and not (text and "_" in value) and abs(float(value)) <= HUGE
    except (TypeError, ValueError):
        return False

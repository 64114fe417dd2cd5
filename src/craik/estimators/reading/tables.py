"""Files to tables: CSV and npz by ourselves, Parquet by pyarrow or polars."""

import csv
import hashlib
import re
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craik.estimators.tables import columns_of, nearest

LARGEST = 2 * 2**30
"""Bytes of a file that is read into memory."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$")
_NOTHING = frozenset({"", "na", "n/a", "nan", "null", "none"})


def read_table(path: Path) -> dict[str, NDArray[Any]]:
    """Return a file's columns by name; texts that are all numbers are numbers, empty cells are missing.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: Parquet, and nothing installed that reads it.
        ValueError: another kind of file, one too large, or one that is no table.
    """
    check_file(path)
    if path.stat().st_size > LARGEST:
        raise ValueError(too_large(path, "Take some rows."))
    kind = path.suffix.lower()
    if kind in (".csv", ".tsv"):
        ((names, body),) = csv_chunks(path, None)
        return {name: values_of([row[index] for row in body]) for index, name in enumerate(names)}
    if kind == ".parquet":
        return columns_of(_parquet(path))
    if kind == ".npz":
        return columns_of(npz_arrays(path))
    raise ValueError(f"A table should be a .csv, .tsv, .parquet or .npz file. Found {path.name}. Convert it.")


def npz_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file.

    Raises:
        ValueError: what is no such file, or has objects in it, which only a pickle could bring back.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, EOFError, AttributeError, ValueError) as error:
        raise ValueError(
            f"An .npz file should be one that NumPy wrote, of numbers and texts: objects would be pickles, and none is opened. "
            f"Found in {path.name}: {error}"
        ) from None


def digest(path: Path) -> str:
    """Return a file's SHA-256, or that of a folder's files, in the order of their names."""
    if path.is_dir():
        listed = "".join(f"{file.relative_to(path)} {digest(file)}\n" for file in sorted(path.rglob("*")) if file.is_file())
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def column(table: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """Return a column.

    Raises:
        ValueError: there is none of that name; the nearest is said.
    """
    if name not in table:
        raise ValueError(f"A column that is asked for should be in the table. Found no {name!r}. {nearest(name, table)}")
    return table[name]


def check_file(path: Path) -> None:
    """Refuse what is not there, and a folder."""
    if not path.is_file():
        raise FileNotFoundError(2, "No such file", str(path))


def too_large(path: Path, way_out: str) -> str:
    """Return the sentence on a file that does not fit."""
    size = path.stat().st_size / 2**30
    return f"A table should fit into memory, at most {LARGEST / 2**30:g} GiB. Found {size:.1f} GiB in {path.name}. {way_out}"


def csv_names(path: Path) -> list[str]:
    """Return the names of a CSV or TSV file's columns.

    Raises:
        ValueError: none, or one that comes twice.
    """
    with path.open(newline="", encoding="utf-8-sig") as file, _as_utf8(path):
        names = [name.strip() for name in next(csv.reader(file, delimiter=delimiter(path)), [])]
    if len(names) == 1 and names[0].count(";") > 1:
        raise ValueError(
            f"A .csv file's cells should be parted by commas. Found semicolons in {path.name}. Save it with commas, or "
            "with tabs as .tsv."
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"Columns should have names of their own. Found {repeated[0]!r} more than once. Rename one of them.")
    return names


@contextmanager
def _as_utf8(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"A table's text should be UTF-8. Found {error.reason} in {path.name}. Save it as UTF-8.") from None


def delimiter(path: Path) -> str:
    """Return what stands between a file's cells."""
    return "\t" if path.suffix.lower() == ".tsv" else ","


def csv_chunks(path: Path, rows: int | None) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield names and cells of so many rows at a time, of all of them if None.

    Raises:
        ValueError: no rows, or one with more or fewer cells than names.
    """
    names, chunk, lines = csv_names(path), list[list[str]](), 1
    with path.open(newline="", encoding="utf-8-sig") as file, _as_utf8(path):
        reader = csv.reader(file, delimiter=delimiter(path))
        next(reader, None)
        for line, row in enumerate((row for row in reader if row), 2):
            if len(row) != len(names):
                raise ValueError(
                    f"Rows should have {len(names)} cells, as many as names. Found {len(row)} in row {line} of {path.name}."
                )
            chunk.append([cell.strip() for cell in row])
            lines = line
            if len(chunk) == rows:
                yield names, chunk
                chunk = []
    if lines < 2:
        raise ValueError(
            f"A table should have a line of names and rows below it. Found {int(bool(names))} lines in {path.name}."
        )
    if chunk:
        yield names, chunk


def values_of(cells: Sequence[str], text: bool = False) -> NDArray[Any]:
    """Return a column's cells as numbers or dates where all are, else as texts; None or NaN where there is nothing."""
    present = [cell for cell in cells if cell.lower() not in _NOTHING]
    if text:
        return np.array([None if cell.lower() in _NOTHING else cell for cell in cells], dtype=object)
    if present and all(_DATE.match(cell) for cell in present):
        return np.array([None if cell.lower() in _NOTHING else cell[:10] for cell in cells], dtype="datetime64[D]")
    try:
        numbers = [float("nan") if cell.lower() in _NOTHING else float(cell) for cell in cells]
    except ValueError:
        return np.array([None if cell.lower() in _NOTHING else cell for cell in cells], dtype=object)
    whole = len(present) == len(cells) and all(number.is_integer() and abs(number) < 2**53 for number in numbers)
    return np.array(numbers).astype(np.int64) if whole and "." not in "".join(cells) else np.array(numbers)


def _parquet(path: Path) -> Any:  # noqa: ANN401  # a library's table
    try:
        from pyarrow import parquet  # noqa: PLC0415  # pyright: ignore  # an extra's

        return parquet.read_table(path)
    except ImportError:
        pass
    try:
        import polars  # noqa: PLC0415  # pyright: ignore  # an extra's

        return polars.read_parquet(path)
    except ImportError:
        raise ImportError("Reading Parquet needs pyarrow or polars; pip install pyarrow, or save the table as CSV.") from None

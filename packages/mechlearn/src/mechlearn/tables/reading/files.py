"""Files to tables: CSV and npz by ourselves, Parquet by pyarrow or polars."""

import codecs
import csv
import hashlib
import importlib
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading import sizes
from mechlearn.tables.reading.cells import MARKS, decimals_noted, labels_of, target_of, values_of, with_points
from mechlearn.tables.reading_in import Doubt, columns_of, nearest

LARGEST = 2 * 2**30
"""Bytes of a file that is read into memory."""

_LONG = 2**20
"""Letters of a line after which a quotation mark is taken to be left open."""
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstandard", b"PK\x03\x04": "zip"}
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, AttributeError, TypeError, ValueError, NotImplementedError)


class Piece(NamedTuple):
    """Rows of a CSV or TSV file: cells, as many as names in each, and the lines on which they begin, from 1."""

    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    mark: str = ","

    @property
    def cells(self) -> dict[str, list[str]]:
        """Each column's cells."""
        return {name: [row[index] for row in self.rows] for index, name in enumerate(self.names)}


class Loaded(NamedTuple):
    """A table that was read, with notes on how; texts whose numbers can be read two ways are `unclear`, each with a refusal."""

    columns: dict[str, NDArray[Any]]
    notes: list[str]
    unclear: Mapping[str, str]


KeyOf = Callable[[Sequence[str]], NDArray[Any]]
"""From the cells of a column that says whose a row is to its labels."""


def read_table(path: Path, keys: Collection[str] = (), target: str | None = None) -> dict[str, NDArray[Any]]:
    """Return a file's columns by name; texts that are all numbers are numbers, empty cells are missing.

    Keys only say whose a row is, and stay texts in a CSV or TSV file (`labels_of`); a class of the target may be called "none".
    """
    return clear(read_noted(path, keys, target)).columns


def clear(table: Loaded) -> Loaded:
    """Return a table without columns that are unclear."""
    for sentence in table.unclear.values():
        raise ValueError(sentence)
    return table


def read_noted(path: Path, keys: Collection[str] = (), target: str | None = None, key_of: KeyOf | None = None) -> Loaded:
    """As `read_table`, but what can be read two ways is given back beside the columns; keys by `key_of`, if not `labels_of`."""
    check_file(path)
    if path.stat().st_size > LARGEST:
        raise ValueError(too_large(path, "Take some rows."))
    kind = path.suffix.lower()
    if kind in (".csv", ".tsv"):
        head = head_of(path)
        (piece,) = csv_chunks(path, head, None)
        found = table_of(piece, keys, target, key_of)
        guessed = Doubt(f"The file's text is no UTF-8: it was read as {head.encoding}. Look whether accents are right.")
        return found._replace(notes=[*found.notes, *([] if head.encoding == "utf-8-sig" else [guessed])])
    if kind in (".xlsx", ".xlsm"):
        piece, notes = _sheet(path)
        found = table_of(piece, keys, target, key_of)
        return found._replace(notes=[*found.notes, *notes])
    if kind == ".parquet":
        return Loaded(columns_of(_parquet(path)), [], {})
    if kind == ".npz":
        return Loaded(columns_of(_as_columns(arrays_of(path), path)), [], {})
    raise ValueError(f"A table should be a .csv, .tsv, .xlsx, .parquet or .npz file. Found {path.name}. Convert it.")


def table_of(piece: Piece, keys: Collection[str] = (), target: str | None = None, key_of: KeyOf | None = None) -> Loaded:
    """Return cells as columns."""
    read = {target: target_of, **dict.fromkeys(keys, key_of or labels_of)}
    decimals = with_points(piece.cells, piece.mark, keys)
    columns = {name: read.get(name, values_of)(cells) for name, cells in decimals.cells.items()}
    return Loaded(columns, decimals_noted(decimals.commas, piece.mark), decimals.unclear)


def _sheet(path: Path) -> tuple[Piece, list[str]]:
    """The first sheet of a workbook, as cells of a file: values, not formulas."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415  # pyright: ignore  # an extra's
    except ImportError:
        raise ImportError("Reading Excel needs openpyxl; pip install 'mechlearn[excel]', or save the table as CSV.") from None
    try:
        sizes.check_workbook(path, LARGEST)
        book: Any = load_workbook(path, read_only=True, data_only=True)
        rows = _filled(book.worksheets[0], path)
        book.close()
    except (*_UNREADABLE, KeyError, IndexError) as error:
        if ". Found " in str(error):
            raise
        raise ValueError(f"A workbook should be one that Excel opens. Found {error} in {path.name}. Save it again.") from None
    if len(rows) < 2:
        raise ValueError(f"A table should have a row of names and rows below it. Found {len(rows)} in {path.name}.")
    names = [_cell(rows[0][1].get(place)) for place in range(max(rows[0][1]) + 1)]
    while names and not names[-1]:
        names.pop()
    check_names(names)
    for line, row in rows[1:]:
        if any(_cell(one) for place, one in row.items() if place >= len(names)):
            raise ValueError(f"Rows should have {len(names)} cells, as many as names. Found more in row {line} of {path.name}.")
    width = [[_cell(row.get(place)) for place in range(len(names))] for _, row in rows[1:]]
    others = f"The workbook has {len(book.sheetnames)} sheets: the first, {book.sheetnames[0]!r}, was read."
    return Piece(names, width, [line for line, _ in rows[1:]]), [others] if len(book.sheetnames) > 1 else []


def _filled(sheet: Any, path: Path) -> list[tuple[int, dict[int, Any]]]:  # noqa: ANN401  # of openpyxl
    """The lines of a sheet that hold something, each with its cells by place: of one far out the others before it are empty."""
    rows, size = list[tuple[int, dict[int, Any]]](), 0
    for line, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if cells := {place: one for place, one in enumerate(row) if one is not None}:
            size += 8 * (max(cells) + 1)
            sizes.check_size(size, LARGEST, path.name)
            rows.append((line, cells))
    return rows


def _cell(value: Any) -> str:  # noqa: ANN401  # of openpyxl
    """A cell as a file has it: days without midnight, whole numbers without a point."""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == datetime.min.time() else value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return "" if value is None else str(value).strip()


def arrays_of(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file, or that of an npy file by the file's name."""
    try:
        # Opened here: of a damaged one NumPy leaves the handle open.
        with path.open("rb") as opened:
            sizes.check_arrays(opened, path, LARGEST)
            if path.suffix.lower() == ".npy":
                return {path.stem: np.lib.format.read_array(opened, allow_pickle=False)}
            file = np.load(opened, allow_pickle=False)
            return {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        raise ValueError(_sentence(path, error)) from None


def _sentence(path: Path, error: Exception) -> str:
    """What is said of a file that is not read: our own sentence, if the error has one; NumPy's would advise to open pickles."""
    if " should " in str(error) and ". Found " in str(error):
        return str(error)
    kind, objects = path.suffix.lower(), "Object arrays" in str(error)
    found = "objects" if objects else "what is none, or a damaged one," if path.stat().st_size else "nothing"
    way_out = "Save numbers and texts as such" if objects else "Write it again"
    return (
        f"An {kind} file should be one that NumPy wrote, of numbers and texts: objects would be pickles, and none is opened. "
        f"Found {found} in {path.name}. {way_out}, with numpy.{'savez' if kind == '.npz' else 'save'}."
    )


def _as_columns(arrays: Mapping[str, NDArray[Any]], path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file as columns: one value a row, none of them complex."""
    found = {name: one[:, 0] if one.ndim == 2 and one.shape[1] == 1 else one for name, one in arrays.items()}
    for name, one in found.items():
        if one.ndim != 1:
            way_out = "Leave it out." if one.ndim == 0 else "Give each of its columns a name of its own."
            raise ValueError(
                f"An .npz table should have an array for each column, of one value a row. Found {name!r} of shape {one.shape} "
                f"in {path.name}. {way_out}"
            )
        if one.dtype.kind == "c":
            raise ValueError(
                f"Columns should hold real numbers. Found complex ones in {name!r} of shape {one.shape} in {path.name}. Save "
                "real and imaginary parts, or sizes, as columns of their own."
            )
    return found


def digest(path: Path) -> str:
    """Return a file's SHA-256, or that of a folder's files, in the order of their names."""
    if path.is_dir():
        listed = "".join(f"{file.relative_to(path)} {digest(file)}\n" for file in sorted(path.rglob("*")) if file.is_file())
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def column(table: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """Return a column."""
    if name not in table:
        raise ValueError(f"A column that is asked for should be in the table. Found no {name!r}. {nearest(name, table)}")
    return table[name]


def check_file(path: Path) -> None:
    """Reject what is not there, a folder, and what is compressed."""
    if path.is_dir():
        raise ValueError(f"A table should be a file. Found a folder, {path}. Name a file in it.")
    if not path.is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    with path.open("rb") as file:
        start = file.read(6)
    kind = next((name for mark, name in _COMPRESSED.items() if start.startswith(mark)), None)
    if kind is not None and (kind != "zip" or path.suffix.lower() in (".csv", ".tsv", ".zip")):
        raise ValueError(f"A table should not be compressed. Found {kind} in {path.name}. Unpack it and name what comes out.")


def too_large(path: Path, way_out: str) -> str:
    """Return the sentence on a file that does not fit."""
    size = path.stat().st_size / 2**30
    return f"A table should fit into memory, at most {LARGEST / 2**30:g} GiB. Found {size:.1f} GiB in {path.name}. {way_out}"


def check_names(names: Sequence[str]) -> None:
    """Reject columns of one name."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"Columns should have names of their own. Found {repeated[0]!r} more than once. Rename one of them.")


@contextmanager
def _as_text(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"A table's text should be UTF-8, UTF-16 or cp1252. Found {error.reason} in {path.name}. Save it as UTF-8."
        ) from None
    except csv.Error as error:
        raise ValueError(
            f"A quotation mark that opens a cell should be closed. Found {error} in {path.name}. Close it, or leave it out."
        ) from None


def text_encoding(path: Path) -> str:
    """Return how a file's text is encoded: UTF-8, or UTF-16 by its first bytes, else cp1252, or latin-1 if that fails."""
    with path.open("rb") as file:
        start = file.read(4096)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        if start and start[1::2].count(0) > len(start) // 4:
            return "utf-16-le"
        file.seek(0)
        possible = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8-sig", "cp1252")}
        while piece := file.read(_LONG):
            for name in list(possible):
                try:
                    possible[name].decode(piece, final=len(piece) < _LONG)
                except UnicodeDecodeError:
                    del possible[name]
    return next(iter(possible), "latin-1")


class Head(NamedTuple):
    """How a CSV or TSV file begins: its columns' names, what parts its cells, and how its text is encoded."""

    names: list[str]
    mark: str
    encoding: str


def head_of(path: Path) -> Head:
    """Read a file's line of names, and what stands between its cells: comma, semicolon or tab.

    It is the one of which the line of names has as many as the first row, of several the one it has most of, and of equally
    many what the file's ending says; a `.tsv` with a tab among its names has tabs. What is inside of quotation marks does
    not count.
    """
    usual, encoding = "\t" if path.suffix.lower() == ".tsv" else ",", text_encoding(path)
    with path.open(newline="", encoding=encoding) as file, _as_text(path):
        line, row = _record(file), _record(file)
        some = [mark for mark in (usual, *MARKS) if mark in line]
        mark = max(some or [usual], key=lambda mark: (line.count(mark) == row.count(mark), line.count(mark)))
        if usual == "\t" and usual in line:
            mark = usual
        file.seek(0)
        names = [name.strip() for name in next(csv.reader(file, delimiter=mark), [])]
    check_names(names)
    return Head(names, mark, encoding)


def _record(file: Iterable[str]) -> str:
    """The next line that is not empty, with the lines that its cells go on in, without what is inside of quotation marks."""
    text, inside = "", False
    for line in file:
        text += line
        inside ^= bool(line.count('"') % 2)
        if (text.strip() and not inside) or len(text) > _LONG:
            break
    return re.sub(r'"[^"]*("|$)', "", text)


def csv_chunks(path: Path, head: Head, rows: int | None) -> Iterator[Piece]:
    """Yield so many rows at a time, all of them if None."""
    names, mark, encoding = head
    piece, some = Piece(names, [], [], mark), False
    with path.open(newline="", encoding=encoding) as file, _as_text(path):
        reader = csv.reader(file, delimiter=mark)
        next(reader, None)
        before = reader.line_num
        for row in reader:
            line, before = before + 1, reader.line_num
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(
                    f"Rows should have {len(names)} cells, as many as names. Found {len(row)} in line {line} of {path.name}. "
                    f"Mend that line, or remove what stands above the names: a cell with a {MARKS[mark]} in it needs quotation "
                    "marks around it, and both of them."
                )
            piece.rows.append([cell.strip() for cell in row])
            piece.lines.append(line)
            some = True
            if len(piece.rows) == rows:
                yield piece
                piece = Piece(names, [], [], mark)
    if not some:
        raise ValueError(
            f"A table should have a line of names and rows below it. Found {int(bool(names))} lines in {path.name}."
        )
    if piece.rows:
        yield piece


def pyarrow_parquet() -> Any:  # noqa: ANN401  # a module of an optional package
    """Return pyarrow.parquet, or None."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        return None


def _parquet(path: Path) -> Any:  # noqa: ANN401  # a library's table
    if (parquet := pyarrow_parquet()) is not None:
        with sizes.of_parquet(path):
            sizes.check_parquet(parquet, path, LARGEST)
            return parquet.read_table(path)
    try:
        import polars  # noqa: PLC0415  # pyright: ignore  # an extra's
    except ImportError:
        raise ImportError("Reading Parquet needs pyarrow or polars; pip install pyarrow, or save the table as CSV.") from None
    with sizes.of_parquet(path):
        sizes.check_cells(polars.scan_parquet(path), path, LARGEST)
        return polars.read_parquet(path)

"""Files too large for memory: some of their rows to learn from, all of them in pieces to predict."""

import importlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from craik.estimators.reading import tables
from craik.estimators.reading.tables import check_file, csv_chunks, csv_names, delimiter, read_table, too_large, values_of
from craik.estimators.tables import columns_of

Columns = dict[str, NDArray[Any]]

PIECE = 100_000
"""Rows that are predicted at a time."""


def read_part(path: Path) -> tuple[Columns, list[str]]:
    """Return a file's columns, and a sentence where only some of its rows were read.

    A file that is too large is read lazily by polars: rows at random, the same ones each time, as many as fit.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no table, or one too large without polars; the sentence says how large.
    """
    check_file(path)
    if path.stat().st_size <= tables.LARGEST:
        return read_table(path), []
    if path.suffix.lower() not in (".csv", ".tsv", ".parquet"):
        raise ValueError(too_large(path, "Save it as Parquet, of which a part of the rows can be read."))
    polars = _polars(path)
    lazy = _scanned(polars, path)
    total = int(lazy.select(polars.len()).collect(engine="streaming").item())
    every = -(-path.stat().st_size // tables.LARGEST)
    # By the hash of a row's number: every k-th row would follow any rhythm that the file has.
    chosen = lazy.with_row_index("\0").filter(polars.col("\0").hash(0) % every == 0).drop("\0")
    found = columns_of(chosen.collect(engine="streaming"))
    rows = len(next(iter(found.values())))
    size = path.stat().st_size / 2**30
    return found, [f"The file has {size:.1f} GiB, more than is read into memory: {rows} of its {total} rows, drawn at random."]


def _polars(path: Path) -> Any:  # noqa: ANN401  # a module of an optional package
    try:
        return importlib.import_module("polars")
    except ImportError:
        way_out = "With polars (pip install polars) a part of the rows is read; or take some rows."
        raise ValueError(too_large(path, way_out)) from None


def _scanned(polars: Any, path: Path) -> Any:  # noqa: ANN401  # a lazy frame
    if path.suffix.lower() == ".parquet":
        return polars.scan_parquet(path)
    csv_names(path)  # refuses names that come twice, which polars would rename
    nothing = ["", "NA", "N/A", "n/a", "na", "nan", "NaN", "null", "NULL", "None", "none"]
    found = {"separator": delimiter(path), "null_values": nothing, "try_parse_dates": True, "infer_schema_length": 10_000}
    return polars.scan_csv(path, **found)


def read_batches(path: Path, texts: Collection[str] = (), rows: int = PIECE) -> Iterator[Columns]:
    """Yield a table in pieces.

    Args:
        path: of the file.
        texts: columns whose cells stay texts, whatever a piece of them looks like.
        rows: of a piece, where the file can be read in pieces: CSV, TSV, and Parquet by pyarrow.

    Raises:
        FileNotFoundError, ImportError, ValueError: as `read_table`.
    """
    check_file(path)
    kind = path.suffix.lower()
    if kind in (".csv", ".tsv"):
        for names, body in csv_chunks(path, rows):
            yield {name: values_of([row[index] for row in body], name in texts) for index, name in enumerate(names)}
        return
    parquet = _parquet() if kind == ".parquet" else None
    if parquet is None:
        yield read_table(path)
        return
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=rows):
        yield columns_of(importlib.import_module("pyarrow").Table.from_batches([batch]))


def _parquet() -> Any:  # noqa: ANN401  # a module of an optional package, or None
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        return None

"""How large tables are when they are unpacked, from their headers: what does not fit is refused before memory is asked for."""

import importlib
import math
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np


def check_arrays(file: Any, path: Path, most: int) -> None:  # noqa: ANN401  # of bytes, of which typing knows no class
    """Reject an npz or npy file of which the arrays, as their headers say, do not fit; it is left at its start."""
    if path.suffix.lower() == ".npy":
        check_size(_declared(file, path.stat().st_size, path.name), most, path.name)
    else:
        total = 0
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                with archive.open(member) as stored:
                    total += _declared(stored, member.file_size, path.name)
                    check_size(total, most, path.name)
    file.seek(0)


def _declared(file: Any, stored: int, name: str) -> int:  # noqa: ANN401
    """Bytes of an array as its header says."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    size = math.prod(shape) * max(dtype.itemsize, 1)
    if size > stored and not dtype.hasobject:  # objects are refused where they are read
        raise ValueError(f"{name} should hold what its headers say. Found {stored:,} bytes of {size:,}. Write it again.")
    return size


def check_workbook(path: Path, most: int) -> None:
    """Reject a workbook of which the parts, as its list of contents says, do not fit: no more of one is unpacked."""
    with zipfile.ZipFile(path) as archive:
        check_size(sum(member.file_size for member in archive.infolist()), most, path.name)


def check_parquet(parquet: Any, path: Path, most: int) -> None:  # noqa: ANN401  # a module of an optional package
    """Reject a Parquet file that does not fit when it is unpacked: a run or a dictionary can stand for any number of values."""
    meta = parquet.read_metadata(path)
    groups = [meta.row_group(place) for place in range(meta.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    check_size(8 * sum(max(one.num_values, 0) for one in columns), most, path.name)
    check_size(sum(max(one.total_uncompressed_size, 0) for one in columns), most, path.name)
    texts = sorted({one.path_in_schema for one in columns if one.physical_type == "BYTE_ARRAY"})
    if texts:
        check_size(_letters(parquet.ParquetFile(path, read_dictionary=texts), texts, most), most, path.name)


def check_cells(lazy: Any, path: Path, most: int) -> None:  # noqa: ANN401  # a lazy frame of polars
    """Reject a Parquet file of which the cells alone do not fit; of texts, which polars keeps once, nothing is counted."""
    rows = int(lazy.select(importlib.import_module("polars").len()).collect().item())
    check_size(8 * rows * len(lazy.collect_schema()), most, path.name)


@contextmanager
def of_parquet(path: Path) -> Generator[None, None, None]:
    """In here what a library says of a file that it cannot read is one sentence."""
    try:
        yield
    except Exception as error:  # theirs have no class in common
        if ". Found " in str(error):
            raise
        found = (str(error).strip().partition("\n")[0] or type(error).__name__)[:200]
        raise ValueError(f"A .parquet file should be a whole one. Found in {path.name}: {found}. Write it again.") from None


def _letters(file: Any, texts: list[str], most: int) -> int:  # noqa: ANN401  # pyarrow's
    """Bytes of texts, counted on their dictionaries, so that none is unpacked."""
    import pyarrow as pa  # noqa: PLC0415  # pyright: ignore  # an extra's
    from pyarrow import compute  # noqa: PLC0415  # pyright: ignore  # an extra's

    total = 0
    for batch in file.iter_batches(columns=texts):
        for column in batch.columns:
            if pa.types.is_dictionary(column.type):
                found = compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py()
                total += found or 0
        if total > most:
            break
    return total


def check_size(size: int, most: int, name: str) -> None:
    """Reject a table of more bytes than fit."""
    if size > most:
        limit, found = f"{most / 2**30:g} GiB", f"{size / 2**30:,.1f} GiB"
        rule = f"A table should fit into memory, at most {limit}"
        raise ValueError(f"{rule}. Found {found}, unpacked, in {name}. Take some rows.")

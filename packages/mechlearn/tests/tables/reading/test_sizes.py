"""Tables larger than they look: a sentence with the unpacked size, before memory is asked for."""

import io
import itertools
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mechlearn.tables.reading import read_table
from mechlearn.tables.reading.files import arrays_of

MIB = 2**20


def header(shape, dtype="<f8", version=(1, 0)):
    """The head of an npy file of an array that is not there."""
    file = io.BytesIO()
    write = np.lib.format.write_array_header_1_0 if version == (1, 0) else np.lib.format.write_array_header_2_0
    write(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def packed(members):
    """An npz file of members, each by its bytes, and zeros behind them."""

    def _write(path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, (head, zeros) in members.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    member.write(head)
                    for _ in range(zeros // MIB):
                        member.write(bytes(MIB))

    return _write


def raw(content):
    return lambda path: path.write_bytes(content)


SHAPES = [(5 * 10**9,), (10**9, 5), (2**33, 1), (2**40,), (1, 2**50), (2**62,), (2**31, 2**31, 2**31), (10**30,)]

LARGE = {f"npz: claims {shape}": ("x.npz", packed({"a": (header(shape), 0)})) for shape in SHAPES}
LARGE |= {f"npy: claims {shape}": ("x.npy", raw(header(shape) + bytes(64))) for shape in SHAPES}
LARGE |= {
    f"npz: {dtype}": ("x.npz", packed({"a": (header((10**6,), dtype), 0)})) for dtype in ("<U100000", "|S1000000", "<c16")
}
LARGE |= {f"npy: {dtype}": ("x.npy", raw(header((10**6,), dtype))) for dtype in ("<U100000", "|S1000000", "<c16", "|V1000000")}
LARGE |= {
    "npz: version 2": ("x.npz", packed({"a": (header((10**12,), version=(2, 0)), 0)})),
    "npz: the second one": ("x.npz", packed({"a": (header((2,)) + bytes(16), 0), "b": (header((10**11,)), 0)})),
    "npz: negative": ("x.npz", packed({"a": (header((-5,)), 0)})),
    "npz: no array": ("x.npz", packed({"a": (b"", 0)})),
    "npz: no header": ("x.npz", packed({"a": (b"garbage", 0)})),
    "npz: a long header": ("x.npz", packed({"a": (b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little"), 0)})),
    "npy: a long header": ("x.npy", raw(b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b" " * 100)),
    "csv: gzip": ("x.csv", raw(b"\x1f\x8b" + bytes(10))),
    "csv: xz": ("x.csv", raw(b"\xfd7zXZ\x00" + bytes(10))),
    "csv: zip": ("x.csv", packed({"a": (b"a,b", 0)})),
    "csv: zstandard": ("x.csv", raw(b"\x28\xb5\x2f\xfd" + bytes(10))),
    "xlsx": ("x.xlsx", packed({"sheet": (b"", 100 * MIB)})),
    "zip": ("x.zip", packed({"sheet": (b"", 100 * MIB)})),
}


def read(path: Path):
    return arrays_of(path) if path.suffix == ".npy" else read_table(path)


@pytest.mark.parametrize("name", LARGE)
def test_what_is_larger_than_it_looks_is_a_sentence(tmp_path, name):
    if name == "xlsx":
        pytest.importorskip("openpyxl")
    file, write = LARGE[name]
    write(tmp_path / file)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=r"should .*\. Found "):
        read(tmp_path / file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # KiB


def test_zeros_that_are_there_count_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("mechlearn.tables.reading.files.LARGEST", 32 * MIB)
    path = tmp_path / "zeros.npz"
    packed({"a": (header((8 * MIB,)), 64 * MIB)})(path)
    assert path.stat().st_size < MIB
    with pytest.raises(ValueError, match=r"at most 0\.03125 GiB\. Found 0\.1 GiB, unpacked, in zeros\.npz"):
        arrays_of(path)
    packed({"a": (header((MIB,)), 8 * MIB)})(path)
    assert arrays_of(path)["a"].shape == (MIB,)


def sheet_of(kind):
    """The pieces of a sheet: one that unpacks to 96 MiB, or rows whose last cell alone is filled, the 16,384th."""
    yield b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    if kind == "unpacked":
        yield from itertools.repeat(b" " * MIB, 96)
    for row in range(1, 3000 if kind == "far" else 2):
        yield f'<row r="{row}"><c r="XFD{row}"><v>{row}</v></c></row>'.encode()
    yield b"</sheetData></worksheet>"


@pytest.mark.extra("excel", "openpyxl")
@pytest.mark.parametrize("kind", ["unpacked", "far"])
def test_a_workbook_counts_unpacked(tmp_path, monkeypatch, kind):
    from openpyxl import Workbook

    Workbook().save(tmp_path / "plain.xlsx")
    path = tmp_path / "x.xlsx"
    with zipfile.ZipFile(tmp_path / "plain.xlsx") as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in plain.namelist():
            with made.open(name, "w") as member:
                for piece in sheet_of(kind) if "sheet1.xml" in name else [plain.read(name)]:
                    member.write(piece)
    assert path.stat().st_size < MIB // 4
    monkeypatch.setattr("mechlearn.tables.reading.files.LARGEST", 64 * MIB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=r"at most 0\.0625 GiB\. Found 0\.1 GiB, unpacked, in x\.xlsx"):
        read_table(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # KiB


PARQUET = """
import resource, sys
import pyarrow as pa
from pyarrow import parquet
from mechlearn.tables.reading import files
files.LARGEST = 64 * 2**20
rows = {"runs": 20_000_000, "texts": 200_000, "lists": 200_000}[sys.argv[2]]
if sys.argv[2] == "runs":
    table = pa.table({"a": pa.repeat(1.5, rows)})
elif sys.argv[2] == "texts":
    table = pa.table({"a": pa.DictionaryArray.from_arrays(pa.repeat(0, rows).cast(pa.int32()), ["x" * 10_000])})
else:
    table = pa.table({"a": pa.FixedSizeListArray.from_arrays(pa.repeat(1.5, 100 * rows), 100)})
parquet.write_table(table, sys.argv[1], store_schema=False, row_group_size=rows)
del table
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    files.read_table(__import__("pathlib").Path(sys.argv[1]))
except ValueError as error:
    print(error, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.extra("integrations", "pyarrow")
@pytest.mark.parametrize("kind", ["runs", "texts", "lists"])
def test_a_run_or_a_dictionary_counts_unpacked(tmp_path, kind):
    path = tmp_path / "x.parquet"
    done = subprocess.run([sys.executable, "-c", PARQUET, path, kind], capture_output=True, text=True, check=True)
    assert path.stat().st_size < 500_000
    sentence, _, memory = done.stdout.strip().rpartition(" ")
    assert "Found" in sentence, done.stdout + done.stderr
    assert "unpacked, in x.parquet" in sentence
    assert int(memory) < 200


@pytest.mark.extra("integrations", "pyarrow")
@pytest.mark.parametrize("cut", [0, 4, 100, -8, -1])
def test_a_damaged_parquet_file_is_a_sentence(tmp_path, cut):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), path)
    assert read_table(path)["b"].tolist() == ["x", "y"]
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"should be a whole one\. Found in x\.parquet"):
        read_table(path)

import sys

import numpy as np
import pytest

from mechlearn.tables.reading import RAW, files, large, read_batches, read_part, read_table


def written(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_too_large_says_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 3)
    with pytest.raises(ValueError, match="GiB"):
        read_table(written(tmp_path, "a\n1\n"))
    np.savez(tmp_path / "t.npz", a=np.arange(3))
    with pytest.raises(ValueError, match="as Parquet"):
        read_part(tmp_path / "t.npz")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ValueError, match="With polars"):
        read_part(tmp_path / "table.csv")


@pytest.mark.extra("integrations", "polars", "pyarrow")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_of_a_file_too_large_some_rows_are_read(tmp_path, monkeypatch, kind):
    import polars

    rows = np.arange(3000)
    wards = {"ward": np.where(rows % 2, "east", "west"), "key": np.where(rows % 2, "01", "1")}
    frame = polars.DataFrame({"a": rows, **wards, "gap": [None, 1.5, 2.0] * 1000})
    path = tmp_path / f"t.{kind}"
    (frame.write_csv if kind == "csv" else frame.write_parquet)(path)
    monkeypatch.setattr(files, "LARGEST", path.stat().st_size // 3)
    found, notes, _ = read_part(path, keys=("key", "elsewhere"))
    assert set(found["key"]) == {"01", "1"}
    assert 500 < len(found["a"]) < 1100
    assert "of its 3000 rows" in notes[0]
    assert set(found["ward"]) == {"east", "west"}
    assert 0.2 < np.isnan(found["gap"].astype(float)).mean() < 0.5
    np.testing.assert_array_equal(found["a"], read_part(path).columns["a"])
    assert len(set(np.diff(found["a"]).tolist())) > 3
    with pytest.raises(ValueError, match="GiB"):
        read_table(path)


@pytest.mark.extra("integrations", "polars")
def test_of_a_file_too_large_with_semicolons_some_rows_are_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a;key;b\n" + "".join(f"{row},5;0{row % 2};{row}\n" for row in range(3000)))
    monkeypatch.setattr(files, "LARGEST", path.stat().st_size // 3)
    found, notes, _ = read_part(path, keys=("key",))
    np.testing.assert_array_equal(found["a"], found["b"] + 0.5)
    assert set(found["key"]) == {"00", "01"}
    assert [note[:36] for note in notes] == ["The file's cells are parted by semic", "The file has 0.0 GiB, more than is r"]
    monkeypatch.setattr(files, "LARGEST", 4000)
    path.write_text("a;b\n" + "1;2\n" * 2000 + "3;4;5\n")
    with pytest.raises(ValueError, match=r"polars can read\. Found in t\.csv"):
        read_part(path)
    path.write_text("a , b\n" + " 1, 2.0\n" * 2000 + "2.5,n/a\n" * 1000)
    found = read_part(path, keys=("b",)).columns
    assert set(found["a"]) == {1.0, 2.5}
    assert set(found["b"]) == {"2", "n/a"}


def test_decimal_commas_in_pieces(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n1,5;1,5;1\n2;x;2\n3,25;2,5;3\n")
    pieces = list(read_batches(path, texts=("b",), rows=2, numbers=("a", "c")))
    assert [value for piece in pieces for value in piece["a"].tolist()] == [1.5, 2.0, 3.25]
    assert [value for piece in pieces for value in piece["b"]] == ["1,5", "x", "2,5"]


def test_what_is_no_number_is_named_beside_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n5,3;1\n5,4;1.234,5\nk.A.;2\n")
    with pytest.raises(ValueError, match=r"Found 'k\.A\.' in data row 3"):
        list(read_batches(path, numbers=("x",)))
    path.write_text("x;y\n5,3;1\n5,4;1.234,5\n6,1;2\n")
    assert next(read_batches(path, numbers=("x",)))["x"].tolist() == [5.3, 5.4, 6.1]
    with pytest.raises(ValueError, match=r"Found '1\.234,5' in column 'y'"):
        list(read_batches(path))


def test_cells_as_they_stand(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("country,x\nNA,1\n,2\n")
    (piece,) = read_batches(path, texts=("country",), raw=("country",))
    assert piece["country"].tolist() == [None, None]
    assert piece[RAW + "country"].tolist() == ["NA", None]


def test_a_table_in_pieces(tmp_path):
    path = written(tmp_path, "a,code\n1,01\n2,x\n3,02\n4,03\n5,\n")
    pieces = list(read_batches(path, texts=("code",), rows=2))
    assert [len(piece["a"]) for piece in pieces] == [2, 2, 1]
    assert [value for piece in pieces for value in piece["code"]] == ["01", "x", "02", "03", None]
    np.savez(tmp_path / "t.npz", a=np.arange(3))
    assert [len(piece["a"]) for piece in read_batches(tmp_path / "t.npz")] == [3]
    with pytest.raises(ValueError, match="Found 1 in line 3"):
        list(read_batches(written(tmp_path, "a,b\n1,2\n3\n", "u.csv"), rows=1))


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["1", "", "2", "x"], r"'x' in data row 4 \(line 6\) of table.csv"),
        (["1", "", "2", "NA", "-inf"], r"'-inf' in data row 5 \(line 7\)"),
        (["1", "2", "1e151", "x"], r"'1e151' in data row 3 \(line 5\)"),
        (["1", "2", "2020-01-02", ""], r"'2020-01-02' in data row 3 \(line 5\)"),
    ],
)
def test_a_cell_that_is_no_number_is_named(tmp_path, cells, found):
    path = written(tmp_path, "\n".join(["a,b", f"{cells[0]},y", "", *(f"{cell},y" for cell in cells[1:])]))
    with pytest.raises(ValueError, match=f"Column 'a' should hold finite numbers .* Found {found}"):
        list(read_batches(path, rows=2, numbers=("a", "elsewhere")))
    assert len(list(read_batches(path, texts=("a", "b"), rows=2))) == (len(cells) + 1) // 2


@pytest.mark.parametrize(
    "values", [["1", "2"], [None, "2"], [1.0, np.inf], np.array(["", "2020-01-02"], dtype="datetime64[D]")]
)
def test_an_array_that_is_no_numbers_is_named(tmp_path, monkeypatch, values):
    monkeypatch.setattr(large, "read_table", lambda path: {"a": np.asarray(values)})
    with pytest.raises(ValueError, match=r"Found '.*' in data row [12] of t.npz"):
        list(read_batches(written(tmp_path, "", "t.npz"), numbers=("a",)))


@pytest.mark.extra("integrations", "polars", "pyarrow")
def test_parquet_in_pieces(tmp_path):
    import polars

    polars.DataFrame({"a": np.arange(5)}).write_parquet(tmp_path / "t.parquet")
    assert [piece["a"].tolist() for piece in read_batches(tmp_path / "t.parquet", rows=2)] == [[0, 1], [2, 3], [4]]

import sys

import numpy as np
import pytest

from craik.estimators.reading import column, digest, read_batches, read_part, read_table, read_trajectories, tables


def written(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_cells_become_numbers_texts_dates_and_nothing(tmp_path):
    table = read_table(written(tmp_path, "age,ward,dose,day\n3,east,.5,2020-01-02\n4,,NA,2021-05-06\n"))
    assert table["age"].tolist() == [3, 4]
    assert table["age"].dtype == np.int64
    assert table["ward"].tolist() == ["east", None]
    assert table["dose"][0] == 0.5
    assert np.isnan(table["dose"][1])
    assert table["day"].dtype.kind == "M"


def test_tabs_marks_and_npz(tmp_path):
    assert set(read_table(written(tmp_path, "\ufeffa\tb\n1\t2\n", "t.tsv"))) == {"a", "b"}
    np.savez(tmp_path / "t.npz", a=np.arange(3), b=np.ones(3))
    assert read_table(tmp_path / "t.npz")["a"].tolist() == [0, 1, 2]


def test_the_digest_is_of_the_bytes(tmp_path):
    assert digest(written(tmp_path, "")).startswith("e3b0c44298fc1c14")


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        ("a,a\n1,2\n", "t.csv", "'a' more than once"),
        ("a,b\n1\n", "t.csv", "Found 1 in row 2"),
        ("a,b\n", "t.csv", "rows below it"),
        ("", "t.csv", "rows below it"),
        ("a\n1\n", "t.xlsx", "Convert it"),
        ("a;b;c\n1;2;3\n", "t.csv", "Found semicolons"),
        ("no archive", "t.npz", "that NumPy wrote"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_table(written(tmp_path, text, name))


def test_a_file_too_large_says_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LARGEST", 3)
    with pytest.raises(ValueError, match="GiB"):
        read_table(written(tmp_path, "a\n1\n"))
    np.savez(tmp_path / "t.npz", a=np.arange(3))
    with pytest.raises(ValueError, match="as Parquet"):
        read_part(tmp_path / "t.npz")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ValueError, match="With polars"):
        read_part(tmp_path / "table.csv")


@pytest.mark.extra("recipes", "polars", "pyarrow")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_of_a_file_too_large_some_rows_are_read(tmp_path, monkeypatch, kind):
    import polars

    rows = np.arange(3000)
    frame = polars.DataFrame({"a": rows, "ward": np.where(rows % 2, "east", "west"), "gap": [None, 1.5, 2.0] * 1000})
    path = tmp_path / f"t.{kind}"
    (frame.write_csv if kind == "csv" else frame.write_parquet)(path)
    monkeypatch.setattr(tables, "LARGEST", path.stat().st_size // 3)
    found, notes = read_part(path)
    assert 500 < len(found["a"]) < 1100
    assert "of its 3000 rows" in notes[0]
    assert set(found["ward"]) == {"east", "west"}
    assert 0.2 < np.isnan(found["gap"].astype(float)).mean() < 0.5
    np.testing.assert_array_equal(found["a"], read_part(path)[0]["a"])
    assert len(set(np.diff(found["a"]).tolist())) > 3
    with pytest.raises(ValueError, match="GiB"):
        read_table(path)


def test_a_table_in_pieces(tmp_path):
    path = written(tmp_path, "a,code\n1,01\n2,x\n3,02\n4,03\n5,\n")
    pieces = list(read_batches(path, texts=("code",), rows=2))
    assert [len(piece["a"]) for piece in pieces] == [2, 2, 1]
    assert [value for piece in pieces for value in piece["code"]] == ["01", "x", "02", "03", None]
    np.savez(tmp_path / "t.npz", a=np.arange(3))
    assert [len(piece["a"]) for piece in read_batches(tmp_path / "t.npz")] == [3]
    with pytest.raises(ValueError, match="Found 1 in row 3"):
        list(read_batches(written(tmp_path, "a,b\n1,2\n3\n", "u.csv"), rows=1))


@pytest.mark.extra("recipes", "polars", "pyarrow")
def test_parquet_in_pieces(tmp_path):
    import polars

    polars.DataFrame({"a": np.arange(5)}).write_parquet(tmp_path / "t.parquet")
    assert [piece["a"].tolist() for piece in read_batches(tmp_path / "t.parquet", rows=2)] == [[0, 1], [2, 3], [4]]


def test_text_that_is_not_utf_8(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,ward\n1,K\u00f6ln\n".encode("latin-1"))
    with pytest.raises(ValueError, match="Save it as UTF-8"):
        read_table(tmp_path / "t.csv")


def test_no_file_and_no_column(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="Did you mean 'ward'"):
        column({"ward": np.ones(1)}, "wards")


def test_pickles_are_not_read(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.array([{}, None], dtype=object))
    with pytest.raises(ValueError, match="objects would be pickles"):
        read_table(tmp_path / "t.npz")


class TestTrajectories:
    frames = np.arange(24.0).reshape(2, 4, 3)

    def same(self, recorded, lengths=(4, 4)):
        assert len(recorded.frames) == len(lengths)
        for one, whole, length in zip(recorded.frames, self.frames, lengths, strict=True):
            np.testing.assert_array_equal(one, whole[:length])

    def test_one_array(self, tmp_path):
        np.savez(tmp_path / "a.npz", frames=self.frames)
        np.save(tmp_path / "b.npy", self.frames)
        for name in ("a.npz", "b.npy"):
            found = read_trajectories(tmp_path / name)
            self.same(found)
            assert found.names == ("x0", "x1", "x2")

    def test_lengths(self, tmp_path):
        np.savez(tmp_path / "a.npz", frames=self.frames, lengths=np.array([2, 4]))
        self.same(read_trajectories(tmp_path / "a.npz"), (2, 4))
        np.savez(tmp_path / "a.npz", frames=self.frames, lengths=np.array([2, 5]))
        with pytest.raises(ValueError, match="from 1 to 4"):
            read_trajectories(tmp_path / "a.npz")

    def test_an_array_for_each(self, tmp_path):
        np.savez(tmp_path / "a.npz", first=self.frames[0, :2], second=self.frames[1])
        self.same(read_trajectories(tmp_path / "a.npz"), (2, 4))
        np.savez(tmp_path / "a.npz", first=self.frames[0], second=np.ones(3))
        with pytest.raises(ValueError, match=r"second \(3,\)"):
            read_trajectories(tmp_path / "a.npz")

    def table(self, path, order=range(8), text=""):
        lines = [f"{'ab'[i // 4]},{i % 4},{','.join(map(str, self.frames[i // 4, i % 4]))}{text}" for i in order]
        path.write_text("\n".join(["who,when,x,y,z" + (",said" if text else ""), *lines]) + "\n")

    def test_a_table(self, tmp_path):
        self.table(tmp_path / "a.csv", [3, 0, 1, 2, 7, 6, 5, 4], ",word")
        found = read_trajectories(tmp_path / "a.csv", "who", "when")
        self.same(found)
        assert found.names == ("x", "y", "z")
        assert "said" in found.notes[0]
        with pytest.raises(ValueError, match="--trajectory"):
            read_trajectories(tmp_path / "a.csv")
        with pytest.raises(ValueError, match="when"):
            read_trajectories(tmp_path / "a.csv", "who", "whem")

    def test_a_folder(self, tmp_path):
        np.save(tmp_path / "0.npy", self.frames[0])
        np.save(tmp_path / "1.npy", self.frames[1])
        self.same(read_trajectories(tmp_path))
        (tmp_path / "2.csv").write_text("x,y\n1,2\n2,3\n")
        with pytest.raises(ValueError, match=r"same features. Found x, y in 2.csv"):
            read_trajectories(tmp_path)
        assert digest(tmp_path) != digest(tmp_path / "2.csv")

    def test_nothing(self, tmp_path):
        with pytest.raises(ValueError, match="one a trajectory"):
            read_trajectories(tmp_path)
        with pytest.raises(FileNotFoundError):
            read_trajectories(tmp_path / "a.npz")
        np.save(tmp_path / "a.npy", self.frames[0])
        with pytest.raises(ValueError, match="several"):
            read_trajectories(tmp_path / "a.npy")

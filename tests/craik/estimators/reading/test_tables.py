import numpy as np
import pytest

from craik.estimators.reading import column, digest, read_table


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

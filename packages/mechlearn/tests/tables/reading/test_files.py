import gzip
import lzma
from datetime import datetime

import numpy as np
import pytest

from mechlearn.tables.reading import column, digest, read_table
from mechlearn.tables.reading.cells import decimals_noted
from mechlearn.tables.reading.files import read_noted
from mechlearn.tables.reading_in import is_missing, site_names


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


def test_a_column_that_says_whose_a_row_is_stays_texts(tmp_path):
    path = written(tmp_path, "a,site,day\n1,01,2020-01-02 10:00\n2,1,2020-01-02 11:00\n3,NA,\n4,,\n5,2.0,\n6,1.10,\n")
    assert read_table(path, keys=("site",))["site"].tolist() == ["01", "1", "NA", None, "2", "1.10"]
    assert [str(day) for day in read_table(path, keys=("day",))["day"][:3]] == ["2020-01-02", "2020-01-02", "NaT"]
    assert read_table(path)["site"].tolist()[:2] == [1, 1]


def test_the_order_of_sites_that_are_numbers_is_that_of_numbers_read(tmp_path):
    cells = ["3", "10", "1", "-2", "20", "2", "100", "11"]
    text = "site\n" + "\n".join(cells * 20)
    for wrote in (text, f"{text}\n".replace("\n10\n", "\n10.0\n")):
        table, before = read_table(written(tmp_path, wrote), keys=("site",)), read_table(tmp_path / "table.csv")
        found = [np.unique(site_names(one["site"]), return_inverse=True) for one in (table, before)]
        assert found[0][0].tolist() == found[1][0].tolist() == ["-2", "1", "10", "100", "11", "2", "20", "3"]
        assert (found[0][1] == found[1][1]).all()


def test_a_class_may_be_called_none(tmp_path):
    path = written(tmp_path, "a,worse,days\n1,none,1\n2,minor,NA\n3,,2\n")
    assert read_table(path, target="worse")["worse"].tolist() == ["none", "minor", None]
    assert read_table(path)["worse"].tolist() == [None, "minor", None]
    assert np.isnan(read_table(path, target="days")["days"][1])


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
        ("a,b\n1\n", "t.csv", "Found 1 in line 2 of t.csv. Mend"),
        ('\n\n"a",b\n', "t.csv", "Found 2 in line 3"),
        ('a,b\n\n"x\ny",1\n\n\n1\n', "t.csv", "Found 1 in line 7"),
        ("# made today\na,b\n1,2\n", "t.csv", "remove what stands above the names"),
        (f'a,b\n1,"{"x" * 200_000}', "t.csv", "should be closed"),
        ("a,b\n", "t.csv", "rows below it"),
        ("", "t.csv", "rows below it"),
        ("a\n1\n", "t.xls", "Convert it"),
        ("a;b;c\n1;2;3\n1,5;2\n", "t.csv", "Found 2 in line 3 of t.csv.*a cell with a semicolon"),
        ("a;b\n1.234,5;2\n17,3;1\n", "t.csv", "Found '1.234,5' in column 'a'. Write them without"),
        ("a;b\n2.5;2\n17,3;1\n", "t.csv", "Found '2.5' and '17,3' in column 'a'"),
        ("a;b\n1,234,567;2\n", "t.csv", "Found '1,234,567' in column 'a'"),
        ("a\tb\n1,234\t2\n12\t1\n", "t.tsv", "Found '1,234' in column 'a'"),
        ("a;b\n1,234;2.5\n12,345;1\n", "t.csv", "Found '1,234' in column 'a'"),
        ("a;b\n1.234;0,5\n900;1\n", "t.csv", "Found '1.234' in column 'a'"),
        ("no archive", "t.npz", "that NumPy wrote"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_table(written(tmp_path, text, name))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("site;age, years;ill\nA;5,5;1\nB;6;0\n", "t.csv"),
        ('site;"age, in years, at most";ill\nA;5,5;1\nB;6,0;0\n', "t.csv"),
        ("site\tage\till\nA\t5,5\t1\nB\t6\t0\n", "t.csv"),
        ("site;age;ill\nA;5.5;1\nB;6;0\n", "t.tsv"),
        ('site;"age\n,,,";ill\nA;5,5;1\nB;6;0\n', "t.csv"),
        ("site\tage, in, years\till\nA\t5,5\t1\nB\t6\t0\n", "t.tsv"),
        ("site;age, in, years;ill\nA;5.5;1\nB;6;0\n", "t.csv"),
        ('site,"age; in; years",ill\nA,5.5,1\nB,6,0\n', "t.csv"),
        ('"site;s;s\ns",age,ill\nA,5.5,1\nB,6,0\n', "t.csv"),
    ],
)
def test_semicolons_and_tabs_part_cells_where_the_line_of_names_has_most_of_them(tmp_path, text, name):
    table = read_table(written(tmp_path, text, name))
    assert [values.tolist() for values in table.values()] == [["A", "B"], [5.5, 6.0], [1, 0]]


def test_of_equally_many_marks_the_usual_one_parts(tmp_path):
    assert list(read_table(written(tmp_path, "a;b,c\n1,2\n"))) == ["a;b", "c"]
    assert list(read_table(written(tmp_path, "a,b\tc\n1\t2\n", "t.tsv"))) == ["a,b", "c"]
    assert list(read_table(written(tmp_path, "a\n1\n"))) == ["a"]


def test_decimal_commas_are_read_where_semicolons_part_cells(tmp_path):
    cells = ["1,5;A;0,1;1,5", "-,5;B;NA;x", "2e3;C;12,500;1,5", ";A;1,234;1,5"]
    table = read_table(path := written(tmp_path, "\n".join(["a;site;b;c", *cells])), keys=("site",))
    assert table["a"].tolist()[:3] == [1.5, -0.5, 2000.0]
    assert np.isnan(table["a"][3])
    assert table["b"][[0, 2, 3]].tolist() == [0.1, 12.5, 1.234]
    assert table["c"].tolist() == ["1,5", "x", "1,5", "1,5"]
    assert read_table(path, target="b")["b"][3] == 1.234
    assert read_table(path, keys=("b",))["b"][0] == "0,1"
    assert read_noted(path).notes == ["The file's cells are parted by semicolons: commas are read as decimal marks in a, b."]
    assert read_noted(written(tmp_path, "a;b\n1.5;2\n")).notes == []
    assert "marks in a0, a1, a2 and 2 more." in decimals_noted([f"a{index}" for index in range(5)], ";")[0]


def test_a_number_with_three_decimals_is_clear_where_another_column_is(tmp_path):
    assert read_table(written(tmp_path, "a\tb\n1,234\t0,5\n12,345\t1\n", "t.tsv"))["a"].tolist() == [1.234, 12.345]
    assert read_table(written(tmp_path, "a;b\n1,234;2\n12,345;1\n"))["a"].tolist() == [1.234, 12.345]
    assert read_table(written(tmp_path, "a;b\n1.234;2.5\n12.345;1\n"))["a"].tolist() == [1.234, 12.345]


def test_a_column_that_is_unclear_can_be_left_out(tmp_path):
    found = read_noted(written(tmp_path, "a;b\n1.234,5;2\n17,3;1\n"))
    assert found.columns["b"].tolist() == [2, 1]
    assert found.columns["a"].tolist() == ["1.234,5", "17,3"]
    assert list(found.unclear) == ["a"]


def test_times_of_day_are_kept_and_days_that_are_none_are_texts(tmp_path):
    table = read_table(written(tmp_path, "a,b,c,d\n2021-03-01 12:00,2021-02-30,2021-03-01T12:00+02:00,2021-03-01\n,x,,\n"))
    assert [str(table[name][0])[:16] for name in "abcd"] == ["2021-03-01T12:00", "2021-02-30", "2021-03-01T10:00", "2021-03-01"]
    assert is_missing(table["a"]).tolist() == [False, True]
    assert table["d"].dtype == "datetime64[D]"
    assert read_table(written(tmp_path, "a\n2021-03-01 12:00\n2021-03-01 12:00Z\n"))["a"].dtype == object


def test_digits_with_underscores_are_codes(tmp_path):
    assert read_table(written(tmp_path, "a\n1_1\n1_12\n"))["a"].tolist() == ["1_1", "1_12"]


def test_commas_inside_cells_of_a_file_with_commas_are_texts(tmp_path):
    assert read_table(written(tmp_path, 'a,b\n"1,5",2\n"2,5",3\n'))["a"].tolist() == ["1,5", "2,5"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le"])
def test_text_is_read_in_any_usual_encoding_and_what_was_guessed_is_said(tmp_path, encoding):
    path = tmp_path / "t.csv"
    wards = ["Ulm", "K\u00f6ln", "Rh\u00f6n" if encoding != "latin-1" else "K\x81"]  # a byte that cp1252 has not
    path.write_bytes("\r\n".join(["age,ward", *(f"{row},{ward}" for row, ward in enumerate(wards))]).encode(encoding))
    found = read_noted(path)
    assert found.columns["ward"].tolist() == wards
    assert found.columns["age"].tolist() == [0, 1, 2]
    said = (
        []
        if encoding.startswith("utf-8")
        else [f"The file's text is no UTF-8: it was read as {encoding}. Look whether accents are right."]
    )
    assert found.notes == said


@pytest.mark.extra("excel", "openpyxl")
def test_a_workbook_is_a_table(tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "patients"
    for row in (
        ["ward", "age", "seen", "ill", None],
        ["A", 40, datetime(2026, 1, 31), True],
        [],
        ["B", None, datetime(2026, 2, 1), False],
    ):
        sheet.append(row)
    book.create_sheet("notes")
    book.save(tmp_path / "t.xlsx")
    found = read_noted(tmp_path / "t.xlsx")
    assert found.columns["ward"].tolist() == ["A", "B"]
    assert found.columns["age"][0] == 40
    assert np.isnan(found.columns["age"][1])
    assert found.columns["seen"].astype(str).tolist() == ["2026-01-31", "2026-02-01"]
    assert found.columns["ill"].tolist() == ["True", "False"]
    assert found.notes == ["The workbook has 2 sheets: the first, 'patients', was read."]
    (tmp_path / "t.xlsx").write_bytes(b"no workbook")
    with pytest.raises(ValueError, match="one that Excel opens"):
        read_noted(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    ("name", "squeeze", "kind"), [("t.csv.gz", gzip, "gzip"), ("t.csv", gzip, "gzip"), ("t.tsv", lzma, "xz")]
)
def test_what_is_compressed_is_said_to_be(tmp_path, name, squeeze, kind):
    (tmp_path / name).write_bytes(squeeze.compress(b"a,b\n1,2\n"))
    with pytest.raises(ValueError, match=f"Found {kind} in {name}. Unpack it"):
        read_table(tmp_path / name)


def test_a_folder_is_said_to_be_one(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(ValueError, match="Found a folder"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (np.array(3), r"'z' of shape \(\) in t.npz. Leave it out"),
        (np.ones((2, 3)), r"'z' of shape \(2, 3\) in t.npz. Give each of its columns a name"),
        (np.array([1j, 2.0]), r"complex ones in 'z' of shape \(2,\) in t.npz"),
    ],
)
def test_arrays_that_are_no_columns(tmp_path, values, sentence):
    np.savez(tmp_path / "t.npz", a=np.ones(2), z=values)
    with pytest.raises(ValueError, match=sentence):
        read_table(tmp_path / "t.npz")


def test_an_array_of_one_column_is_a_column(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.ones(2), z=np.array([[1], [2]]))
    assert read_table(tmp_path / "t.npz")["z"].tolist() == [1, 2]


def test_no_file_and_no_column(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="Did you mean 'ward'"):
        column({"ward": np.ones(1)}, "wards")


def test_pickles_are_not_read(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.array([{}, None], dtype=object))
    with pytest.raises(ValueError, match="objects would be pickles") as refused:
        read_table(tmp_path / "t.npz")
    assert "allow_pickle" not in str(refused.value)

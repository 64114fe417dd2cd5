import numpy as np
import pytest

from mechlearn.tables.reading_in import Column, encoding_of, prepare
from site_tables import beside, cells, small

TABLE = small()
N = len(TABLE.y)


def test_codes_stay_categories_and_are_said():
    codes = cells(np.arange(N) % 3 + 1, r5="X", r8="not known")
    table = prepare(beside(grade=codes), TABLE.y, TABLE.site)
    assert table.names[2:] == ("grade=1", "grade=2", "grade=3", "grade=X", "grade=not known")
    assert "grade holds numbers (1, 2, 3) and texts: taken as 5 categories." in table.notes
    mixed = cells(np.arange(N) % 3 + 1, **{f"r{i}": "?" for i in range(30)})  # a quarter: no stray cells
    assert encoding_of({"grade": mixed}).names == ("grade=1", "grade=2", "grade=3", "grade=?")
    texts = np.array(["1", "2"] * (N // 2))  # numbers kept as texts, on purpose
    assert encoding_of({"kind": texts}).names == ("kind=1", "kind=2")


def test_a_table_to_predict_on_needs_the_columns_trained_on():
    encoding = encoding_of({"age": np.ones(3), "ward": np.array(["a", "b", "a"])})
    with pytest.raises(ValueError, match="Did you mean 'Age'"):
        encoding.encoded({"Age": np.ones(2), "ward": np.array(["a", "b"])})
    with pytest.raises(ValueError, match="should hold numbers"):
        encoding.encoded({"age": np.array(["x", "y"]), "ward": np.array(["a", "b"])})
    assert encoding.encoded({"age": np.ones(2), "ward": np.array(["b", "new"])}).tolist() == [[1, 0, 1], [1, 0, 0]]


def test_what_is_no_number_in_a_new_table_is_refused():
    columns = {"a": np.arange(4.0), "b": np.array(["x", "y", "x", "y"])}
    encoding = encoding_of(columns)
    days = np.array(["2020-01-01"] * 4, dtype="datetime64[D]")
    with pytest.raises(ValueError, match="Found dates"):
        encoding.encoded({**columns, "a": days})
    with pytest.raises(ValueError, match=r"Found texts, such as 'abc' in data row 3. Mend"):
        encoding.encoded({**columns, "a": np.array(["1", "2", "abc", "4"], dtype=object)})
    with pytest.raises(ValueError, match=r"infinity in 1 rows of 'a', first in data row 3 of 4"):
        encoding.encoded({**columns, "a": np.array([0, 1, np.inf, 2])})
    empty = encoding.encoded({**columns, "a": np.array([None] * 4, dtype=object)})
    assert np.isnan(empty[:, 0]).all()


def test_codes_with_a_gap_are_floats_and_the_same_categories():
    column = Column("ward", ("1", "2", "X"), missing=True)
    found = column.encoded(np.array([1.0, 2.0, np.nan]))
    assert found.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]


def test_a_column_of_nothing_has_a_flag_alone():
    columns = {"remark": np.array([None, None], dtype=object)}
    assert encoding_of(columns).encoded(columns).tolist() == [[1], [1]]


def test_all_refusals_are_one_list_with_the_options_that_mend_them():
    columns = {
        "age": np.arange(60.0),
        "seen": np.array(["2026-01-31"] * 60, dtype="datetime64[D]"),
        "crp": np.array(["<0.6", *(f"{row / 8}" for row in range(59))], dtype=object),
        "blood pressure": np.array([f"{120 + row % 9}/85" for row in range(60)], dtype=object),
        "name": np.array([f"patient {row}" for row in range(60)], dtype=object),
        "dose": np.where(np.arange(60) == 3, np.inf, 1.0),
        "number": np.array([f"{row / 8}" for row in range(60)], dtype=object),
    }
    with pytest.raises(ValueError, match="cannot be used") as refused:
        encoding_of(columns)
    first, *said, last = str(refused.value).splitlines()
    assert first == "6 columns cannot be used as they are:"
    assert (
        last
        == "Mend them, or leave all out: --drop seen --drop crp --drop 'blood pressure' --drop name --drop dose --drop number"
    )
    for sentence, words in zip(
        said, ("dates", "'<0.6' in data row 1", "'120/85'", "60 in 'name'", "infinity", "texts of them"), strict=True
    ):
        assert words in sentence
    with pytest.raises(ValueError, match=r"^Columns should hold numbers or categories\. Found dates in 'seen'"):
        encoding_of({"age": columns["age"], "seen": columns["seen"]})


def test_of_many_texts_the_frequent_ones_are_categories():
    rng = np.random.default_rng(0)
    codes = np.array([f"code {place:03d}" for place in np.minimum(rng.geometric(0.05, size=600), 199)], dtype=object)
    texts, counts = np.unique(codes.astype(str), return_counts=True)
    assert len(texts) > 50
    encoding = encoding_of({"code": codes})
    (column,) = encoding.columns
    often = counts[np.isin(texts, column.categories)]
    assert len(often) <= 50
    assert often.min() >= max(5, counts[~np.isin(texts, column.categories)].max())
    rare = ~np.isin(codes.astype(str), column.categories)
    assert (encoding.encoded({"code": codes}).sum(1) == ~rare).all()
    notes = prepare({"code": codes}, rng.integers(2, size=600), np.arange(600) % 4).notes
    said = f"code holds {len(texts)} texts: the {len(often)} most frequent are categories"
    assert notes[0] == f"{said}, and {rare.sum()} rows have none of them."

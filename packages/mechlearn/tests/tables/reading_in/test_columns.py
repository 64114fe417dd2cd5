import numpy as np
import pytest

from mechlearn.tables.reading_in import columns_of, is_missing, one_dimensional, prepare
from site_tables import beside, small

TABLE = small()


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, columns, values):
        self.columns, self._values = columns, values

    def __getitem__(self, name):
        return self._values[self.columns.index(name)]


def test_a_frame_a_matrix_and_a_mapping_say_the_same():
    frame = Frame(["a", "b"], [TABLE.x[:, 0], TABLE.x[:, 1]])
    tables = [prepare(x, TABLE.y, TABLE.site) for x in (frame, beside(), TABLE.x[:, :2])]
    assert tables[0].names == tables[1].names == ("a", "b")
    assert tables[2].names == ("x0", "x1")
    assert all(np.array_equal(tables[0].x, table.x) for table in tables)


NO_TABLES = {
    "repeated names": (Frame(["a", "a"], [TABLE.y, TABLE.y]), "more than once"),
    "one column": (TABLE.x[:, 0], "Found shape"),
    "ragged": ({"a": [1.0], "b": [1.0, 2.0]}, "one length"),
    "no columns": ({}, "one length"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_refused(name):
    table, sentence = NO_TABLES[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        columns_of(table)


def test_a_gap_in_a_list_of_texts_is_none_of_them():
    found = columns_of({"a": ["x", "y", float("nan")], "b": [1, 2, float("nan")]})
    assert is_missing(found["a"]).tolist() == is_missing(found["b"]).tolist() == [False, False, True]


@pytest.mark.extra("integrations", "pyarrow")
def test_arrows_gaps_are_gaps_and_its_large_numbers_stay_whole():
    import pyarrow

    words = pyarrow.array(["A", None, "C"]).dictionary_encode()
    table = pyarrow.table({"word": words, "key": pyarrow.array([2**53 + 1, 2**53, None])})
    found = columns_of(table)
    assert found["word"].tolist() == ["A", None, "C"]
    assert found["key"].tolist() == [2**53 + 1, 2**53, None]
    assert one_dimensional("groups", table["word"], 3).tolist() == ["A", None, "C"]


@pytest.mark.extra("integrations", "polars")
def test_large_numbers_of_polars_stay_whole():
    import polars

    found = columns_of(polars.DataFrame({"key": [2**53 + 1, None], "word": ["A", None]}))
    assert found["key"].tolist() == [2**53 + 1, None]
    assert is_missing(found["word"]).tolist() == [False, True]

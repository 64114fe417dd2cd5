import unicodedata
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse

from mechlearn.tables.reading_in import columns_of, encoding_of, is_missing, one_dimensional, prepare, site_names
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
    "one name as number and text": ({1: [1.0], "1": [2.0]}, "'1' more than once"),
    "lists in cells": ({"a": [1.0], "b": [[1.0, 2.0]]}, r"shape \(1, 2\) in 'b'"),
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

    lazy = polars.LazyFrame({"a": [1, 2]})
    assert columns_of(lazy)["a"].tolist() == [1, 2]
    assert site_names(one_dimensional("groups", polars.Series([2**53 + 1, None]), 2)).tolist() == [str(2**53 + 1), "(missing)"]
    found = columns_of(polars.DataFrame({"key": [2**53 + 1, None], "word": ["A", None]}))
    assert found["key"].tolist() == [2**53 + 1, None]
    assert is_missing(found["word"]).tolist() == [False, True]


def test_what_a_mask_hides_is_missing():
    hidden = np.arange(4) == 2
    found = columns_of({"a": np.ma.masked_array([1.0, 2, 3, 4], hidden), "b": np.ma.masked_array([1, 2, 3, 4], hidden)})
    assert is_missing(found["a"]).tolist() == is_missing(found["b"]).tolist() == hidden.tolist()
    assert is_missing(columns_of(np.ma.masked_array(np.ones((2, 1)), [[True], [False]]))["x0"]).tolist() == [True, False]


def test_one_definition_of_missing():
    texts = np.array(["a", "", " NA ", "NaN", "null", "None", "n/a", "nap"], dtype=object)
    assert is_missing(columns_of({"a": texts})["a"]).tolist() == [False, *[True] * 6, False]
    moments = np.array([None, np.datetime64("NaT"), float("nan"), Decimal("NaN"), Decimal(1)], dtype=object)
    assert is_missing(moments).tolist() == [True] * 4 + [False]


def test_spellings_of_unicode_are_one_category():
    forms = [unicodedata.normalize(form, "K\u00f6ln") for form in ("NFC", "NFD")]
    encoding = encoding_of(columns_of({"town": [*forms, "Bonn"]}))
    assert encoding.names == ("town=Bonn", "town=K\u00f6ln")
    assert encoding.encoded(columns_of({"town": forms})).tolist() == [[0, 1], [0, 1]]


def test_types_of_pandas_survive():
    pandas = pytest.importorskip("pandas")
    days = pandas.Series([*pandas.date_range("2026-01-01", periods=2, tz="Europe/Berlin"), pandas.NaT])
    frame = pandas.DataFrame(
        {"grade": pandas.Categorical([1, 2, None]), "key": pandas.array([2**53 + 1, None, 1], dtype="Int64")}
    )
    found = columns_of(frame)
    assert found["grade"].tolist() == ["1", "2", None]
    assert found["key"].tolist()[0] == 2**53 + 1
    assert is_missing(found["key"]).tolist() == [False, True, False]
    assert site_names(one_dimensional("groups", days, 3)).tolist()[1:] == ["2026-01-02 00:00:00+01:00", "(missing)"]
    assert site_names(one_dimensional("groups", frame["key"], 3)).tolist() == [str(2**53 + 1), "(missing)", "1"]
    assert site_names(one_dimensional("groups", frame["grade"], 3)).tolist() == ["1", "2", "(missing)"]


def test_a_sparse_matrix_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"should be dense\. Found a sparse matrix\. Give X\.toarray\(\)"):
        columns_of(scipy.sparse.eye(3).tocsr())

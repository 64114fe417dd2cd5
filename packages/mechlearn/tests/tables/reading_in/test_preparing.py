import datetime

import numpy as np
import pytest

from mechlearn.tables.reading_in import Scaling, prepare
from site_tables import beside, small

TABLE = small()
N = len(TABLE.y)


def test_columns_of_every_kind_become_numbers():
    ward = np.array(["east", "west", None, "east"] * 30, dtype=object)
    age = np.where(np.arange(N) % 5 == 0, np.nan, 3.0)
    table = prepare(beside(ward=ward, age=age, smokes=np.arange(N) % 2 == 0), TABLE.y, TABLE.site)
    assert table.names == ("a", "b", "ward=east", "ward=west", "ward missing", "age", "age missing", "smokes")
    assert table.x[:4, 2:5].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert np.isnan(table.x[::5, 5]).all()
    assert Scaling.of(table.x).applied(table.x)[0, 5] == 0
    assert any("ward (30), age (24)" in note for note in table.notes)


def test_rows_are_sorted_by_site_and_sites_may_be_anything():
    order = np.random.default_rng(0).permutation(N)
    names = np.array([f"s{site}" for site in TABLE.site], dtype=object)
    names[TABLE.site == 3] = None
    table = prepare(TABLE.x[order], TABLE.y[order], names[order])
    assert table.sites == ("(missing)", "s0", "s1", "s2")
    assert table.sizes == (30,) * 4
    assert any("30 rows name no site" in note for note in table.notes)
    assert sorted(table.x[table.site == 1, 0]) == sorted(TABLE.x[TABLE.site == 0, 0])
    assert prepare(TABLE.x, TABLE.y, np.where(TABLE.site == 3, np.nan, TABLE.site)).sites == ("(missing)", "0", "1", "2")


def test_a_site_of_one_class_is_trained_on_and_not_judged():
    y = TABLE.y.copy()
    y[TABLE.site == 2] = 1
    table = prepare(TABLE.x, y, TABLE.site)
    assert table.judged.tolist() == [True, True, False, True]
    assert any("Site 2 holds one class" in note for note in table.notes)
    assert table.naming == ("Site 2 holds one class: trained on, not judged.",)


def test_where_sites_are_not_compared_none_is_pooled_or_noted_on():
    y = TABLE.y.copy()
    y[TABLE.site != 2] = 1
    y[TABLE.site == 2] = np.arange(30) % 2
    site = np.where(TABLE.site == 1, TABLE.site + np.arange(N) % 2, TABLE.site * 10)
    table = prepare(TABLE.x, y, site, compared=False)
    assert table.sites == ("0", "1", "2", "20", "30")
    assert table.judged.all()
    assert table.naming == ()
    assert not any("site" in note.lower() for note in table.notes)


REFUSED = {
    "dates": (lambda: prepare(beside(day=np.array(["2020-01-01"] * N, dtype="datetime64[D]")), TABLE.y, TABLE.site), "dates"),
    "dates as objects": (lambda: prepare(beside(day=[datetime.date(2020, 1, 1)] * N), TABLE.y, TABLE.site), "dates"),
    "days first": (
        lambda: prepare(beside(day=[f"{1 + i % 28}.03.2021 7:15" for i in range(N)]), TABLE.y, TABLE.site),
        "Found dates in 'day'. Give .* --drop 'day'",
    ),
    "a few days": (lambda: prepare(beside(day=["12/03/2021", "13/03/2021"] * (N // 2)), TABLE.y, TABLE.site), "Found dates"),
    "free text": (
        lambda: prepare(beside(name=[f"p{i}" for i in range(N)]), TABLE.y, TABLE.site),
        "at most 50 categories. .* --drop 'name'",
    ),
    "lists": (lambda: prepare(beside(bag=np.array([{1}] * N, dtype=object)), TABLE.y, TABLE.site), "Found set in 'bag'"),
    "one site": (lambda: prepare(TABLE.x, TABLE.y, ["here"] * N), "at least two of 20 rows. Found one site"),
    "small sites": (lambda: prepare(TABLE.x, TABLE.y, np.arange(N) // 6), "Found 20 sites, all with fewer"),
    "no sites": (lambda: prepare(TABLE.x, TABLE.y, None), "Found None"),
    "sites of another length": (lambda: prepare(TABLE.x, TABLE.y, [1, 2]), "one value for each of the 120 rows"),
    "one class": (lambda: prepare(TABLE.x, [1] * N, TABLE.site), "There is nothing to predict"),
    "site is class": (lambda: prepare(TABLE.x, TABLE.site, TABLE.site), "site and target say the same"),
    "one site of two classes": (
        lambda: prepare(TABLE.x, np.where(TABLE.site == 2, np.arange(N) % 2, 1), TABLE.site),
        "Without a site the others should hold more than one class",
    ),
    "missing target": (lambda: prepare(TABLE.x, np.where(TABLE.y, np.nan, 1.0), TABLE.site), "missing of 'y', first in"),
    "infinite target": (lambda: prepare(TABLE.x, np.where(TABLE.y, np.inf, 1.0), TABLE.site), "infinity"),
    "survival": (lambda: prepare(TABLE.x, np.stack([TABLE.y, TABLE.y], 1), TABLE.site), "survival"),
    "words to regress": (lambda: prepare(TABLE.x, ["a", "b"] * (N // 2), TABLE.site, task="regression"), "classification"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    run, sentence = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        run()

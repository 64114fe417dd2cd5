import datetime
import re

import numpy as np
import pytest

from craik.estimators.tables import (
    CLASSES,
    COPIES,
    IDENTIFIERS,
    TELLING,
    Scaling,
    _no_inputs,
    check_cells,
    check_target,
    columns_of,
    encoding_of,
    prepare,
)
from site_tables import shortcut


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, columns, values):
        self.columns, self._values = columns, values

    def __getitem__(self, name):
        return self._values[self.columns.index(name)]


TABLE = shortcut(sites=4, rows=30)
N = len(TABLE.y)


def changed(**columns):
    return {"a": TABLE.x[:, 0], "b": TABLE.x[:, 1], **columns}


def test_columns_of_every_kind_become_numbers():
    ward = np.array(["east", "west", None, "east"] * 30, dtype=object)
    age = np.where(np.arange(N) % 5 == 0, np.nan, 3.0)
    table = prepare(changed(ward=ward, age=age, smokes=np.arange(N) % 2 == 0), TABLE.y, TABLE.site)
    assert table.names == ("a", "b", "ward=east", "ward=west", "ward missing", "age", "age missing", "smokes")
    assert table.x[:4, 2:5].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert np.isnan(table.x[::5, 5]).all()
    assert Scaling.of(table.x).applied(table.x)[0, 5] == 0
    assert any("ward (30), age (24)" in note for note in table.notes)


def test_a_frame_a_matrix_and_a_mapping_say_the_same():
    frame = Frame(["a", "b"], [TABLE.x[:, 0], TABLE.x[:, 1]])
    tables = [prepare(x, TABLE.y, TABLE.site) for x in (frame, changed(), TABLE.x[:, :2])]
    assert tables[0].names == tables[1].names == ("a", "b")
    assert tables[2].names == ("x0", "x1")
    assert all(np.array_equal(tables[0].x, table.x) for table in tables)


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


def test_small_sites_are_pooled_and_not_judged():
    site = TABLE.site.copy()
    site[:15], site[15:30] = 10, 11
    table = prepare(TABLE.x, TABLE.y, site)
    assert table.sites == ("(small sites)", "1", "2", "3")
    assert table.judged.tolist() == [False, True, True, True]
    assert any("2 of 5 sites have fewer than 20 rows" in note for note in table.notes)


def test_a_site_of_one_class_is_trained_on_and_not_judged():
    y = TABLE.y.copy()
    y[TABLE.site == 2] = 1
    table = prepare(TABLE.x, y, TABLE.site)
    assert table.judged.tolist() == [True, True, False, True]
    assert any("Site 2 holds one class" in note for note in table.notes)


def test_targets_say_what_they_are():
    assert prepare(TABLE.x, TABLE.y, TABLE.site).classes == (0, 1)
    assert prepare(TABLE.x, np.where(TABLE.y, "ill", "well"), TABLE.site).classes == ("ill", "well")
    assert prepare(TABLE.x, TABLE.y == 1, TABLE.site).classes == ("False", "True")
    assert prepare(TABLE.x, TABLE.x[:, 0], TABLE.site).task == "regression"
    assert prepare(TABLE.x, TABLE.y, TABLE.site, task="regression").classes is None


REFUSED = {
    "dates": (lambda: prepare(changed(day=np.array(["2020-01-01"] * N, dtype="datetime64[D]")), TABLE.y, TABLE.site), "dates"),
    "dates as objects": (lambda: prepare(changed(day=[datetime.date(2020, 1, 1)] * N), TABLE.y, TABLE.site), "dates"),
    "days first": (
        lambda: prepare(changed(day=[f"{1 + i % 28}.03.2021 7:15" for i in range(N)]), TABLE.y, TABLE.site),
        "Found dates in 'day'. Give .* --drop 'day'",
    ),
    "a few days": (lambda: prepare(changed(day=["12/03/2021", "13/03/2021"] * (N // 2)), TABLE.y, TABLE.site), "Found dates"),
    "free text": (
        lambda: prepare(changed(name=[f"p{i}" for i in range(N)]), TABLE.y, TABLE.site),
        "at most 50 categories. .* --drop 'name'",
    ),
    "lists": (lambda: prepare(changed(bag=np.array([{1}] * N, dtype=object)), TABLE.y, TABLE.site), "Found set in 'bag'"),
    "repeated names": (lambda: columns_of(Frame(["a", "a"], [TABLE.y, TABLE.y])), "more than once"),
    "one site": (lambda: prepare(TABLE.x, TABLE.y, ["here"] * N), "at least two"),
    "no sites": (lambda: prepare(TABLE.x, TABLE.y, None), "Found None"),
    "sites of another length": (lambda: prepare(TABLE.x, TABLE.y, [1, 2]), "one value for each of the 120 rows"),
    "one class": (lambda: prepare(TABLE.x, [1] * N, TABLE.site), "There is nothing to predict"),
    "site is class": (lambda: prepare(TABLE.x, TABLE.site, TABLE.site), "site and target say the same"),
    "missing target": (
        lambda: prepare(TABLE.x, np.where(TABLE.y, np.nan, 1.0), TABLE.site),
        "missing of 'y', first in",
    ),
    "infinite target": (lambda: prepare(TABLE.x, np.where(TABLE.y, np.inf, 1.0), TABLE.site), "infinity"),
    "survival": (lambda: prepare(TABLE.x, np.stack([TABLE.y, TABLE.y], 1), TABLE.site), "survival"),
    "words to regress": (lambda: prepare(TABLE.x, ["a", "b"] * (N // 2), TABLE.site, task="regression"), "classification"),
    "one column": (lambda: prepare(TABLE.x[:, 0], TABLE.y, TABLE.site), "Found shape"),
    "ragged": (lambda: prepare({"a": [1.0], "b": [1.0, 2.0]}, TABLE.y, TABLE.site), "one length"),
}


def cells(numbers, **others):
    """Numbers as a CSV file's column has them where some cell is none: texts."""
    texts = [str(number) for number in numbers]
    for row, text in others.items():
        texts[int(row[1:])] = text
    return np.array(texts, dtype=object)


DISTINCT = np.arange(N) / 8
STRAYS = {
    "one cell among many numbers": (cells(DISTINCT, r7="<0.3"), "numbers in 119 of 120 .* '<0.3' in data row 8. Mend"),
    "one cell among few numbers": (cells(DISTINCT % 1, r7="5,3"), "'5,3' in data row 8. .* a point for the decimal comma"),
    "one cell among whole numbers": (cells(np.arange(N) % 4, r7="5,3"), "numbers in 119 of 120 .*; if the numbers are codes"),
    "signs for nothing": (cells(DISTINCT, r5="-", r9="?", r11="-", r12="."), "'-' in data row 6, '[?]' in data row 10, '.' in"),
    "more than a tenth": (cells(DISTINCT, **{f"r{i}": "?" for i in range(30)}), "numbers in 90 of 120 filled cells"),
    "decimal commas": (np.array([str(v).replace(".", ",") for v in DISTINCT], dtype=object), "numbers in 0 of 120 .* comma"),
    "a word among many whole numbers": (cells(np.arange(N) % 30, r3="x"), "'x' in data row 4"),
}


@pytest.mark.parametrize("name", STRAYS)
def test_a_stray_cell_makes_no_categories_of_numbers(name):
    values, sentence = STRAYS[name]
    with pytest.raises(ValueError, match=sentence):
        prepare(changed(crp=values), TABLE.y, TABLE.site)
    with pytest.raises(ValueError, match=sentence):
        check_cells({"crp": values})


def test_codes_stay_categories_and_are_said():
    codes = cells(np.arange(N) % 3 + 1, r5="X", r8="not known")
    table = prepare(changed(grade=codes), TABLE.y, TABLE.site)
    assert table.names[2:] == ("grade=1", "grade=2", "grade=3", "grade=X", "grade=not known")
    assert "grade holds numbers (1, 2, 3) and texts: taken as 5 categories." in table.notes
    mixed = cells(np.arange(N) % 3 + 1, **{f"r{i}": "?" for i in range(30)})  # a quarter: no stray cells
    assert encoding_of({"grade": mixed}).names == ("grade=1", "grade=2", "grade=3", "grade=?")
    texts = np.array(["1", "2"] * (N // 2))  # numbers kept as texts, on purpose
    assert encoding_of({"kind": texts}).names == ("kind=1", "kind=2")


def test_numbers_whose_squares_cannot_be_added_up_are_refused():
    for wrong, found in ((1e300, "1e\\+300"), (-1e200, "-1e\\+200")):
        values = TABLE.x[:, 2].copy()
        values[5] = wrong
        with pytest.raises(ValueError, match=f"1 rows of 'crp', first {found} in data row 6 of 120. Give them in another unit"):
            prepare(changed(crp=values), TABLE.y, TABLE.site)
        with pytest.raises(ValueError, match="data row 6 of 120"):
            encoding_of({"crp": values}).encoded({"crp": values})
    with pytest.raises(ValueError, match="120 rows of 'y', first"):
        prepare(changed(), TABLE.x[:, 2] * 1e200, TABLE.site)
    large = prepare(changed(crp=TABLE.x[:, 2] * 1e149), TABLE.y, TABLE.site)
    assert np.isfinite(Scaling.of(large.x).applied(large.x)).all()


def test_what_is_wrong_with_a_target_is_shown_by_column_and_row():
    absent = np.where(np.arange(N) == 3, np.nan, TABLE.x[:, 0])
    with pytest.raises(ValueError, match=r"Found 1 missing of 'died', first in data row 4 of 120. Leave"):
        check_target(absent, "died")
    with pytest.raises(ValueError, match="infinity in 1 rows of 'died', first in data row 4 of 120"):
        check_target(np.where(np.isnan(absent), np.inf, absent), "died")
    with pytest.raises(ValueError, match="Found 1 only in 'y'"):
        check_target(np.ones(N, dtype=np.int64))
    with pytest.raises(ValueError, match=r"Found texts, such as '<1' in data row 3. Mend these cells"):
        prepare(TABLE.x, cells(DISTINCT, r2="<1"), TABLE.site, task="regression")
    with pytest.raises(ValueError, match=r"Found 120. It holds texts, such as '<1' in data row 3"):
        prepare(TABLE.x, cells(DISTINCT, r2="<1"), TABLE.site, task="classification")


def test_a_stray_text_makes_no_classes_of_a_target_of_numbers():
    for numbers, text in ((TABLE.y, "?"), (np.arange(N) % 60, "<5"), (DISTINCT, "x")):
        target = cells(numbers, r3=text)
        found = (
            rf"numbers in 119 of 120 filled cells of 'days', .* '{re.escape(text)}' in data row 4. Mend these cells or leave "
        )
        with pytest.raises(ValueError, match=found + r"their rows out; .* \(--task classification\)"):
            check_target(target, "days")
        with pytest.raises(ValueError, match="of 'y', and texts in the others"):
            prepare(TABLE.x, target, TABLE.site)
        check_target(target, "days", "classification")
    assert prepare(TABLE.x, cells(TABLE.y, r3="?"), TABLE.site, "classification").classes == ("0", "1", "?")
    assert prepare(TABLE.x, np.where(TABLE.y, "1", "0"), TABLE.site).classes == ("0", "1")


def test_classes_of_few_rows_are_said():
    notes = prepare(TABLE.x, cells(TABLE.y, r3="unknown"), TABLE.site).notes
    assert notes[0].startswith(
        "The target is taken for classes, 3 of them: 0, 1, unknown. Fewer than 5 rows are of unknown (1): "
    )
    notes = prepare(TABLE.x, np.arange(N) % 60, TABLE.site, "classification").notes
    assert "60 of them: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 48 more. Fewer" in notes[0]
    assert "4 (2) and 55 more: mend" in notes[0]
    for target, task in ((TABLE.y, None), (TABLE.x[:, 0], None)):
        assert not any(CLASSES in note for note in prepare(TABLE.x, target, TABLE.site, task).notes)


def test_columns_that_are_perhaps_no_inputs_are_said():
    shuffled = np.random.default_rng(0).permutation(N)
    gone = np.where(TABLE.y, 3.0, np.nan)
    stay = np.where(TABLE.y, "dead", "home").astype(object)
    notes = prepare(
        changed(id=shuffled + 1000, place=stay, day=gone, ill=TABLE.y * 1.0, ward=TABLE.site), TABLE.y, TABLE.site
    ).notes
    said = {note.split()[0]: note for note in notes if IDENTIFIERS in note or TELLING in note}
    assert set(said) == {"id", "place", "day", "ill"}
    assert said["id"].endswith("none of them twice. If it is, --drop 'id'.")
    assert (
        said["place"]
        == "place says what the target is, value by value. If it is known only when the target is, --drop 'place'."
    )
    numbers = prepare(changed(same=TABLE.x[:, 2], half=TABLE.x[:, 3]), TABLE.x[:, 2], TABLE.site).notes
    assert [note.split()[0] for note in numbers if TELLING in note] == ["same"]
    few = np.arange(16) % 2
    assert not _no_inputs({"id": np.arange(16), "same": few}, few)


def test_rows_that_are_copies_are_said_unless_they_are_alike_by_chance():
    def said(x, y):
        return [note for note in prepare(x, y, np.arange(len(y)) % 2).notes if COPIES in note]

    twice = np.concatenate([TABLE.x, TABLE.x])
    assert said(twice, np.tile(TABLE.y, 2))[0].startswith(f"120 of 240 rows are {COPIES}. Tests count them as new evidence")
    twice[N:, 0] += 1
    assert not said(twice, np.tile(TABLE.y, 2))
    assert said(np.concatenate([TABLE.x, TABLE.x[:1]]), np.append(TABLE.y, TABLE.y[0]))[0].startswith("1 of 121 rows are")
    rng = np.random.default_rng(0)
    assert not said(rng.integers(2, size=(500, 4)), rng.integers(2, size=500))
    assert not said(np.column_stack([rng.integers(200, size=2000), rng.integers(2, size=2000)]), rng.integers(2, size=2000))


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    run, sentence = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        run()


def test_more_columns_than_rows_is_said():
    wide = np.tile(TABLE.x, (1, 12))
    assert any("more columns than rows" in note for note in prepare(wide, TABLE.y, TABLE.site).notes)


def test_a_table_to_predict_on_needs_the_columns_trained_on():
    encoding = encoding_of({"age": np.ones(3), "ward": np.array(["a", "b", "a"])})
    with pytest.raises(ValueError, match="Did you mean 'Age'"):
        encoding.encoded({"Age": np.ones(2), "ward": np.array(["a", "b"])})
    with pytest.raises(ValueError, match="should hold numbers"):
        encoding.encoded({"age": np.array(["x", "y"]), "ward": np.array(["a", "b"])})
    assert encoding.encoded({"age": np.ones(2), "ward": np.array(["b", "new"])}).tolist() == [[1, 0, 1], [1, 0, 0]]


def test_weighted_standardisation_is_that_of_repeated_rows():
    x, w = TABLE.x[:10], np.arange(10.0)
    repeated = np.repeat(x, np.arange(10), axis=0)
    weighted = Scaling.of(x, w)
    np.testing.assert_allclose(weighted.mean, repeated.mean(0), atol=1e-12)
    np.testing.assert_allclose(weighted.spread, repeated.std(0), atol=1e-12)


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

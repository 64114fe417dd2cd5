import numpy as np
import pytest

from mechlearn.tables.reading_in import Scaling, check_column, encoding_of, is_missing, prepare
from mechlearn.tables.reading_in.cells import check_strays, is_number
from site_tables import beside, cells, small

TABLE = small()
N = len(TABLE.y)

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
        prepare(beside(crp=values), TABLE.y, TABLE.site)
    with pytest.raises(ValueError, match=sentence):
        check_column("crp", values)


def test_numbers_whose_squares_cannot_be_added_up_are_refused():
    for wrong, found in ((1e300, "1e\\+300"), (-1e200, "-1e\\+200")):
        values = TABLE.x[:, 2].copy()
        values[5] = wrong
        with pytest.raises(ValueError, match=f"1 rows of 'crp', first {found} in data row 6 of 120. Give them in another unit"):
            prepare(beside(crp=values), TABLE.y, TABLE.site)
        with pytest.raises(ValueError, match="data row 6 of 120"):
            encoding_of({"crp": values}).encoded({"crp": values})
    with pytest.raises(ValueError, match="120 rows of 'y', first"):
        prepare(beside(), TABLE.x[:, 2] * 1e200, TABLE.site)
    large = prepare(beside(crp=TABLE.x[:, 2] * 1e149), TABLE.y, TABLE.site)
    assert np.isfinite(Scaling.of(large.x).applied(large.x)).all()


def test_numbers_with_a_unit_behind_are_no_categories():
    for doses in ([f"{row % 30}%" for row in range(120)], [f"{row % 40 / 10} mg" for row in range(120)]):
        values = np.array([*doses, None], dtype=object)
        with pytest.raises(ValueError, match=r"behind in 'dose', such as '0.*Write the numbers alone"):
            check_strays("dose", values)
    for codes in ([f"{row % 4}mg" for row in range(120)], [f"{row % 40}{'abcd'[row % 4]}" for row in range(120)]):
        values = np.array(codes, dtype=object)
        check_strays("dose", values)


def test_a_time_may_be_missing_and_underscores_make_no_numbers():
    assert is_missing(np.array(["2021-03-01", "NaT"], dtype="datetime64[D]")).tolist() == [False, True]
    assert [is_number(text) for text in ("1_1", "1.5", "x")] == [False, True, False]

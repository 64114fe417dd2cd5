import re

import numpy as np
import pytest

from mechlearn.tables import AgreementClassifier, AgreementRegressor, DistilledClassifier, DistilledRegressor
from mechlearn.tables.reading_in import check_target, prepare
from site_tables import cells, small

TABLE = small()
N = len(TABLE.y)

DISTINCT = np.arange(N) / 8


def test_targets_say_what_they_are():
    assert prepare(TABLE.x, TABLE.y, TABLE.site).classes == (0, 1)
    assert prepare(TABLE.x, np.where(TABLE.y, "ill", "well"), TABLE.site).classes == ("ill", "well")
    assert prepare(TABLE.x, TABLE.y == 1, TABLE.site).classes == ("False", "True")
    assert prepare(TABLE.x, TABLE.x[:, 0], TABLE.site).task == "regression"
    assert prepare(TABLE.x, TABLE.y, TABLE.site, task="regression").classes is None


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
            rf"numbers in 119 of 120 filled cells of 'days', .* '{re.escape(text)}' in data row 4. Mend these cells.* or leave "
        )
        with pytest.raises(ValueError, match=found + r"their rows out; .* \(--task classification\)"):
            check_target(target, "days")
        with pytest.raises(ValueError, match="of 'y', and texts in the others"):
            prepare(TABLE.x, target, TABLE.site)
        check_target(target, "days", "classification")
    assert prepare(TABLE.x, cells(TABLE.y, r3="?"), TABLE.site, "classification").classes == ("0", "1", "?")
    assert prepare(TABLE.x, np.where(TABLE.y, "1", "0"), TABLE.site).classes == ("0", "1")


class NAType:
    """As pandas' NA: neither true nor false, and equal to nothing."""

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    def __eq__(self, other):
        return self

    __hash__ = None


class Nullable:
    """A column of a data frame that may hold gaps, as pandas' string dtype has it."""

    class dtype:  # noqa: N801
        kind = "O"

    def __init__(self, cells):
        self.cells = np.array(cells, dtype=object)

    def __len__(self):
        return len(self.cells)

    def __array__(self, dtype=None, copy=None):
        return self.cells.astype(dtype or object)


ESTIMATORS = [AgreementClassifier, AgreementRegressor, DistilledClassifier, DistilledRegressor]


@pytest.mark.parametrize("gap", [NAType(), None, float("nan")], ids=["NA", "None", "NaN"])
@pytest.mark.parametrize("texts", [True, False], ids=["texts", "numbers"])
@pytest.mark.parametrize("wrap", [list, Nullable, lambda cells: np.array(cells, dtype=object)], ids=["list", "column", "array"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gaps_in_a_target_are_refused_in_a_sentence(estimator, wrap, texts, gap):
    """A NaN among texts of a list became a class, and pandas' NA ended in its own words."""
    cells = ["yes" if y else "no" for y in TABLE.y] if texts else [int(y) for y in TABLE.y]
    cells[3] = gap
    with pytest.raises(ValueError, match=r"`y` should be known in every row. Found 1 missing, first in row 4 of 120.*Leave"):
        estimator().fit(TABLE.x, wrap(cells))


def test_columns_without_gaps_are_as_arrays():
    cells = ["yes" if y else "no" for y in TABLE.y]
    made = AgreementClassifier(steps=5, random_state=0)
    found = [made.fit(TABLE.x, y, groups=TABLE.site).coef_ for y in (cells, Nullable(cells), np.array(cells))]
    assert all(np.array_equal(one, found[0]) for one in found)

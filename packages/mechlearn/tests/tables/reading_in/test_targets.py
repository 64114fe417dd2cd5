import re

import numpy as np
import pytest

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
            rf"numbers in 119 of 120 filled cells of 'days', .* '{re.escape(text)}' in data row 4. Mend these cells or leave "
        )
        with pytest.raises(ValueError, match=found + r"their rows out; .* \(--task classification\)"):
            check_target(target, "days")
        with pytest.raises(ValueError, match="of 'y', and texts in the others"):
            prepare(TABLE.x, target, TABLE.site)
        check_target(target, "days", "classification")
    assert prepare(TABLE.x, cells(TABLE.y, r3="?"), TABLE.site, "classification").classes == ("0", "1", "?")
    assert prepare(TABLE.x, np.where(TABLE.y, "1", "0"), TABLE.site).classes == ("0", "1")

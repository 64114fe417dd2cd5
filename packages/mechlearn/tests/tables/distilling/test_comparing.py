from dataclasses import replace

import numpy as np
import pytest

from mechlearn.tables.distilling.comparing import ALWAYS, CANDIDATES, IN_TIME, Asked, compare_taught, fitted, splits_of
from mechlearn.tables.fitting import Training
from mechlearn.tables.reading_in import columns_of, encoding_of, prepare
from mechlearn.tables.saving.models import Model
from mechlearn.tables.saving.parts import Parts

QUICK = Training(hidden=4, steps=8)


def asked(classes=2, rows=60, steps=1):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 6)) * 5 + 20
    known = x[:, :2] + 0.1 * rng.normal(size=(rows, 2))
    y = known.sum(1) + rng.normal(size=rows)
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    return Asked(prepare(x, y, np.arange(rows) % 2), [known + step for step in range(steps)], training=QUICK)


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_what_is_kept_says_what_was_fitted(name, classes):
    given = asked(classes, steps=2)
    found, columns = fitted(given, name), columns_of(given.table.x)
    model = Model(encoding_of(columns), given.table.classes, found.arrays, found.scores, {})
    outputs = found.says(given.table.x)
    np.testing.assert_allclose(model.outputs(columns), outputs, atol=1e-9)
    assert outputs.shape == given.table.y.shape
    if classes:
        np.testing.assert_allclose(outputs.sum(1), 1, atol=1e-6)
    else:
        assert abs(outputs.mean() - given.table.y.mean()) < 3 * given.table.y.std()


@pytest.mark.parametrize(("name", "share"), [("ridge", 0.9), ("vote", 0.9), ("network", 1.0)])
def test_copies_do_not_choose_the_strength(name, share):
    """Each row four times: with folds by groups the choice is that of single rows, not of what copies betray."""
    random = np.random.default_rng(0)
    x, whose = random.normal(size=(40, 60)), np.repeat(np.arange(40), 4)
    y = x[:, 0] + 2 * random.normal(size=40)
    table, known = prepare(x[whose], y[whose], np.arange(160) % 2), [x[whose, :2]]
    plain, together = (Asked(table, known, training=Training(8, 100, None, patience=3), whose=one) for one in (None, whose))
    fresh = random.normal(size=(1000, 60))
    said = [CANDIDATES[name](one.rows(np.arange(160))).says(fresh)[:, 0] for one in (plain, together)]
    by_rows, by_groups = (np.mean((prediction - fresh[:, 0]) ** 2) for prediction in said)
    assert by_groups < share * by_rows


def test_of_too_few_groups_rows_choose():
    given = replace(asked(0), whose=np.arange(60) % 3)
    assert given.rows(np.arange(60)).whose is not None
    assert given.rows(np.flatnonzero(given.whose > 0)).whose is None


def test_a_held_out_row_has_no_part():
    given = asked(0)
    changed = asked(0)
    rows = np.arange(50)
    changed.table.x[55:] += 100.0
    for name in ("ridge", "auxiliary head", "LDT"):
        first, second = (CANDIDATES[name](one.rows(rows)).says(given.table.x[50:]) for one in (given, changed))
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("classes", [0, 2])
def test_rows_of_one_are_in_one_fold(classes):
    given = replace(asked(classes), whose=np.arange(60) % 7)
    splits = splits_of(given, 5)
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(60))
    assert not any(np.isin(given.whose[test], given.whose[train]).any() for train, test in splits)
    assert len(splits) == 5
    assert len(splits_of(given, 10)) == 7
    told = []
    found = compare_taught(given, 10, 1e-9, lambda done, total: told.append(total))
    assert {len(scores) for scores in found.scores.values()} == {7}
    assert set(told) == {7 * (len(CANDIDATES) - 1)}


@pytest.mark.filterwarnings("error")
def test_a_fold_of_one_class_has_a_score():
    found = compare_taught(replace(asked(2), whose=asked(2).table.labels), 2, 1e-9)
    assert all(0 <= score <= 100 for scores in found.scores.values() for score in scores)


def test_a_budget_leaves_out_what_is_slow_and_results_are_kept(tmp_path):
    told = []
    parts = Parts(tmp_path)
    found = compare_taught(asked(), 3, 1e-9, lambda done, total: told.append((done, total)), parts)
    assert set(found.scores) == {*ALWAYS} - {IN_TIME}
    assert len(found.notes) == 5
    assert told[-1][0] <= told[-1][1] == 3 * (len(CANDIDATES) - 1)
    assert IN_TIME not in found.seconds
    again = Parts(tmp_path)
    repeated = compare_taught(asked(), 3, 1e-9, parts=again)
    assert repeated[:3] == found[:3]
    assert {name: both.tolist() for name, both in repeated.predictions.items()} == {
        name: both.tolist() for name, both in found.predictions.items()
    }
    assert again.found == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("grouped", [False, True])
def test_small_classes_have_fewer_folds(grouped):
    whose = np.arange(54) // 2 if grouped else None
    rows = np.random.default_rng(0).normal(size=(54, 3))
    small = Asked(prepare(rows, np.arange(54) % 6, np.arange(54) % 2), [rows], training=QUICK, whose=whose)
    assert len(splits_of(small, 10)) == 9
    assert len(splits_of(small, 8)) == 8
    large = Asked(prepare(rows, np.arange(54) % 5, np.arange(54) % 2), [rows], training=QUICK, whose=whose)
    assert len(splits_of(large, 10)) == 10


def test_classes_of_one_row_each_are_refused():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    table = prepare(rows, np.arange(50), np.arange(50) % 2, "classification")
    with pytest.raises(ValueError, match="Found one row of each of 50 classes"):
        splits_of(Asked(table, [rows]), 10)

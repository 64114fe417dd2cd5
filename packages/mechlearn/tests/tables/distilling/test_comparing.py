from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from mechlearn.tables.distilling import comparing
from mechlearn.tables.distilling.comparing import CANDIDATES, IN_TIME, Asked, compare_taught, fitted, splits_of
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


@pytest.fixture
def few(monkeypatch):
    """Compare closed forms only: folds, scores and budget are the same for all. Time is estimated by what is called LDT."""
    some = {name: CANDIDATES[name] for name in ("ridge", "logistic", IN_TIME)}
    monkeypatch.setattr(comparing, "CANDIDATES", some | {"LDT": CANDIDATES["ridge"]})


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_what_is_kept_says_what_was_fitted(name, classes):
    if name == "logistic" and not classes:
        return
    given = asked(classes, steps=2)
    found, columns = fitted(given, name), columns_of(given.table.x)
    model = Model(encoding_of(columns), given.table.classes, found.arrays, found.scores, {}, found.estimator)
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
    assert given.rows(np.arange(60)).lessons.whose is not None
    assert given.rows(np.flatnonzero(given.whose > 0)).lessons.whose is None


def test_a_held_out_row_has_no_part():
    given = asked(0)
    changed = asked(0)
    rows = np.arange(50)
    changed.table.x[55:] += 100.0
    for name in ("ridge", "auxiliary head", "LDT"):
        first, second = (CANDIDATES[name](one.rows(rows)).says(given.table.x[50:]) for one in (given, changed))
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("classes", [0, 2])
def test_rows_of_one_are_in_one_fold(classes, few):
    given = replace(asked(classes), whose=np.arange(60) % 7)
    splits = splits_of(given, 5)
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(60))
    assert not any(np.isin(given.whose[test], given.whose[train]).any() for train, test in splits)
    assert len(splits) == 5
    assert len(splits_of(given, 10)) == 7
    told = []
    found = compare_taught(given, 10, 1e-9, lambda done, total: told.append(total))
    assert {len(scores) for scores in found.scores.values()} == {3}  # the budget
    assert set(told) == {7 * (3 if classes else 2)}


@pytest.mark.filterwarnings("error")
def test_a_fold_of_one_class_has_no_score(few):
    whose = np.where(asked(2).table.labels > 0, 0, 1 + np.arange(60) % 2)
    one_class = replace(asked(2), whose=np.where(np.arange(60) < 12, 3, whose))
    found = compare_taught(one_class, 4)
    assert {len(scores) for scores in found.scores.values()} == {1}


def test_a_short_budget_leaves_no_candidate_out_and_results_are_kept(tmp_path):
    told = []
    parts = Parts(tmp_path)
    found = compare_taught(asked(), 5, 1e-9, lambda done, total: told.append((done, total)), parts)
    assert set(found.scores) == {*CANDIDATES} - {IN_TIME}
    assert found.notes == ["The budget allowed 1 of 6 settings for each network, and 3 of 5 folds; --budget gives more."]
    assert told[-1] == (50, 50)
    again = Parts(tmp_path)
    repeated = compare_taught(asked(), 5, 1e-9, parts=again)
    assert repeated[:3] == found[:3]
    for name, both in repeated.predictions.items():
        np.testing.assert_array_equal(both, found.predictions[name])
    assert again.found == len(list(tmp_path.iterdir()))


def test_rows_held_out_are_judged_by_auc_and_r_squared(few):
    for classes in (0, 2):
        given = asked(classes)
        found = compare_taught(given, 3, 1e-9)
        train, test = splits_of(given, 3)[0]
        said = CANDIDATES["ridge"](given.rows(train)).says(given.table.x[test])
        labels = given.table.labels
        wanted = (
            roc_auc_score(labels[test], said[:, 1]) if classes else 1 - np.mean((said[:, 0] - labels[test]) ** 2) / labels.var()
        )
        assert found.scores["ridge"][0] == pytest.approx(100 * wanted)


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

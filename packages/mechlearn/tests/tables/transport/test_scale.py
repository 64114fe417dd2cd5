"""What must not depend on a target's unit, and scores of all rows together."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.scores import balanced_accuracy, calibration_slope, slope_of
from mechlearn.tables.transport.evaluation import Trials, on_sites
from mechlearn.tables.transport.learners import simple_learners
from mechlearn.tables.transport.methods import independent
from mechlearn.tables.transport.random_effects import Prior, SiteRows, effects, prior_of
from mechlearn.tables.transport.room import room
from mechlearn.tables.transport.scored import scored


def test_a_target_in_another_unit_moves_as_far_in_that_unit():
    rng = np.random.default_rng(0)
    levels = rng.normal(size=10)
    each = [SiteRows(np.ones((30, 1)), rng.normal(size=30), level + rng.normal(size=30)) for level in levels]
    far = [SiteRows(one.z, 1e5 * one.offset, one.offset * 1e5 + 1e5 * (one.y - one.offset)) for one in each]
    near, moved = prior_of(each, False), prior_of(far, False)
    assert moved.variances == pytest.approx(1e10 * near.variances)
    assert effects(far[0], moved) == pytest.approx(1e5 * effects(each[0], near))
    assert abs(effects(far[0], moved)[0]) > 4


def test_of_classes_a_far_step_still_settles():
    rows = SiteRows(np.ones((4, 1)), np.full(4, -9.0), np.ones(4))
    found = effects(rows, Prior(np.array([100.0]), None))
    slope = np.sum(rows.y - 1 / (1 + np.exp(-(rows.offset + found)))) - found[0] / 100
    assert slope == pytest.approx(0, abs=1e-6)


def test_balanced_accuracy_cuts_at_the_shares():
    rng = np.random.default_rng(1)
    labels = (rng.random(200) < 0.2).astype(int)
    shares = np.clip(0.2 + 0.1 * labels + 0.1 * rng.normal(size=200), 0.01, 0.99)
    said = np.column_stack([1 - shares, shares])
    cut = shares > labels.mean()
    assert balanced_accuracy(labels, said) == pytest.approx(balanced_accuracy_score(labels, cut))
    assert balanced_accuracy(np.zeros(200, dtype=int), said) is None
    assert balanced_accuracy(labels.astype(float), shares) is None


def test_the_calibration_slope_is_that_of_the_second_class():
    rng = np.random.default_rng(2)
    logits = rng.normal(size=400)
    labels = (rng.random(400) < 1 / (1 + np.exp(-logits))).astype(int)
    sure = 1 / (1 + np.exp(-2 * logits))
    found = calibration_slope(labels, np.column_stack([1 - sure, sure]))
    literal = LogisticRegression(C=1e9).fit(2 * logits[:, None], labels).coef_[0, 0]
    assert found == pytest.approx(literal, rel=1e-3)
    assert found < 0.8
    assert calibration_slope(labels, np.full((400, 2), np.nan)) is None
    assert slope_of(logits, 3 * logits, False) == pytest.approx(3)


def test_where_no_rows_of_its_own_are_best_the_interval_still_has_a_width():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(192, 12))  # what few rows of many columns say of their own is noise
    table = prepare(x, x[:, 0] + 2 * rng.normal(size=192), np.repeat([f"s{place}" for place in range(8)], 24), "regression")
    trials = Trials(table, simple_learners(["linear"], "regression", 0), [], np.random.default_rng(0), lambda: None)
    found = room(trials, on_sites(trials, [[place] for place in range(8)]))
    assert 0 in found.weights.values()
    assert found.interval.low <= 0 <= found.interval.high
    assert found.interval.high > found.interval.low


def test_columns_that_others_make_up_are_left_out():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 2))
    level = np.eye(2)[rng.integers(2, size=20)]
    every = np.hstack([np.ones((20, 1)), x, level, np.zeros((20, 1))])
    kept = independent(every)
    assert len(kept) == 4
    assert np.linalg.matrix_rank(every[:, kept]) == 4


def test_one_prediction_for_a_site_has_no_slope_and_nothing_to_cut():
    rng = np.random.default_rng(3)
    table = prepare(rng.normal(size=(90, 2)), rng.integers(2, size=90), np.repeat(["A", "B", "C"], 30))
    rates = np.repeat([0.4, 0.5, 0.6], 30)
    level = np.column_stack([1 - rates, rates])
    found = scored(table, range(3), level, level)
    assert (found.balanced, found.slope, found.mean) == (None, None, 0.5)
    level[0] = (0.3, 0.7)
    assert scored(table, range(3), level, level).balanced is not None

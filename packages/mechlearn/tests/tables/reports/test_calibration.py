import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.reports.calibration import CHOSEN, calibrated, curve, pairs_of


def table(classes, sites=3, rows=400, seed=0):
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(sites), rows)
    logits = rng.normal(size=(sites * rows, classes)) * 1.5
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    y = np.array([rng.choice(classes, p=one) for one in p])
    return prepare({"x": logits[:, 0]}, y, site), p


def test_probabilities_that_are_true_have_slope_one_and_no_gap():
    asked, p = table(2)
    found = calibrated(asked, p, "m")["calibration"]
    assert found["event"] == "1"
    for one in found["sites"]:
        assert one["slope"] == pytest.approx(1, abs=0.3)
        assert abs(one["said"] - one["found"]) < 0.08
        assert one["rows"] == 400


def test_a_model_too_sure_has_a_slope_below_one_as_logistic_regression_says():
    asked, p = table(2)
    sure = p**3 / (p**3).sum(1, keepdims=True)
    pairs = pairs_of(asked, sure)
    slope = calibrated(asked, sure, "m")["calibration"]["sites"][0]["slope"]
    rows = asked.site == 0
    logits = np.log(pairs.said / (1 - pairs.said))[rows, None]
    literal = LogisticRegression(C=1e6, max_iter=1000, tol=1e-10).fit(logits, pairs.found[rows])
    assert slope == pytest.approx(float(literal.coef_[0, 0]), rel=1e-2)
    assert slope < 0.5


def test_of_three_classes_it_is_the_chosen_one_and_rows_not_judged_are_left_out():
    asked, p = table(3)
    p[asked.site == 1] = np.nan
    found = calibrated(asked, p, "m")["calibration"]
    assert found["event"] == CHOSEN
    assert [one["name"] for one in found["sites"]] == ["0", "2"]
    assert len(curve(pairs_of(asked, p))) == 8


def test_numbers_and_few_rows():
    rng = np.random.default_rng(0)
    y = rng.normal(size=120)
    asked = prepare({"x": y}, y, np.arange(120) % 3)
    prediction = np.full((120, 1), np.nan)
    prediction[asked.site < 2] = 0.5 * asked.y[asked.site < 2] + 1
    prediction[asked.site == 2] = 3.0
    one, two, constant = calibrated(asked, prediction, "m")["calibration"]["sites"]
    assert one["slope"] == pytest.approx(2)
    assert two["said"] == pytest.approx(0.5 * two["found"] + 1)
    assert constant["slope"] is None
    prediction[np.flatnonzero(asked.site == 0)[5:]] = np.nan
    assert calibrated(asked, prediction, "m")["calibration"]["sites"][0]["slope"] is None


def test_probabilities_are_compared_as_they_are_and_numbers_are_cut_off():
    asked, p = table(2)
    assert pairs_of(asked, p).said == pytest.approx(p[:, 1])
    beyond = np.column_stack([1 - 1.2 * np.ones(1200), 1.2 * np.ones(1200)])
    assert pairs_of(asked, beyond).said == pytest.approx(np.ones(1200))


def test_a_model_that_says_nearly_the_same_has_a_large_slope_and_one_that_errs_never_none():
    asked, p = table(2, sites=2, rows=200)
    timid = 0.5 + 0.005 * (p - 0.5)
    slope = calibrated(asked, timid, "m")["calibration"]["sites"][0]["slope"]
    first = asked.site == 0
    said = pairs_of(asked, timid).said[first]
    literal = LogisticRegression(C=1e12, max_iter=1000, tol=1e-10)
    logits = np.log(said / (1 - said))[:, None]
    literal.fit((logits - logits.mean()) / logits.std(), asked.y[first, 1])
    assert slope == pytest.approx(float(literal.coef_[0, 0] / logits.std()), rel=1e-2)
    assert slope > 50
    right = np.where(asked.y > 0, 0.6, 0.4) + 0.1 * p * asked.y
    assert calibrated(asked, right / right.sum(1, keepdims=True), "m")["calibration"]["sites"][0]["slope"] is None

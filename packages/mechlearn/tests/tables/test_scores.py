import numpy as np
import pytest

from mechlearn.tables.scores import error, score
from transport_oracles import auc_by_pairs, r_squared


def shares(rng, rows, classes):
    said = rng.random((rows, classes)).round(1) + 0.05
    return said / said.sum(1, keepdims=True)


def test_auc_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    labels, said = rng.integers(2, size=40), shares(rng, 40, 2)
    assert score(labels, said) == pytest.approx(auc_by_pairs(labels == 1, said[:, 1]))


def test_auc_of_classes_is_the_mean_over_those_at_hand():
    rng = np.random.default_rng(1)
    labels, said = 2 * rng.integers(2, size=40), shares(rng, 40, 3)
    assert score(labels, said) == pytest.approx(np.mean([auc_by_pairs(labels == one, said[:, one]) for one in (0, 2)]))


def test_one_class_one_value_or_a_gap_leaves_it_undefined():
    said = np.array([[0.2, 0.8], [0.3, 0.7]])
    assert score(np.array([1, 1]), said) is None
    assert error(np.array([1, 1]), said) == pytest.approx(-np.log(0.56) / 2)
    assert score(np.array([2.0, 2.0]), np.array([1.0, 2.0])) is None
    assert score(np.array([0, 1]), np.array([[0.5, 0.5], [np.nan, np.nan]])) is None
    assert np.isnan(error(np.array([0, 1]), np.array([[0.5, 0.5], [np.nan, np.nan]])))


def test_a_certainty_that_is_wrong_has_a_finite_loss():
    assert error(np.array([0]), np.array([[0.0, 1.0]])) == pytest.approx(-np.log(1e-15))


def test_numbers():
    labels, said = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0])
    assert score(labels, said) == pytest.approx(r_squared(labels, said))
    assert error(labels, said) == pytest.approx(np.sqrt(2 / 3))

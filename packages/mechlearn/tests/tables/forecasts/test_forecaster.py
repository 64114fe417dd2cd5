import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mechlearn.tables import SkipForecaster
from mechlearn.trajectories import Trajectories


@parametrize_with_checks([SkipForecaster(steps=3, horizon=3, window=4, batch_size=4)])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def swinging(count=20, length=30):
    """Points on circles, a twentieth of a turn a frame."""
    angle = np.linspace(0, 6, count)[:, None] + np.arange(length) * 2 * np.pi / 20
    return np.stack([np.cos(angle), np.sin(angle)], -1)


def test_it_learns_to_turn():
    data = swinging()
    model = SkipForecaster(horizon=1, steps=80, window=5, learning_rate=0.03, random_state=0).fit(data)
    ahead = model.predict(data[:, 0], n_steps=5)
    assert ahead.shape == (20, 5, 2)
    assert np.abs(ahead - data[:, 1:6]).mean() < 0.2 * np.abs(data[:, :1] - data[:, 1:6]).mean()
    assert model.mean_skip_ == 1
    assert model.history_[-1] < 0.1 * model.history_[0]


def test_a_longer_horizon_skips():
    assert SkipForecaster(horizon=4, steps=20, window=8, random_state=0).fit(swinging()).mean_skip_ > 1


def test_trajectories_of_any_form_are_the_same():
    data = swinging(6, 12)
    forms = [data, list(data), Trajectories.from_numpy(data.astype(np.float64), np.full(6, 12))]
    found = [SkipForecaster(steps=3, random_state=0).fit(form).predict(data[:, 0]) for form in forms]
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2], rtol=1e-5)


def test_lengths_may_differ():
    data = [swinging(1, length)[0] for length in (2, 5, 40)]
    assert SkipForecaster(steps=3).fit(data).predict(data[0][:1], 3).shape == (1, 3, 2)
    objects = np.empty(3, dtype=object)
    objects[:] = data
    found = [SkipForecaster(steps=3, random_state=0).fit(form).predict(data[0]) for form in (data, objects)]
    np.testing.assert_array_equal(*found)


def test_refusals():
    data = swinging(2, 8)
    with pytest.raises(ValueError, match="horizon"):
        SkipForecaster(horizon=0).fit(data)
    with pytest.raises(TypeError, match="steps"):
        SkipForecaster(steps=1.5).fit(data)
    for form in (dict(enumerate(data)), (one for one in data), set()):
        with pytest.raises(TypeError, match=r"list of \(T, D\) arrays.* Found (dict|generator|set)\. Put the trajectories"):
            SkipForecaster(steps=2).fit(form)
    with pytest.raises(ValueError, match="minimum of 2"):
        SkipForecaster().fit([data[0, :1]])
    with pytest.raises(ValueError, match="features"):
        SkipForecaster(steps=2).fit(data).predict(np.ones((1, 3)))
    with pytest.raises(ValueError, match="n_steps"):
        SkipForecaster(steps=2).fit(data).predict(data[:, 0], 0)


@pytest.mark.parametrize(("matching", "horizon"), [("fixed", 3), ("relative", 4), ("greedy", 4)])
def test_evaluations_are_the_same_whatever_the_skips(matching, horizon):
    model = SkipForecaster(
        matching=matching, horizon=horizon, evaluations=40, steps=30, window=13, sampling=0.5, random_state=0
    )
    model.fit(swinging())
    assert model.evaluations_ == pytest.approx(30 * 40, rel=0.3)
    assert 1 <= model.mean_skip_ <= horizon
    if matching == "fixed":
        assert model.mean_skip_ == 3


def test_a_matching_of_another_name_is_refused():
    with pytest.raises(ValueError, match="matching"):
        SkipForecaster(matching="soft").fit(swinging(2, 8))
    with pytest.raises(ValueError, match="sampling"):
        SkipForecaster(sampling=2).fit(swinging(2, 8))


def test_fixed_steps_are_all_of_one_length():
    model = SkipForecaster(horizon=10, matching="fixed", steps=3, random_state=0).fit(swinging())  # a window of 16
    assert model.mean_skip_ == 10
    short = [swinging(1, length)[0] for length in (4, 10, 11, 30)]
    assert SkipForecaster(horizon=10, matching="fixed", steps=3, random_state=0).fit(short).mean_skip_ == 10
    with pytest.raises(ValueError, match=r"more than horizon = 10 frames where steps are fixed\. Found 10 at most"):
        SkipForecaster(horizon=10, matching="fixed", steps=3).fit(short[:2])


@pytest.mark.parametrize("matching", ["fixed", "relative", "greedy"])
def test_a_horizon_beyond_the_window_is_refused(matching):
    with pytest.raises(ValueError, match=r"`horizon` should be below `window`.* Found horizon = 16 and window = 16"):
        SkipForecaster(horizon=16, matching=matching).fit(swinging(2, 40))

import numpy as np
import pytest

from mechlearn.tables.reading import Recorded
from mechlearn.tables.reports import Question, skips_answer, trajectories


@pytest.mark.parametrize(
    ("shape", "ahead", "sentence"),
    [
        ((20, 1, 2), None, "at least 3 frames. Found one of 1. Leave short ones out"),
        ((19, 8, 2), None, "at least 20 trajectories. Found 19"),
        ((20, 8, 2), 8, "more than 8 frames"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_trained(monkeypatch, shape, ahead, sentence):
    monkeypatch.setattr(trajectories, "SkipForecaster", None)
    with pytest.raises(ValueError, match=sentence):
        skips_answer(Recorded(("x0", "x1"), list(np.ones(shape))), Question("", budget=1.0), ahead)


def test_seconds_are_asked_of_short_trajectories_too():
    frames = list(np.random.default_rng(0).normal(size=(20, 3, 2)))  # shorter than the horizon that is tried on long ones
    assert trajectories._affordable(Recorded(("x0", "x1"), frames), Question("", budget=1e-9)) == 20


def test_a_ridge_that_is_kept_predicts_as_it_was_judged():
    """A rotation, which a line through two states does not know, and a linear map does."""
    turned = np.array([[0.8, -0.6], [0.6, 0.8]])
    frames = list(np.random.default_rng(0).normal(size=(24, 1, 2)))
    for _ in range(5):
        frames = [np.concatenate([one, one[-1:] @ turned.T]) for one in frames]
    answer = skips_answer(Recorded(("a", "b"), frames), Question("", budget=1e-9), 2)
    assert answer.facts["kept"].startswith("ridge on the state (")
    table = {name: np.array([one[0, place] for one in frames]) for place, name in enumerate("ab")}
    said = answer.model.states(table, int(answer.model.facts["steps"]))
    np.testing.assert_allclose(said[:, -1], [one[2] for one in frames], atol=0.01)

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

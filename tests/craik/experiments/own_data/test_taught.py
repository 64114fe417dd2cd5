"""Networks on a small table learn from inputs alone; how they are trained is tested where the estimators are."""

from dataclasses import replace

import numpy as np
import pytest

from craik.estimators.distilling import students
from craik.experiments.own_data import comparing


@pytest.fixture
def known():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    privileged = x[:, :2] + 0.1 * rng.normal(size=(60, 2))
    return comparing.Known(x, privileged, 5 + 10 * privileged.sum(1, keepdims=True))


def test_all_three_learn_from_inputs_alone(known, monkeypatch):
    monkeypatch.setattr(students, "TRAINING", replace(students.TRAINING, steps=64))
    found = comparing.fitted(known, seed=0)
    assert set(found) == {"network", "auxiliary head", "LDT"}
    error = {name: ((predict(known.x) - known.y) ** 2).mean() for name, predict in found.items()}
    assert all(value < known.y.var() for value in error.values())
    assert error["auxiliary head"] < 0.2 * known.y.var()

"""Training by stable-baselines3, which is in an extra of its own, on a simulator that is easy to predict."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from craik.tasks.coinrun import expert as experts

pytest.importorskip("stable_baselines3")

TRAINING = experts.Training(steps=32, games=2, rollout=8, epochs=1, batch=8)


@pytest.fixture
def python(tmp_path):
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("fake_simulator.py")} "$@"\n')
    fake.chmod(0o755)
    return fake


def test_an_expert_is_trained_saved_and_trained_on(python, tmp_path):
    kept = []
    first = experts.train(python, TRAINING, keep=lambda expert: kept.append(expert.steps))
    assert (first.steps, kept) == (32, [16, 32])
    experts.save(first, tmp_path / "expert.pt")
    start = experts.load(tmp_path / "expert.pt")
    frames = np.random.default_rng(0).integers(0, 256, (3, 64, 64, 3)).astype(np.uint8)
    torch.testing.assert_close(start.probabilities(frames), first.probabilities(frames))
    weights = [weight.clone() for weight in start.policy.parameters()]
    further = experts.train(python, TRAINING, start=start)
    assert further.steps == 64
    assert further.seconds > start.seconds
    assert all(torch.equal(a, b) for a, b in zip(weights, start.policy.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights, further.policy.parameters(), strict=True))

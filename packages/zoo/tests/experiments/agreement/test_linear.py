from dataclasses import replace

import numpy as np
import pytest
import torch

from claimlab import Rows, judge
from mechlearn.agreement import AndMask, Mean
from mechlearn_zoo.experiments.agreement.linear import EXPERIMENT
from mechlearn_zoo.experiments.agreement.linear import run as linear
from mechlearn_zoo.experiments.agreement.linear.linear_units import linear_units

CONFIG = EXPERIMENT.presets["quick"].config
SHORT = replace(CONFIG, steps=800, decay=1.0)  # comes as far as 3001 steps whose size falls


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0,) for row in linear.run(replace(SHORT, seed=seed)))


def test_averaging_ends_in_the_ridge_solution():
    """With decoupled decay w the fixed point solves (X^T X / E + w) theta = X^T y / E."""
    x = linear_units(0.0, torch.Generator())[:2]
    *_, theta = linear.descend(Mean(), torch.zeros(5, dtype=torch.float64), x, replace(CONFIG, steps=4000, decay=1.0))
    expected = torch.linalg.solve(x.T @ x / 2 + 0.01 * torch.eye(5), x.mean(0))
    # A step decays the weights after the gradient: the fixed point differs by the product of both.
    torch.testing.assert_close(theta, expected, rtol=5e-3, atol=1e-4)


def test_the_first_masked_step_by_hand():
    x, theta = linear_units(0.0, torch.Generator()), torch.full((5,), 0.1, dtype=torch.float64)
    _, after, *_ = linear.descend(AndMask(1.0), theta, x, CONFIG)
    rate, residual = 0.3 * 0.9995, 0.3 + 0.03 - 1
    expected = np.array([0.1] * 4 + [0.1 - rate * residual * 0.3]) * (1 - 0.01 * rate)
    assert after.tolist() == pytest.approx(expected.tolist())


def test_all_claims_hold(rows):
    assert {judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims} == {"holds so far"}


def test_rows_repeat_and_draw(rows):
    short = replace(CONFIG, steps=20, noise=0.001)
    assert list(linear.run(short)) == list(linear.run(short)) != list(linear.run(replace(short, seed=1)))
    assert list(EXPERIMENT.figures(rows)) == ["weights"]
    assert EXPERIMENT.progress(SHORT, rows[-1])[0] == 1

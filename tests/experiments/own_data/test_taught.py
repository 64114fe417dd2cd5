"""Networks on a small table: what is seen, what is chosen, what is predicted."""

import numpy as np
import pytest
import torch
from torch import nn

from craik.experiments.own_data import taught
from craik.nn.stacks import Stack


@pytest.fixture
def known():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    privileged = x[:, :2] + 0.1 * rng.normal(size=(60, 2))
    return taught.Known(x, privileged, 5 + 10 * privileged.sum(1, keepdims=True))


def test_all_three_learn_from_inputs_alone(known, monkeypatch):
    monkeypatch.setattr(taught, "ROUNDS", 4)
    monkeypatch.setattr(taught, "STEPS", 64)
    monkeypatch.setattr(taught, "ALPHAS", (1.0,))
    monkeypatch.setattr(taught, "RATES", (1e-2,))
    found = taught.fitted(known, seed=0)
    assert set(found) == {"network", "auxiliary head", "LDT"}
    error = {name: ((predict(known.x) - known.y) ** 2).mean() for name, predict in found.items()}
    assert all(value < known.y.var() for value in error.values())
    assert error["auxiliary head"] < 0.2 * known.y.var()


def test_rows_left_out_are_a_third_and_apart(known):
    prepared = taught.prepare(known, seed=3)
    assert len(prepared.split.validation) == 20
    assert sorted([*prepared.split.training.tolist(), *prepared.split.validation.tolist()]) == list(range(60))
    assert float(prepared.examples.y.std(correction=0)) == pytest.approx(1)


def test_the_head_is_the_further_outputs(known):
    prepared = taught.prepare(known, seed=0)
    stack = Stack([nn.Linear(3, 3), nn.Linear(3, 3)])
    rows = torch.tensor([0, 5, 7])
    labels, head = taught._losses(stack, prepared, rows)
    x, privileged, y = prepared.examples.rows(rows)
    for member in range(2):
        outputs = stack.member(member)(x)
        torch.testing.assert_close(labels[member], (outputs[:, 0] - y[:, 0]).square().mean())
        torch.testing.assert_close(head[member], (outputs[:, 1:] - privileged).square().mean())


def test_the_best_look_is_kept_as_it_was(known):
    prepared = taught.prepare(known, seed=0)
    network = nn.Linear(3, 1)

    def run():
        for loss, weight in ((2.0, 1.0), (1.0, 2.0), (float("nan"), 3.0)):
            nn.init.constant_(network.weight, weight)
            nn.init.zeros_(network.bias)
            yield taught.Look(loss, network)

    predict = taught._best(prepared, iter([run()]))
    inputs = prepared.x.applied(known.x)
    np.testing.assert_allclose(predict(known.x)[:, 0], inputs.sum(1) * 2 * prepared.y.spread + prepared.y.mean, rtol=1e-4)


def test_without_any_finite_loss_it_is_the_mean(known):
    prepared = taught.prepare(known, seed=0)
    predict = taught._best(prepared, iter([iter([taught.Look(float("nan"), nn.Linear(3, 1))])]))
    np.testing.assert_allclose(predict(known.x), np.full((60, 1), known.y.mean()))

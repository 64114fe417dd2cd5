"""What a step reports: one number for all parameters, one for each, and which of them cost a pass."""

import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.agreement.engine.collected import overall, weaker
from one_layer import PAIRED, B, Doubled, noise


def test_the_share_of_all_weighs_parameters_by_their_size():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 1)).double()
    record = Agreement(model, AndMask(1.0)).backward((model(noise(B, 6))[:, 0] - 1) ** 2, PAIRED)
    counts = [int((p.grad != 0).sum()) for p in model.parameters()]
    assert 0 < record.share < 1
    assert record.share == pytest.approx(sum(counts) / sum(p.numel() for p in model.parameters()))
    assert record.slow == []


def test_parameters_that_cost_a_pass_are_slow():
    torch.manual_seed(0)
    first, second = nn.Linear(6, 5).double(), nn.Linear(5, 1).double()
    model = nn.ModuleList([first, second])
    losses = (second(Doubled.apply(first(noise(B, 6))))[:, 0] - 1) ** 2
    with pytest.warns(UserWarning, match="2 of 4 parameters take one backward pass for each environment"):
        record = Agreement(model, AndMask(0.5)).backward(losses, PAIRED)
    assert record.slow == ["0.weight", "0.bias"]


def test_a_mean_lets_everything_through():
    model = nn.Linear(6, 1).double()
    record = Agreement(model, Mean()).backward(model(noise(B, 6))[:, 0], PAIRED)
    assert (record.share, record.share_by_parameter, record.slow) == (1.0, {"weight": 1.0, "bias": 1.0}, [])


def test_of_no_components_all_survive():
    assert overall({}, {}) == overall({"none": 1.0}, {"none": torch.zeros(0)}) == 1.0


def test_the_weaker_of_two_words():
    assert weaker("checked", "proved") == "proved"
    assert weaker("declared", "checked") == "declared"
    assert weaker("checked", "checked") == "checked"

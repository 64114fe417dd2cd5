"""Graphs that are deep, or long on the way to one parameter."""

import pytest
import torch
from torch import nn

from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask
from one_layer import PAIRED, B, noise


class Learned(nn.Module):
    """A learned initial state, which passes through a recurrence without weights before an example comes in."""

    def __init__(self, steps):
        super().__init__()
        self.steps, self.first, self.last = steps, nn.Parameter(noise(5)), nn.Linear(5, 1).double()

    def forward(self, x):
        state = self.first
        for _ in range(self.steps):
            state = torch.tanh(1.5 * state)
        return self.last(x * state)[:, 0]


@pytest.mark.parametrize("steps", [1, 400, 5000])
def test_a_parameter_behind_many_operations(steps):
    model = Learned(steps)
    record = assert_definition(Agreement(model, AndMask(0.6)), (model(noise(B, 5)) - 1) ** 2, PAIRED)
    assert set(record.paths.values()) == {"layer"}

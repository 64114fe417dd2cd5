"""A second masked gradient that is added to a first is warned of, and nothing else is."""

import copy

import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask, Mean

IDS = [0, 0, 1, 1]


def made(rule):
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    return model, Agreement(model, rule)


def losses(model):
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    return model(x)[:, 0].square()


@pytest.mark.filterwarnings("error")
def test_a_second_masked_gradient_is_warned_of():
    model, agreement = made(AndMask(1.0))
    agreement.backward(losses(model), IDS)
    first = model.weight.grad.clone()
    with pytest.warns(UserWarning, match=r"second masked gradient added to a first.*Call `accumulate`"):
        agreement.backward(losses(model), IDS)
    assert torch.equal(model.weight.grad, 2 * first)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("to_none", [True, False])
def test_a_gradient_that_was_cleared_is_not(to_none):
    model, agreement = made(AndMask(1.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        agreement.backward(losses(model), IDS)
        optimizer.step()
        optimizer.zero_grad(set_to_none=to_none)


@pytest.mark.filterwarnings("error")
def test_nor_means_nor_micro_batches_nor_a_copy():
    model, agreement = made(Mean())
    agreement.backward(losses(model), IDS)
    agreement.backward(losses(model), IDS)
    model, agreement = made(AndMask(1.0))
    agreement.accumulate(losses(model), [2, 2, 3, 3])
    agreement.backward(losses(model), IDS)
    other = copy.deepcopy(agreement)
    other.backward(losses(other.model), IDS)

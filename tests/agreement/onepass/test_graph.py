import pytest
import torch
from torch import nn

from craik.agreement.onepass.graph import walk


def reads(model, losses):
    found = walk(losses.grad_fn)
    return {name: found.counts[id(parameter)] for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("shape", [(4, 5), (4, 3, 5)])
def test_each_operation_that_reads_a_parameter_counts_once(shape):
    model = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 5))
    x = torch.ones(shape)
    assert set(reads(model, model(x).sum()).values()) == {1}
    assert set(reads(model, (model(x) + model(2 * x)).sum()).values()) == {2}


def test_reads_outside_a_layers_call_count_too():
    model = nn.Linear(5, 5)
    loss = model(torch.ones(4, 5)).sum() + model.weight.norm() + model.weight.T.sum()
    assert reads(model, loss) == {"weight": 3, "bias": 1}


def test_a_cast_that_autocast_shares_between_uses_hides_none():
    model = nn.Linear(5, 5)
    with torch.autocast("cpu", torch.bfloat16):
        loss = (model(torch.ones(4, 5)) + model(torch.ones(4, 5))).sum()
    assert reads(model, loss) == {"weight": 2, "bias": 2}


def test_the_signature_tells_kinds_of_graphs_apart():
    model, x = nn.Linear(5, 5), torch.ones(4, 5)
    plain, again, other = model(x).sum(), model(2 * x).sum(), model(x).exp().sum()
    signatures = [walk(loss.grad_fn).signature() for loss in (plain, again, other)]
    assert signatures[0] == signatures[1] != signatures[2]

"""Losses over pairs of rows take one pass where masks keep pairs within environments, and the definition where they do not."""

import warnings

import pytest
import torch
from torch import nn

from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask
from one_layer import noise

B = 12
LABELS = torch.tensor([0, 1, 0, 1] * 3)
IDS = {
    "adjacent": [0] * 4 + [1] * 4 + [2] * 4,
    "scattered": [0, 0, 1, 2, 1, 1, 0, 0, 2, 2, 1, 2],
    "unequal": [0] * 2 + [1] * 4 + [2] * 6,
}


def masks(ids, labels=LABELS):
    """Which pairs are of one environment, and which of these are positives."""
    same = torch.as_tensor(ids)[:, None] == torch.as_tensor(ids)
    same &= ~torch.eye(len(same), dtype=torch.bool)
    return same, same & (labels[:, None] == labels)


def similarities(model, x):
    z = nn.functional.normalize(model(x), dim=1)
    return z @ z.T / 0.5


def filled(s, same, positive):
    logs = s.masked_fill(~same, float("-inf")).log_softmax(1)
    return -logs.masked_fill(~positive, 0).sum(1) / positive.sum(1).clamp(min=1)


def chosen(s, same, positive):
    s = torch.where(same, s, torch.tensor(-1e9, dtype=s.dtype))
    return -torch.where(positive, s - s.logsumexp(1, keepdim=True), 0).sum(1) / positive.sum(1).clamp(min=1)


def multiplied(s, same, positive):
    """As in the published code."""
    s = s - s.detach().max(1, keepdim=True).values
    logs = s - (s.exp() * same).sum(1, keepdim=True).log()
    return -(positive * logs).sum(1) / positive.sum(1).clamp(min=1)


def otherwise(s, same, positive):
    """The mask turned around, and the values on its other side."""
    s = torch.where(~same, -1e9, s)
    return -(s.log_softmax(1) * positive.double()).sum(1) / positive.sum(1).clamp(min=1)


def network(bias=True):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6, bias), nn.Tanh(), nn.Linear(6, 4, bias)).double()


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("loss", [filled, chosen, multiplied, otherwise], ids=lambda f: f.__name__)
def test_contrastive_losses_within_environments(loss, ids):
    model = network()
    agreement = Agreement(model, AndMask(0.6), verify=1)
    record = assert_definition(agreement, loss(similarities(model, noise(B, 5)), *masks(ids)), ids)
    assert (record.slow, record.proved) == ([], "checked")


def test_a_network_of_one_parameter():
    model, ids = nn.Linear(5, 4, bias=False).double(), IDS["scattered"]
    record = assert_definition(Agreement(model, AndMask(0.6)), multiplied(similarities(model, noise(B, 5)), *masks(ids)), ids)
    assert record.slow == []


def test_two_views_of_each_example():
    model, ids = network(), IDS["scattered"]
    s = similarities(model, noise(2 * B, 5))
    found = multiplied(s, *masks(ids * 2, LABELS.repeat(2))).reshape(2, B).mean(0)
    assert assert_definition(Agreement(model, AndMask(0.6)), found, ids).slow == []


def test_attention_between_the_rows_of_an_environment():
    model, ids = nn.ModuleDict({name: nn.Linear(5, 4, bias=name != "k") for name in "qkv"}).double(), IDS["scattered"]
    x, (same, _) = noise(B, 5), masks(ids)
    weights = (model["q"](x) @ model["k"](x).T + torch.zeros(B, B).masked_fill(~same, float("-inf"))).softmax(1)
    record = assert_definition(Agreement(model, AndMask(0.6)), (weights @ model["v"](x)).square().sum(1), ids)
    assert record.slow == []


@pytest.mark.filterwarnings("ignore:.*for each environment:UserWarning")
@pytest.mark.parametrize("loss", [filled, chosen, multiplied], ids=lambda f: f.__name__)
def test_one_pair_across_environments_takes_the_definition(loss):
    model, ids = network(), IDS["adjacent"]
    same, positive = masks(ids)
    same[0, 11] = True
    record = assert_definition(Agreement(model, AndMask(0.6)), loss(similarities(model, noise(B, 5)), same, positive), ids)
    assert set(record.slow) == {name for name, _ in model.named_parameters()}


@pytest.mark.filterwarnings("ignore:.*for each environment:UserWarning")
@pytest.mark.parametrize("count", [127, 128, 129, 200])
def test_as_many_environments_as_a_byte_holds_and_more(count):
    model, ids = network(), list(range(count)) * 2
    same, positive = masks(ids, torch.zeros(2 * count))
    agreement, x = Agreement(model, AndMask(0.2)), noise(2 * count, 5)
    assert assert_definition(agreement, filled(similarities(model, x), same, positive), ids).slow == []
    same[0, -1] = True
    assert assert_definition(agreement, filled(similarities(model, x), same, positive), ids).slow


def test_masks_are_read_anew_in_each_call():
    model = network()
    agreement = Agreement(model, AndMask(0.6))
    for ids in IDS.values():
        losses = multiplied(similarities(model, noise(B, 5)), *masks(ids))
        assert assert_definition(agreement, losses, ids).slow == []
    losses = multiplied(similarities(model, noise(B, 5)), *masks(IDS["adjacent"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert assert_definition(agreement, losses, IDS["scattered"]).slow

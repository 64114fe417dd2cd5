"""Reads by broadcasting against the oracle: biases, scales, tokens, positions, slopes."""

import pytest
import torch
from torch import nn

from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.engine import layers
from mechlearn.agreement.engine.analysis.rows import Rows
from mechlearn.agreement.engine.layers import scaling
from mechlearn.agreement.engine.layers.terms import Owned
from one_layer import noise
from reads_oracles import IDS, assert_exact, leaf, losses_of, parameter

FORMS = {
    "shift": (lambda x, p: x + p, (7,)),
    "shift of another rank": (lambda x, p: torch.add(x, p, alpha=0.3), (1, 5, 7)),
    "less": (lambda x, p: torch.sub(x, p, alpha=2), (5, 1)),
    "scale": (lambda x, p: torch.tanh(x) * p, (7,)),
    "scale in front": (lambda x, p: p * torch.tanh(x), (5, 7)),
    "a number": (lambda x, p: p * torch.tanh(x), ()),
    "one number in a tensor": (lambda x, p: torch.tanh(x) * p, (1, 1, 1)),
    "divided by": (lambda x, p: torch.tanh(x) / p, (7,)),
    "over": (lambda x, p: p / (2 + torch.tanh(x)), (5, 1)),
    "class token": (lambda x, p: torch.cat([p.expand(len(x), -1, -1), x], 1), (1, 1, 7)),
    "class token, repeated": (lambda x, p: torch.cat([p.repeat(len(x), 2, 1), x], 1), (1, 1, 7)),
    "positions": (lambda x, p: x + p[:, :5], (1, 8, 7)),
    "positions by index": (lambda x, p: x + p[torch.tensor([4, 0, 2, 2, 1])], (6, 7)),
    "mask token": (lambda x, p: torch.where(x > 0.3, p, x), (7,)),
    "mask token, other side": (lambda x, p: torch.where(x > 0.3, x, p), (5, 7)),
    "twice": (lambda x, p: torch.tanh(x * p) * p + p, (7,)),
    "through a constant": (lambda x, p: x * (p * torch.arange(7) / 7).exp(), (7,)),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("form", FORMS)
def test_broadcasting(form, ids, dtype):
    apply, shape = FORMS[form]
    x, p = leaf(6, 5, 7, dtype=dtype), parameter(*shape, dtype=dtype)
    at = {"class token": ["ExpandBackward0"], "class token, repeated": ["RepeatBackward0"]}.get(form, [])
    found = assert_exact(losses_of(apply(x, p)), ids, {"p": p}, [x], Rows(0), at)
    assert len(found) == (3 if form == "twice" else 1)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_examples_on_a_later_dimension(ids):
    x, p = leaf(6, 5, 7), parameter(5, 1, 7)
    y = x.transpose(0, 1) * p
    assert_exact(losses_of(y.transpose(0, 1)), ids, {"p": p}, [x], Rows(1))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_positions_folded_around_examples(ids):
    x, p = leaf(6, 5, 7), parameter(7)
    y = x.unflatten(1, (5, 1)).permute(1, 0, 2, 3).reshape(30, 7).tanh() * p
    assert_exact(losses_of(y.view(5, 6, 7).transpose(0, 1)), ids, {"p": p}, [x], Rows(0, 5, 1))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_products_stay_in_cache(ids, monkeypatch):
    monkeypatch.setattr(scaling, "CHUNK_ELEMENTS", 1)
    x, p = leaf(6, 5, 7), parameter(7)
    assert_exact(losses_of(torch.tanh(x) * p), ids, {"p": p}, [x], Rows(0))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("channels", [1, 3])
def test_prelu(ids, channels):
    x, p = leaf(6, 3, 4), parameter(channels)
    assert_exact(losses_of(nn.functional.prelu(x, p)), ids, {"p": p}, [x], Rows(0))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_rows_of_every_owner(ids):
    x, p = leaf(6, 7), parameter(7)
    picked = torch.tensor([3, 1, 5, 0, 2, 4])
    y = x[picked].tanh() * p
    owners = torch.unique(torch.tensor(ids), return_inverse=True)[1][picked]
    assert_exact(losses_of(y[torch.argsort(picked)]), ids, {"p": p}, [x], Rows(0, owners=owners))


def test_a_component_for_each_example_has_no_formula():
    x, p = leaf(6, 7), parameter(6, 1)
    from reads_oracles import reads_of

    (read,) = reads_of(losses_of(x.tanh() * p), {"p": p}, [x], Rows(0))
    assert "for each example" in layers.covers(read)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_rms_norm(ids):
    x, model = leaf(6, 5, 7), nn.RMSNorm(7).double()
    nn.init.normal_(model.weight, generator=torch.Generator().manual_seed(0))
    assert_exact(losses_of(model(x)), ids, {"weight": model.weight}, [x], Rows(0))


class Added(nn.Module):
    """A parameter that is added to every example, and one that multiplies them."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.shift, self.scale = (nn.Parameter(torch.randn(size, generator=generator).double()) for size in ((1, 50), (50,)))

    def forward(self, x):
        return (torch.tanh(x * self.scale) + self.shift).square().mean(1)


@pytest.mark.parametrize("whole", [False, True], ids=["passes alone", "and one of all"])
def test_forward_passes_of_one_environment_each_hold_its_gradient_alone(monkeypatch, whole):
    """As stacks of all environments' the reads of E passes held E^2 gradients of a parameter."""
    held, add = [], layers.add

    def counting(uses, sums):
        terms = [use.term for use in uses]
        held.append(sum(len(term.rows) if isinstance(term, Owned) else term.environments for term in terms))
        add(uses, sums)

    monkeypatch.setattr(layers, "add", counting)
    model, x = Added(), noise(24, 50)
    alone = torch.cat([model(x[3 * e : 3 * e + 3]) for e in range(8)])
    ids = torch.arange(8).repeat_interleave(3)
    assert_definition(Agreement(model, AndMask(0.6)), alone + model(2 * x) if whole else alone, ids)
    assert min(held) == (16 if whole else 8)  # of the shift: what lies below it has no example in it, and is pulled back

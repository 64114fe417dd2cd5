"""What is made of parameters before a row comes in: one pass serves it, and each environment's gradient is taken back."""

import pytest
import torch
from torch import nn

from definition_oracles import assert_definition, stacks_of
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Qualitative, combine
from mechlearn.agreement.engine import backward
from mechlearn.agreement.engine.layers import WHOLE_PLACE, Stacked, Use, hold, joined
from mechlearn.agreement.engine.layers.products import Products
from mechlearn.agreement.engine.layers.terms import Span
from one_layer import PAIRED, SPREAD, B, Doubled, noise
from traced_models import CASES, made, scattered

SLOW = ["gradient penalty of convolutions", "gradient penalty of strides"]
"""Compiled they take one pass; here second derivatives of convolutions have no formula."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW])
@pytest.mark.parametrize("environments", [2, 5, 12])
def test_one_pass_serves_all_that_a_traced_graph_does(name, environments):
    model, losses_of, batch = made(name)
    agreement = Agreement(model, AndMask(0.6), verify=1)
    ids = scattered(12, environments)
    record = assert_definition(agreement, losses_of(*batch(12, environments)), ids)
    assert (record.slow, record.proved) == ([], "checked")


@pytest.mark.parametrize("name", SLOW)
def test_others_take_the_definition_and_say_so(name):
    model, losses_of, batch = made(name)
    with pytest.warns(UserWarning, match="ConvolutionBackward, for which there is no formula"):
        record = assert_definition(Agreement(model, AndMask(0.6)), losses_of(*batch(12, 5)), scattered(12, 5))
    assert record.slow


@pytest.mark.parametrize("settings", [{"normalise": "tensor"}, {"normalise": "model"}, {"keep": "masks"}], ids=str)
@pytest.mark.parametrize("rule", [AndMask(0.6), GeometricMean(0.2)], ids=repr)
@pytest.mark.parametrize("name", ["weight norm", "W + B A", "L2 in the losses"])
def test_rules_and_norms(name, rule, settings):
    model, losses_of, batch = made(name)
    x, ids = batch(12), scattered(12, 4)
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    stacks = stacks_of(losses_of(*x), ids, list(named.values()))
    norms = torch.stack([stack.flatten(1).norm(dim=1) for stack in stacks], 1)
    record = Agreement(model, rule, **settings).backward(losses_of(*x), ids)
    assert record.slow == []
    for k, (p, stack) in enumerate(zip(named.values(), stacks, strict=True)):
        by = {"tensor": norms[:, k], "model": norms.norm(dim=1)}.get(settings.get("normalise"), torch.ones(4))
        by = by.where(by > 0, 1.0)
        wanted = combine(rule, stack / by.view(-1, *[1] * (stack.dim() - 1))).gradient
        clear = ((stack == 0) | (stack.abs() > 1e-12 * stack.abs().max())).all(0)
        torch.testing.assert_close(p.grad[clear], wanted[clear], rtol=1e-8, atol=1e-12)


class Tied(nn.Module):
    """One weight is read as it is, through a norm, and through a product with another; a second one through two of these."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.g = (nn.Parameter(torch.randn(*shape, dtype=torch.float64)) for shape in ((5, 5), (5, 5), (5, 1)))

    def forward(self, x):
        made = self.g * self.a / self.a.norm(dim=1, keepdim=True)
        again = made @ self.b
        h = torch.tanh(x @ self.a) + torch.tanh(x @ made) + torch.tanh(x @ again)
        return h.square().sum(1) + 0.1 * (self.a * self.b).sum()


@pytest.mark.parametrize("ids", [PAIRED, SPREAD], ids=["adjacent", "scattered"])
def test_parameters_that_are_read_in_many_ways(ids):
    model = Tied()
    record = assert_definition(Agreement(model, AndMask(0.6), verify=1), model(noise(B, 5)), ids)
    assert (record.slow, record.proved) == ([], "checked")


@pytest.mark.parametrize("settings", [{}, {"normalise": "tensor"}, {"normalise": "model"}], ids=str)
def test_reads_of_many_rows_are_formed_as_they_come(settings):
    model, x, ids = Tied(), noise(240, 5), torch.arange(3).repeat_interleave(80)
    named = dict(model.named_parameters())
    stacks = stacks_of(model(x), ids, list(named.values()))
    norms = torch.stack([stack.flatten(1).norm(dim=1) for stack in stacks], 1)
    record = Agreement(model, AndMask(0.6), verify=1, **settings).backward(model(x), ids)
    assert (record.slow, record.proved) == ([], "checked")
    for k, (p, stack) in enumerate(zip(named.values(), stacks, strict=True)):
        by = {"tensor": norms[:, k], "model": norms.norm(dim=1)}.get(settings.get("normalise"), torch.ones(3))
        torch.testing.assert_close(p.grad, combine(AndMask(0.6), stack / by.view(-1, 1, 1)).gradient, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize(("rows", "formed"), [(80, True), (8, False)])
def test_products_that_wait_hold_no_more_than_they_must(rows, formed):
    terms = [Products(noise(3 * rows, 5), noise(3 * rows, 4), (rows,) * 3) for _ in range(2)]
    wanted = sum(term.gradients(Span(0, 3)) for term in terms)
    uses: list[Use] = []
    for term in terms:
        hold(Use(term, WHOLE_PLACE), uses)
    assert [type(use.term) for use in uses] == ([Stacked] if formed else [Products, Products])
    (found,), _ = joined(uses)
    torch.testing.assert_close(found.gradients(Span(0, 3)), wanted)


def test_a_penalty_is_differentiated_once(monkeypatch):
    model, losses_of, batch = made("L2 in the losses")
    passes: list[int] = []
    engine = backward._engine_run_backward
    monkeypatch.setattr(backward, "_engine_run_backward", lambda *args, **more: passes.append(1) or engine(*args, **more))
    assert_definition(Agreement(model, AndMask(0.6)), losses_of(*batch(12)), scattered(12, 6))
    assert len(passes) == 2  # of the losses, and of the penalty


def test_one_that_meets_rows_elsewhere_is_slow_and_the_others_are_not():
    model = Tied()
    x = noise(B, 5)
    h = model(x) + (x @ Doubled.apply(model.g)).sum(1)
    with pytest.warns(UserWarning, match="for one environment at a time, with `accumulate`"):
        record = assert_definition(Agreement(model, AndMask(0.6)), h, PAIRED)
    assert "g" in record.slow


def test_a_rule_that_asks_how_examples_vary_takes_the_definition_and_says_why():
    model, losses_of, batch = made("weight norm")
    ids = scattered(12, 3)
    found = Agreement(model, Qualitative(0.2)).explain(losses_of(*batch(12)), ids)
    assert "is read through a function of several parameters" in {one.reason for one in found}
    found = Agreement(model, AndMask(0.6)).explain(losses_of(*batch(12)), ids)
    assert any(one.reason == "read by Addmm through a function of several parameters" for one in found)


def test_explain_names_the_way_out():
    model = nn.Linear(5, 1).double()
    found = Agreement(model, AndMask(0.6)).explain(Doubled.apply(model(noise(B, 5)))[:, 0], PAIRED)
    assert all(one.cost.endswith("one environment at a time, a pass over its own rows each") for one in found)


class Experts(nn.Module):
    """Each row goes to the expert that it likes best; rows are sorted by expert, and brought back."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.router = nn.Linear(6, 16), nn.Linear(16, 3)
        self.one, self.two = (nn.Parameter(0.2 * torch.randn(3, 16, 16)) for _ in range(2))

    def forward(self, x):
        h = self.first(x)
        chances = self.router(h).softmax(-1)
        chosen = chances.argmax(-1)
        order, ends = chosen.argsort(stable=True), torch.bincount(chosen, minlength=3).cumsum(0).int()
        y = torch.tanh(torch._grouped_mm(h[order], self.one, offs=ends))
        y = torch._grouped_mm(y, self.two.transpose(1, 2), offs=ends)
        return (torch.zeros_like(y).index_copy(0, order, y) * chances.gather(1, chosen[:, None])).square().mean(1)


@pytest.mark.skipif(not hasattr(torch, "_grouped_mm"), reason="this torch multiplies no groups")
@pytest.mark.parametrize("environments", [2, 4, 24])
def test_grouped_products(environments):
    model, x, ids = Experts(), noise(24, 6).float(), scattered(24, environments)
    try:
        losses = model(x)
    except RuntimeError as error:
        pytest.skip(str(error))
    named = dict(model.named_parameters())
    stacks = stacks_of(losses, ids, list(named.values()))
    record = Agreement(model, AndMask(0.0), verify=1).backward(losses, ids)
    assert (record.slow, record.proved) == ([], "checked")
    for p, stack in zip(named.values(), stacks, strict=True):
        torch.testing.assert_close(p.grad, stack.mean(0))
    model.zero_grad()
    Agreement(model, AndMask(1.0)).backward(model(x), ids)
    for p, stack in zip(named.values(), stacks, strict=True):
        agree = stack.sign().sum(0).abs() == environments
        clear = ((stack == 0) | (stack.abs() > 1e-5 * stack.abs().max())).all(0)
        torch.testing.assert_close(p.grad[clear], (stack.mean(0) * agree)[clear])

"""`Agreement(normalise=...)` against environment gradients that are formed one by one, divided and combined."""

import pytest
import torch
from torch import nn

import normalise_oracles
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, SandMask, SignalToNoiseMask, combine

pytestmark = pytest.mark.filterwarnings("ignore:.*backward pass for each environment.*:UserWarning")

RULES = [AndMask(0.6), Mean(), GeometricMean(0.6), SignalToNoiseMask(0.5), SandMask(0.1, k=0.01)]


class Attending(nn.Module):
    """A packed projection, a table, norms, a tied weight and a parameter that no formula knows."""

    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(7, 4), nn.LayerNorm(4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.odd, self.idle = nn.Parameter(torch.ones(4)), nn.Linear(2, 2)

    def forward(self, x):
        h = self.norm(self.table(x))
        h = h + self.attention(h, h, h, need_weights=False)[0] * torch.atan(self.odd)
        return (h @ self.table.weight.T).square().mean((1, 2))


class Convolving(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, 3, 3), nn.GroupNorm(1, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))

    def forward(self, x):
        return self.body(x[:, None].double() / 7).square().sum(1)


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.body(x.double() / 7)[:, 0].square()


def draw(kind, ids):
    torch.manual_seed(0)
    model = kind().double()
    x = torch.randint(0, 7, (len(ids), 6))
    scale = torch.tensor([1.0, 1000.0, 1e-3], dtype=torch.float64)[torch.tensor(ids) % 3]
    return model, x, scale


def stacks(model, x, scale, ids):
    losses, found = model(x) * scale, {}
    names, parameters = zip(*model.named_parameters(), strict=True)
    for e in sorted(set(ids)):
        loss = losses[torch.tensor(ids) == e].mean()
        gradients = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
        for name, parameter, gradient in zip(names, parameters, gradients, strict=True):
            found.setdefault(name, []).append(torch.zeros_like(parameter) if gradient is None else gradient)
    return {name: torch.stack(rows) for name, rows in found.items() if torch.stack(rows).any()}


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("ids", [[0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 5], [2, 0, 0, 1, 0, 1]], ids=str)
@pytest.mark.parametrize("kind", [Flat, Attending, Convolving])
@pytest.mark.parametrize("by", ["tensor", "model"])
def test_equals_the_definition(by, kind, ids, rule):
    model, x, scale = draw(kind, ids)
    expected = normalise_oracles.normalised(stacks(model, x, scale, ids), by)
    Agreement(model, rule, normalise=by).backward(model(x) * scale, ids)
    for name, parameter in model.named_parameters():
        if name not in expected:
            assert parameter.grad is None or not parameter.grad.any()
            continue
        torch.testing.assert_close(parameter.grad, combine(rule, expected[name]).gradient, rtol=1e-9, atol=1e-13)


def test_leaves_outside_keep_the_mean_gradient():
    model, x, scale = draw(Flat, [0, 0, 1, 1])
    factor = torch.ones((), dtype=torch.float64, requires_grad=True)
    Agreement(model, AndMask(), normalise="model").backward(model(x) * scale * factor, [0, 0, 1, 1])
    torch.testing.assert_close(factor.grad, (model(x) * scale).mean().detach())


def test_the_published_steps():
    """Their AND-mask divides the weight's gradients alone; .9 of 3 environments asks for all of them."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(90, 4, dtype=torch.float64, generator=generator)
    ids = torch.arange(3).repeat_interleave(30)
    scale = torch.tensor([0.1, 1.0, 3.0], dtype=torch.float64)[ids, None]
    y = x[:, :1] - x[:, 1:2] * scale + scale * torch.randn(90, 1, dtype=torch.float64, generator=generator)
    environments = [(x[ids == e], y[ids == e]) for e in range(3)]
    model = nn.Linear(4, 1, dtype=torch.float64)
    weight, bias = (p.detach().clone() for p in model.parameters())
    agreement = Agreement(model, AndMask(0.9), normalise=["weight"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        agreement.backward((model(x) - y).square()[:, 0], ids)
        optimizer.step()
        weight, bias = normalise_oracles.published_step(weight, bias, environments, 0.9, 0.01, 0.05)
        torch.testing.assert_close(model.weight.detach(), weight, rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(model.bias.detach(), bias, rtol=1e-11, atol=1e-13)


def test_one_environment_has_norm_1():
    model, x, _ = draw(Flat, [0] * 4)
    with pytest.warns(UserWarning, match="nothing to agree"):
        Agreement(model, Mean(), normalise="model").backward(model(x) * 1000, [0] * 4)
    torch.testing.assert_close(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item(), 1.0)


def test_parts_of_an_environment_are_not_joined():
    """The norm is that of the whole gradient."""
    model, x, _ = draw(Flat, [0] * 4)
    agreement = Agreement(model, AndMask(), normalise="tensor")
    agreement.accumulate(model(x[:2]), [0, 0])
    with pytest.raises(ValueError, match="Found environment 0 in an earlier call"):
        agreement.accumulate(model(x[2:]), [0, 0])

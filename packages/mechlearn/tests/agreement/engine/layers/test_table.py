"""What no formula is for takes the definition's path: parameters in an input's place, and numbers that are not real."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from cpu_alone import cpu_alone
from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask

pytestmark = pytest.mark.filterwarnings("ignore:.*one backward pass for each environment")

IDS = [0, 1, 2] * 4
RULE = AndMask(0.6)


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


class Applied(nn.Module):
    """A function of a parameter and of inputs."""

    def __init__(self, function, *shape, layer=None):
        super().__init__()
        self.function, self.layer, self.p = function, layer, nn.Parameter(draw(*shape, seed=1))

    def forward(self, x):
        return self.function(self, x)


def complex_of(p):
    return torch.view_as_complex(p)


COMPLEX = {
    "a global filter": (lambda m, x: torch.fft.irfft(torch.fft.rfft(x) * complex_of(m.p), n=6), (4, 2)),
    "a real scale": (lambda m, x: torch.view_as_real(torch.fft.fft(x) * m.p), (6,)),
    "a product of matrices": (lambda m, x: torch.view_as_real(torch.fft.fft(x) @ complex_of(m.p)), (6, 3, 2)),
    "a product with a bias": (
        lambda m, x: torch.view_as_real(functional.linear(torch.fft.fft(x), complex_of(m.p)[:3], complex_of(m.p)[3:, 0])),
        (6, 6, 2),
    ),
    "modes": (
        lambda m, x: torch.view_as_real(torch.einsum("bix,iox->box", torch.fft.fft(x.view(-1, 2, 3)), complex_of(m.p))),
        (2, 2, 3, 2),
    ),
    "divided by": (lambda m, x: torch.view_as_real(torch.fft.fft(x) / complex_of(m.p)), (6, 2)),
    "over": (lambda m, x: torch.view_as_real(complex_of(m.p) / (torch.fft.fft(x) + 9)), (6, 2)),
    "conjugated": (lambda m, x: torch.view_as_real(torch.fft.fft(x) * complex_of(m.p).conj()), (6, 2)),
    "a complex multiple": (lambda m, x: torch.view_as_real(torch.sub(torch.fft.fft(x), complex_of(m.p), alpha=2 - 1j)), (6, 2)),
}


@pytest.mark.parametrize("form", COMPLEX)
def test_complex_arithmetic(form):
    function, shape = COMPLEX[form]
    model = Applied(function, *shape)
    losses = (model(draw(12, 6)) - 1).square().flatten(1).mean(1)
    record = assert_definition(Agreement(model, RULE), losses, IDS)
    assert record.paths["p"] == "per-environment"


INPUTS = {
    "PReLU": (nn.PReLU(), (4,)),
    "layer norm": (nn.LayerNorm(4), (4,)),
    "layer norm without scale": (nn.LayerNorm(4, elementwise_affine=False), (4,)),
    "group norm": (nn.Sequential(nn.Unflatten(0, (1, 4)), nn.GroupNorm(2, 4)), (4,)),
    "batch norm": (nn.Sequential(nn.Unflatten(0, (1, 4)), nn.BatchNorm1d(4).eval()), (4,)),
    "convolution": (nn.Sequential(nn.Unflatten(0, (1, 1, 4)), nn.Conv1d(1, 1, 1)), (4,)),
    "convolution as large as its weight": (nn.Sequential(nn.Unflatten(0, (1, 2, 2)), nn.Conv1d(2, 2, 1)), (4,)),
    "linear": (nn.Linear(4, 4), (4,)),
}


@pytest.mark.parametrize("layer", INPUTS)
def test_a_parameter_that_a_layer_is_applied_to(layer):
    """One graph an example, so that each gradient is one environment's as a whole."""
    made, shape = INPUTS[layer]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for p in made.parameters():
            nn.init.normal_(p)
    model = Applied(lambda m, x: m.layer(m.p).flatten() * x, *shape, layer=made).double()
    losses = torch.stack([(model(x) - 0.3).square().mean() for x in draw(12, 4)])
    assert_definition(Agreement(model, RULE), losses, IDS)


class Bag(nn.Module):
    """A bag of weighted entries, with a learned weight for each."""

    def __init__(self, frozen):
        super().__init__()
        self.table = nn.EmbeddingBag(9, 4, mode="sum", _weight=draw(9, 4, seed=2))
        self.table.weight.requires_grad_(not frozen)
        self.w = nn.Parameter(draw(9, seed=1))

    def forward(self, x):
        return self.table(x, per_sample_weights=self.w[x])


@pytest.mark.parametrize(("frozen", "length"), [(False, 3), (True, 5), (True, 3)])
def test_a_bag_with_learned_weights(frozen, length):
    model = Bag(frozen)
    entries = torch.randint(0, 9, (12, length), generator=torch.Generator().manual_seed(0))
    assert_definition(Agreement(model, RULE), (model(entries) - 0.3).square().mean(1), IDS)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(nn.GroupNorm, marks=cpu_alone("a group norm in float32 of bfloat16")), nn.BatchNorm2d, nn.InstanceNorm2d],
)
def test_narrow_activations_into_a_normalisation_in_float32(kind):
    make = {nn.GroupNorm: lambda: nn.GroupNorm(2, 4), nn.BatchNorm2d: lambda: nn.BatchNorm2d(4).eval()}
    layer = make.get(kind, lambda: nn.InstanceNorm2d(4, affine=True))()
    x = draw(12, 4, 3, 3, dtype=torch.float32).bfloat16().requires_grad_()
    losses = layer(x).float().square().flatten(1).mean(1)
    record = Agreement(layer, AndMask(0.0)).backward(losses, IDS)
    assert record.paths["weight"] == "layer"
    found = layer.weight.grad.clone()
    layer.weight.grad = None
    layer(x).float().square().flatten(1).mean(1).mean().backward()
    torch.testing.assert_close(found, layer.weight.grad, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(("dtype", "divisor", "size"), [(torch.float16, 300.0, 1000.0), (torch.float32, 1e20, 1e19)])
def test_a_quotient_in_range_whose_divisors_square_is_not(dtype, divisor, size):
    model = nn.Module()
    model.p = nn.Parameter(torch.tensor([divisor], dtype=dtype))
    losses = torch.full((12,), size, dtype=dtype) / model.p * (50 if dtype == torch.float16 else 1e10)
    expected = torch.autograd.grad(losses.mean(), model.p, retain_graph=True)[0]
    Agreement(model, AndMask(1.0)).backward(losses, IDS)
    assert float(model.p.grad) == pytest.approx(float(expected), rel=2e-3)
    assert float(model.p.grad) != 0


def test_a_quotient_in_range_whose_divisors_reciprocal_is_not():
    model = nn.Module()
    model.p = nn.Parameter(torch.full((1,), 1e-5))
    losses = model.p / torch.full((12,), 1e-40) * 1e-38
    expected = torch.autograd.grad(losses.mean(), model.p, retain_graph=True)[0]
    Agreement(model, AndMask(1.0)).backward(losses, IDS)
    torch.testing.assert_close(model.p.grad, expected)

"""Two-byte parameters: many environments add up as in four bytes, on every path, and large batches keep their signs."""

import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask, Mean, SignalToNoiseMask

ENVIRONMENTS = 600


class Scaled(nn.Module):
    """A linear layer and a weight that no formula knows, which takes one backward pass an environment."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 3)
        self.odd = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.linear(x) * torch.atan(self.odd)


@pytest.mark.parametrize("rule", [AndMask(0.5), Mean(), SignalToNoiseMask(0.1)], ids=repr)
@pytest.mark.parametrize("each", [1, 2])
def test_gradients_of_one_sign_add_up(rule, each):
    """In bfloat16 a sum of 256 stays where it is when 1 is added: 75 % were lost at 2048 environments."""
    generator = torch.Generator().manual_seed(0)
    x = (0.5 + torch.rand(ENVIRONMENTS * each, 260, generator=generator)).bfloat16()
    model = nn.Linear(260, 130).bfloat16()  # so large that environments are added one by one
    Agreement(model, rule).backward(model(x).sum(1), torch.arange(len(x)) // each)
    expected = x.double().mean(0).expand(130, 260)
    assert model.weight.grad.dtype == torch.bfloat16
    assert ((model.weight.grad.double() - expected).abs() / expected).max() < 0.008  # two roundings
    assert (model.bias.grad - 1).abs().max() < 0.008


@pytest.mark.filterwarnings("ignore:.*backward pass for each environment.*:UserWarning")
def test_on_the_path_of_one_pass_an_environment():
    generator = torch.Generator().manual_seed(0)
    x = (0.5 + torch.rand(300, 6, generator=generator)).bfloat16()
    model = Scaled().bfloat16()
    nn.init.constant_(model.linear.weight, 0.125)
    nn.init.zeros_(model.linear.bias)
    Agreement(model, AndMask(0.5)).backward(model(x).sum(1), range(300))
    each = torch.stack([torch.autograd.grad(model(x[k : k + 1]).sum(), model.odd)[0] for k in range(300)])
    expected = each.double().mean(0)
    assert ((model.odd.grad.double() - expected).abs() / expected).max() < 0.005


def test_seventy_thousand_examples_of_one_environment_in_float16():
    """1 / 70,000 was 1 / inf."""
    generator = torch.Generator().manual_seed(0)
    model = nn.Linear(1, 1, bias=False).half()
    x = (1 + torch.rand(70_002, 1, generator=generator)).half()
    ids = torch.zeros(70_002, dtype=torch.int64)
    ids[-2:] = 1
    record = Agreement(model, AndMask(1.0)).backward(model(x)[:, 0], ids)
    assert record.share_by_parameter == {"weight": 1.0}
    expected = (x[:-2].double().mean() + x[-2:].double().mean()) / 2
    assert abs(model.weight.grad.double() - expected) / expected < 0.01  # 1 / 70,000 has seven bits in float16
    means = torch.stack([model(x[:-2]).double().mean(), model(x[-2:]).double().mean()])
    torch.testing.assert_close(record.losses.double(), means.detach(), rtol=1e-4, atol=0)


@pytest.mark.parametrize("each", [1, 2])
def test_squares_of_small_gradients_do_not_vanish(each):
    """Of gradients around 1e-25 float32 has no squares: everything passed the mask."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(12, 6, generator=generator) + 0.5
    small, large = nn.Linear(6, 3), nn.Linear(6, 3)
    ids = torch.arange(12) // each
    found = Agreement(small, SignalToNoiseMask(0.5)).backward((small(x) * 1e-25).sum(1), ids)
    expected = Agreement(large, SignalToNoiseMask(0.5)).backward(large(x).sum(1), ids)
    assert found.share_by_parameter == expected.share_by_parameter
    assert 0 < found.share_by_parameter["weight"] < 1
    assert torch.equal(small.weight.grad != 0, large.weight.grad != 0)


@pytest.mark.parametrize("kind", ["linear", "embedding"])
def test_magnitudes_where_no_gradient_is_formed(kind):
    """An example an environment, and rows of a table: products and looked-up rows stand for gradients."""
    generator = torch.Generator().manual_seed(0)
    model = nn.Linear(5, 4, dtype=torch.float64) if kind == "linear" else nn.Embedding(5, 4, dtype=torch.float64)
    x = torch.randn(7, 5, dtype=torch.float64, generator=generator)
    x = x if kind == "linear" else torch.randint(0, 5, (7, 2), generator=generator)
    each = [torch.autograd.grad(model(x[k : k + 1]).sin().sum(), model.weight)[0].abs() for k in range(7)]
    record = Agreement(model, AndMask(), keep=["weight"]).backward(model(x).sin().flatten(1).sum(1), range(7))
    torch.testing.assert_close(record.statistics["weight"].magnitude, torch.stack(each).sum(0), rtol=1e-12, atol=1e-14)


def test_what_is_rescaled_beyond_float16_is_refused():
    model = nn.Linear(400, 400).half()
    x = torch.ones(4, 400).half()
    x[:, 1:] *= torch.tensor([1.0, -1.0, 1.0, -1.0])[:, None].half()  # 1 of 160,000 weights survives
    ids = [0, 1, 2, 3]
    with pytest.raises(FloatingPointError, match=r"Found a component of 1\.6e\+05 for 'weight'"):
        Agreement(model, AndMask(1.0, rescale=True)).backward(model(x)[:, 0], ids)
    assert model.weight.grad is None
    Agreement(model, AndMask(1.0, rescale="root")).backward(model(x)[:, 0], ids)
    assert float(model.weight.grad[0, 0]) == 400
    model.zero_grad()
    Agreement(model, AndMask(1.0, rescale=True), refuse_nonfinite=False).backward(model(x)[:, 0], ids)
    assert float(model.weight.grad[0, 0]) == float("inf")

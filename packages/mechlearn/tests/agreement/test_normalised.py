"""Environment gradients of norm 1 against the literal formula, and against the published code step for step."""

import inspect

import pytest
import torch

import normalise_oracles
from mechlearn.agreement import AndMask, combine
from mechlearn.agreement.normalised import normalised, norms


def draw(dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    scales = torch.tensor([1.0, 1000.0, 1e-3, 0.0], dtype=dtype)
    shapes = {"weight": (3, 5), "bias": (3,), "empty": (0, 2), "one": ()}
    return {
        name: torch.randn(4, *shape, dtype=dtype, generator=generator) * scales.view(-1, *[1] * len(shape)) * scale
        for name, shape in shapes.items()
    }


@pytest.mark.parametrize("by", ["tensor", "model"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_equals_the_literal_formula(by, dtype):
    gradients = draw(dtype)
    before = {name: gradient.clone() for name, gradient in gradients.items()}
    found, expected = normalised(gradients, by), normalise_oracles.normalised(gradients, by)
    for name, gradient in found.items():
        assert gradient.dtype == dtype
        torch.testing.assert_close(gradient, expected[name], rtol=1e-14 if dtype == torch.float64 else 1e-6, atol=0)
        assert torch.equal(gradient.sign(), gradients[name].sign())
        assert not gradient[3].any()  # a gradient of zeros stays one
        assert torch.equal(gradients[name], before[name])


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float64, 1e-170), (torch.float64, 1e165), (torch.float32, 1e-30)])
@pytest.mark.parametrize("by", ["tensor", "model"])
def test_squares_stay_in_range(dtype, scale, by):
    found = normalised(draw(dtype, scale), by)
    whole = torch.cat([gradient[:3].unsqueeze(-1).flatten(1) for gradient in found.values()], dim=1)
    lengths = found["weight"][:3].flatten(1).norm(dim=1) if by == "tensor" else whole.norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones(3, dtype=dtype))


def test_by_model_the_parameters_share_a_norm():
    lengths = norms(draw(), "model")
    assert all(torch.equal(lengths["weight"], other) for other in lengths.values())
    assert lengths["weight"][3] == 1


def test_equals_the_published_steps():
    """Theirs divides the weight's gradients alone, and its threshold is strict: .9 of 3 environments asks for all of them."""
    generator = torch.Generator().manual_seed(1)
    environments = []
    for scale in (0.1, 1.0, 3.0):
        x = torch.randn(50, 4, dtype=torch.float64, generator=generator)
        y = x[:, :1] - x[:, 1:2] * scale + scale * torch.randn(50, 1, dtype=torch.float64, generator=generator)
        environments.append((x, y))
    model = torch.nn.Linear(4, 1, dtype=torch.float64)
    weight, bias = (p.detach().clone() for p in model.parameters())
    lr, wd, masked = 0.05, 0.01, 0
    for _ in range(60):
        found = [torch.autograd.grad(((model(x) - y) ** 2).mean(), list(model.parameters())) for x, y in environments]
        gradients = {"weight": torch.stack([g for g, _ in found]), "bias": torch.stack([g for _, g in found])}
        units = normalised(gradients, "tensor", only=["weight"])
        for name, parameter in model.named_parameters():
            combined = combine(AndMask(0.9), units[name])
            masked += int((combined.survives == 0).sum())
            with torch.no_grad():
                parameter.sub_(lr * combined.gradient + lr * wd * parameter)
        weight, bias = normalise_oracles.published_step(weight, bias, environments, 0.9, wd, lr)
        torch.testing.assert_close(model.weight.detach(), weight, rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(model.bias.detach(), bias, rtol=1e-11, atol=1e-13)
    assert masked > 20


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"by": "layer"}, '`by` should be "tensor" or "model"'),
        ({"by": None}, '`by` should be "tensor" or "model"'),
        ({"only": ["wieght"]}, r"`only` should name parameters out of .*Found \['wieght'\]"),
        ({"only": []}, "Found none. Leave it out"),
        ({"gradients": {"a": torch.ones(2, 3), "b": torch.ones(3, 3)}}, r"Found \[2, 3\] rows"),
    ],
)
def test_what_is_refused(change, match):

    arguments = {"gradients": draw(), "by": "tensor"} | change
    with pytest.raises(ValueError, match=match):
        inspect.unwrap(normalised)(**arguments)

import pytest
import torch
from torch import nn

import privileged_oracles as oracles
from mechlearn_zoo.methods.privileged import gated_loss


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tasks(sign=1.0):
    body, main, other = (nn.Linear(*sizes).double() for sizes in ((4, 5), (5, 1), (5, 2)))
    with torch.no_grad():
        for seed, p in enumerate([*body.parameters(), *main.parameters(), *other.parameters()]):
            p.copy_(draw(seed, *p.shape))
        other.weight.copy_(sign * main.weight.repeat(2, 1))
        other.bias.zero_()
    h = torch.tanh(body(draw(10, 6, 4)))
    y = draw(11, 6, 1)
    losses = (main(h) - y).square().mean(), (other(h) - sign * y).square().mean() + 0.3 * h.mean()
    return losses, list(body.parameters()), [*main.parameters(), *other.parameters()]


@pytest.mark.parametrize("gate", ["weighted", "unweighted"])
@pytest.mark.parametrize("against", [False, True])
def test_the_gradients_are_the_text_s(gate, against):
    (main, auxiliary), shared, heads = tasks()
    auxiliary = 0.1 * heads[2].square().sum() - auxiliary if against else auxiliary
    cosine, weight, expected, of_heads = oracles.gated_gradients(main, auxiliary, shared, heads, gate == "weighted")
    found = gated_loss(main, auxiliary, shared, gate)
    assert (cosine < 0) == against
    assert (found.cosine, found.weight) == pytest.approx((cosine, weight))
    torch.testing.assert_close(found.loss, main + auxiliary)
    for got, wanted in zip(torch.autograd.grad(found.loss, [*shared, *heads]), [*expected, *of_heads], strict=True):
        torch.testing.assert_close(got, wanted)


def test_a_closed_gate_leaves_the_main_gradient():
    (main, _), shared, _ = tasks()
    found = gated_loss(main, -2 * main, shared)
    assert found.weight == 0.0
    assert found.cosine == pytest.approx(-1)
    for got, wanted in zip(
        torch.autograd.grad(found.loss, shared, retain_graph=True), torch.autograd.grad(main, shared), strict=True
    ):
        torch.testing.assert_close(got, wanted)


def test_no_gradient_has_no_direction():
    (main, auxiliary), shared, _ = tasks()
    found = gated_loss(main, 0.0 * auxiliary, shared)
    assert (found.cosine, found.weight) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m, a, s: (m, a, []), "Found none. Give those before both heads"),
        (lambda m, a, s: (m[None], a, s), r"`main` should be a mean loss, a scalar\. Found shape \(1,\)"),
        (lambda m, a, s: (m, a.detach(), s), "`auxiliary` should depend on the shared parameters"),
        (lambda m, a, s: (m, a, [nn.Parameter(torch.ones(2))]), "`main` should depend on the shared parameters"),
        (lambda m, a, s: (m, a, s, "soft"), '`gate` should be "weighted" or "unweighted"'),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_gated(change, sentence):
    (main, auxiliary), shared, _ = tasks()
    with pytest.raises(ValueError, match=sentence):
        gated_loss(*change(main, auxiliary, shared))


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float16, 200.0), (torch.float32, 1e20), (torch.float32, 1e-25)])
def test_the_gate_does_not_depend_on_the_gradients_scale(dtype, scale):
    p = torch.zeros(2, dtype=dtype, requires_grad=True)
    a, b = torch.tensor([3.0, 4.0], dtype=dtype) * scale, torch.tensor([4.0, 3.0], dtype=dtype)
    found = gated_loss((a * p).sum(), (b * p).sum(), [p])
    assert (found.cosine, found.weight) == pytest.approx((0.96, 0.96), rel=1e-3)
    found = gated_loss((a * p).sum(), (0 * p).sum(), [p])
    assert (found.cosine, found.weight) == (0.0, 0.0)


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_a_gradient_without_a_direction_shuts_no_gate_silently(bad):
    p = torch.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"should be finite\. Found NaN or infinity"):
        gated_loss((p * torch.tensor([bad, 1.0])).sum(), p.sum(), [p])

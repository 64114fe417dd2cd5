import numpy as np
import pytest
import torch

import robustness_oracles as oracle
from mechlearn.agreement import AndMask, Mean
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.methods.robustness.agreeing import agreed_attack, agreed_gradient, agreement_score, transferred_gain
from mechlearn_zoo.methods.robustness.evasion import maximum_confidence
from mechlearn_zoo.methods.robustness.norms import Ball, norms, steepest
from mechlearn_zoo.methods.robustness.transfer import input_gradient


def nets(count=3):
    return [mlp(6, 3, torch.Generator().manual_seed(seed), 8, 1).double() for seed in range(count)]


def data(n=8):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(n, 6, generator=generator, dtype=torch.float64), torch.arange(n) % 3


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_the_agreed_gradient_is_the_literal_mask_of_unit_gradients(threshold):
    x, y = data()
    gradients = np.stack([input_gradient(model, x, y).numpy() for model in nets()])
    gradients = gradients / np.sqrt((gradients**2).sum(2, keepdims=True))
    found = agreed_gradient(nets(), x, y, AndMask(threshold))
    wanted = oracle.agreed(gradients, threshold)
    np.testing.assert_allclose(found.gradient.numpy(), wanted, atol=1e-12)
    np.testing.assert_allclose(found.kept.numpy(), (wanted != 0).mean(1), atol=1e-12)


def test_copies_of_one_surrogate_agree_on_everything():
    x, y = data()
    (one, *_) = nets()
    found = agreed_attack([one] * 3, x, y, Ball(0.3), 4)
    first = steepest(input_gradient(one, x, y), 0.3, 2)
    assert ((found - x) * first).sum(1).min() > 0
    assert agreed_gradient([one] * 3, x, y).kept.min() == 1
    torch.testing.assert_close(found, agreed_attack([one] * 3, x, y, Ball(0.3), 4, Mean()))


def test_linear_surrogates_are_attacked_along_what_they_share():
    x, y = data()
    y = y % 2
    a, b = torch.tensor([1.0, 1, 0, 0, 0, 1]).double(), torch.tensor([1.0, -1, 0, 0, 1, 1]).double()
    found = agreed_attack([lambda x: x @ a, lambda x: x @ b], x, y, Ball(0.5), 3)
    wanted = torch.zeros(6).double()
    wanted[[0, 5]] = 0.5 / 2**0.5
    torch.testing.assert_close(found - x, (1.0 - 2 * y)[:, None] * wanted)


def test_where_nothing_is_agreed_on_nothing_moves():
    x, y = data()
    a = torch.ones(6).double()
    assert torch.equal(agreed_attack([lambda x: x @ a, lambda x: -(x @ a)], x, y % 2, Ball(0.5), 3), x)


def test_the_score_is_one_for_copies_and_falls_for_noise():
    one = torch.randn(1, 4, 50, generator=torch.Generator().manual_seed(0))
    assert agreement_score(one.expand(5, 4, 50)).tolist() == [1.0] * 4
    noise = torch.randn(100, 4, 500, generator=torch.Generator().manual_seed(0))
    assert agreement_score(noise).max() < 0.1


def test_the_gain_is_the_first_order_rise_and_can_be_trained_away():
    x, y = data()
    model, surrogate = nets()[:2]
    directions = steepest(input_gradient(surrogate, x, y), 1e-6, 2)
    found = transferred_gain(model, directions, x, y)
    losses = [torch.nn.functional.cross_entropy(model(points), y, reduction="none") for points in (x, x + directions)]
    torch.testing.assert_close(found / 1e-6, (losses[1] - losses[0]) / 1e-6, rtol=1e-4, atol=1e-6)
    found.sum().backward()
    assert all(p.grad is not None for p in model.parameters() if p.dim() == 2)


def test_the_attack_stays_within_the_ball():
    x, y = data()
    ball = Ball(0.3, 2, (0.0, 1.0))
    found = agreed_attack(nets(), x, y, ball, 6, AndMask(0.3))
    assert (norms(found - x, 2) <= 0.3 + 1e-12).all()
    assert ((found >= 0) & (found <= 1)).all()
    assert not torch.equal(found, maximum_confidence(nets()[0], x, y, ball, 6))


X, Y = data()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: agreed_gradient(nets(1), X, Y), "at least two"),
        (lambda: agreed_attack(nets(1), X, Y, Ball(1.0)), "at least two"),
        (lambda: agreed_attack(nets(), X * 2, Y, Ball(1.0, 2, (0.0, 1.0))), "within the box"),
        (lambda: agreed_attack(nets(), X, Y, Ball(1.0), 3, AndMask), "`rule` should be a rule"),
        (lambda: agreement_score(torch.zeros(1, 2, 3)), "at least two"),
        (lambda: transferred_gain(nets()[0], X[:2], X, Y), "the shape of `x`"),
    ],
)
def test_bad_input(make, sentence, as_installed):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


@pytest.mark.parametrize("scale", [1e-24, 1e20])
def test_surrogates_count_alike_however_small_or_large_their_gradients_are(scale):
    x, y = torch.rand(4, 2, generator=torch.Generator().manual_seed(0)), torch.zeros(4, dtype=torch.long)
    a, b = torch.tensor([[3.0, 4.0]]), torch.tensor([[4.0, 3.0]])

    def along(weight):
        return lambda x: torch.cat([-(x * weight).sum(1, keepdim=True), torch.zeros(len(x), 1)], 1)

    found = agreed_gradient([along(a * scale), along(b)], x, y, Mean(), loss=lambda logits, y: -logits[:, 0])
    torch.testing.assert_close(found.gradient, torch.full((4, 2), 0.7))

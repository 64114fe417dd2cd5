import math
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.methods.robustness.closed_forms import as_target, as_torch
from mechlearn_zoo.methods.robustness.evasion import logits_of, margin, maximum_confidence, missed
from mechlearn_zoo.methods.robustness.norms import Ball, norms
from mechlearn_zoo.methods.robustness.transfer import (
    alignment,
    cosine,
    gradient_size,
    input_gradient,
    transfer_bound,
    transfer_matrix,
    variability,
)


def data(seed=0, n=20, d=6):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, d, generator=generator, dtype=torch.float64)
    return x, (x[:, 0] + 0.3 * x[:, 1] > 0.65).long()


def weights(seed, d=6):
    return torch.randn(d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def net(seed):
    return mlp(6, 3, torch.Generator().manual_seed(seed), 8, 1).double()


def test_of_logistic_regression_the_gradient_is_p_minus_y_times_the_weights():
    x, y = data()
    w = weights(0)
    p = torch.sigmoid(x @ w)
    torch.testing.assert_close(input_gradient(lambda x: x @ w, x, y), (p - y)[:, None] * w)
    torch.testing.assert_close(gradient_size(lambda x: x @ w, x, y), (p - y).abs() * w.norm())
    torch.testing.assert_close(gradient_size(lambda x: x @ w, x, y, p=math.inf), (p - y).abs() * w.abs().sum())


def test_of_two_linear_models_alignment_is_the_cosine_of_their_weights_everywhere():
    x, y = data()
    a, b = weights(0), weights(1)
    found = alignment(lambda x: x @ a, lambda x: x @ b, x, y)
    torch.testing.assert_close(found, (a @ b / a.norm() / b.norm()).expand(len(x)))


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_the_bound_holds_and_one_attacks_oneself_best(p):
    x, y = data()
    y = torch.arange(len(x)) % 3
    first, second = input_gradient(net(0), x, y), input_gradient(net(1), x, y)
    found = transfer_bound(first, second, 0.2, p)
    assert (found.achieved <= found.limit * (1 + 1e-12)).all()
    assert (found.ratio < 0.99).any()
    own = transfer_bound(second, second, 0.2, p)
    torch.testing.assert_close(own.achieved, own.limit)
    if p == 2:
        torch.testing.assert_close(found.ratio, cosine(first, second))


def test_the_bound_is_the_rise_of_the_loss_to_first_order():
    x, y = data()
    y = torch.arange(len(x)) % 3
    surrogate, target = net(0), net(1)
    gradients = [input_gradient(model, x, y) for model in (surrogate, target)]
    tiny = 1e-6
    moved = x + tiny * gradients[0] / norms(gradients[0], 2)[:, None]
    losses = [torch.nn.functional.cross_entropy(target(points), y, reduction="none") for points in (x, moved)]
    torch.testing.assert_close((losses[1] - losses[0]) / tiny, transfer_bound(*gradients, 1.0).achieved, rtol=1e-4, atol=1e-6)


def test_zero_gradients_have_no_direction():
    assert cosine(torch.zeros(1, 3), torch.ones(1, 3)).item() == 0
    assert transfer_bound(torch.ones(1, 3), torch.zeros(1, 3), 1.0).ratio.item() == 0


def test_variability_is_the_variance_over_models():
    x, y = data()
    models = [partial(torch.matmul, other=weights(seed)) for seed in range(4)]
    losses = np.array(
        [[float(np.logaddexp(0, (1 - 2 * int(t)) * float(m(one[None])))) for one, t in zip(x, y, strict=True)] for m in models]
    )
    np.testing.assert_allclose(variability(models, x, y).numpy(), (losses**2).mean(0) - losses.mean(0) ** 2, atol=1e-12)


def test_the_matrix_is_each_attack_on_each_target():
    x, y = data()
    forest = as_target(RandomForestClassifier(5, random_state=0).fit(x.numpy(), y.numpy()))
    a = as_torch(LogisticRegression(C=100).fit(x.numpy(), y.numpy()))
    b = as_torch(LogisticRegression(C=0.1).fit(x.numpy(), y.numpy()))
    ball = Ball(0.3, 2, (0.0, 1.0))
    found = transfer_matrix({"a": a, "b": b}, {"a": a, "forest": forest}, x, y, ball, steps=5)
    points = maximum_confidence(b, x, y, ball, 5)
    assert found.surrogates == ("a", "b")
    assert found.error[1].tolist() == [float(missed(model, points, y).double().mean()) for model in (a, forest)]
    assert found.clean.tolist() == [float(missed(model, x, y).double().mean()) for model in (a, forest)]
    assert found.rise[0, 0] > found.rise[1, 0] > 0
    assert found.rise[:, 1].isnan().all()  # labels alone


def test_the_margin_rises_most_by_the_own_attack_of_a_linear_model():
    x, y = data()
    a, b = weights(0), weights(1)
    ball = Ball(0.2)
    own, other = (maximum_confidence(lambda x, w=w: x @ w, x, y, ball, 4) for w in (a, b))
    margins = [margin(logits_of(lambda x: x @ a, points), y) for points in (own, other)]
    assert (margins[0] > margins[1]).all()


X, Y = data()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: variability([lambda x: x.sum(1)], X, Y), "at least two"),
        (lambda: transfer_matrix({}, {"a": lambda x: x.sum(1)}, X, Y, Ball(1.0)), "a surrogate and a target"),
        (
            lambda: transfer_matrix({"a": lambda x: x.sum(1)}, {"b": lambda x: x @ torch.ones(3).double()}, X, Y, Ball(1.0)),
            "'b' does not take",
        ),
        (
            lambda: transfer_matrix({"forest": lambda x: x.detach().sum(1)}, {"a": lambda x: x.sum(1)}, X, Y, Ball(1.0)),
            "'forest' could not",
        ),
        (lambda: cosine(torch.zeros(1, 2), torch.zeros(1, 3)), "one shape"),
        (lambda: transfer_bound(torch.zeros(1, 2), torch.zeros(1, 3), 1.0), "one shape"),
        (lambda: gradient_size(lambda x: x.sum(1), X, Y, p=4), "`p` should be"),
        (lambda: input_gradient(lambda x: x.sum(1), X, Y + 1), "the model's 2 classes"),
    ],
)
def test_bad_input(make, sentence, as_installed):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float32, 1e-23), (torch.float32, 1e20), (torch.float16, 300.0)])
def test_a_cosine_does_not_depend_on_the_gradients_scale(dtype, scale):
    a, b = torch.tensor([[3.0, -4.0], [0.0, 0.0]], dtype=dtype) * scale, torch.tensor([[4.0, -3.0], [1.0, 1.0]], dtype=dtype)
    found = cosine(a, b)
    assert found.dtype == dtype
    torch.testing.assert_close(found, torch.tensor([0.96, 0.0], dtype=dtype))
    torch.testing.assert_close(cosine(a, a * 0.5), torch.tensor([1.0, 0.0], dtype=dtype))

import math

import numpy as np
import pytest
import torch

import robustness_oracles as oracle
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.methods.robustness.evasion import logits_of, loss, margin, maximum_confidence, missed, security_curve
from mechlearn_zoo.methods.robustness.norms import Ball, dual, norms
from mechlearn_zoo.methods.robustness.transfer import input_gradient


def linear(weight, bias=0.1):
    return lambda x: x @ weight + bias


def data(seed=0, n=12, d=6):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, d, generator=generator, dtype=torch.float64)
    weight = torch.randn(d, generator=generator, dtype=torch.float64)
    return x, torch.arange(n) % 2, weight


def net(seed=0, inputs=6, outputs=3):
    return mlp(inputs, outputs, torch.Generator().manual_seed(seed), 8, 1).double()


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_of_a_linear_model_the_margin_rises_by_radius_times_the_dual_norm_exactly(p):
    x, y, weight = data()
    model, radius = linear(weight), 0.3
    found = maximum_confidence(model, x, y, Ball(radius, p), steps=10)
    rise = margin(logits_of(model, found), y) - margin(logits_of(model, x), y)
    torch.testing.assert_close(rise, radius * norms(weight[None], dual(p)).expand(len(x)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [2, math.inf])
def test_the_attack_is_the_literal_loop(p):
    x, _, _ = data(n=3)
    model, y = net(), torch.tensor([0, 1, 2])
    ball = Ball(0.4, p, (0.0, 1.0))
    found = maximum_confidence(model, x, y, ball, steps=5, rate=0.15, keep="last")
    for one, label, wanted in zip(x, y, found, strict=True):

        def gradient(point, label=label):
            leaf = torch.tensor(point[None], requires_grad=True)
            return torch.autograd.grad(margin(model(leaf), label[None]).sum(), leaf)[0][0].numpy()

        np.testing.assert_allclose(oracle.climb(gradient, one.numpy(), 0.4, p, (0.0, 1.0), 5, 0.15), wanted.numpy(), atol=1e-5)


def test_the_best_point_is_never_worse_than_the_last_or_the_first():
    x, y, _ = data(3, n=40)
    model, ball = net(4), Ball(1.0, 2, (0.0, 1.0))
    best, last = (maximum_confidence(model, x, y, ball, steps=4, rate=0.9, keep=keep) for keep in ("best", "last"))
    at = {name: margin(model(points), y) for name, points in {"best": best, "last": last, "first": x}.items()}
    assert (at["best"] >= at["last"]).all()
    assert (at["best"] >= at["first"]).all()
    assert (at["best"] > at["last"]).any()


def test_of_two_classes_margin_and_cross_entropy_ascend_alike():
    x, y, weight = data()
    model, ball = linear(weight), Ball(0.5, 2, (0.0, 1.0))
    first, second = (maximum_confidence(model, x, y, ball, objective=one, keep="last") for one in (margin, loss))
    torch.testing.assert_close(first, second)


def test_the_model_keeps_its_parameters_and_gets_no_gradient():
    x, y, _ = data()
    model = net()
    before = [p.detach().clone() for p in model.parameters()]
    maximum_confidence(model, x, y, Ball(0.3), steps=2)
    assert all(p.grad is None and torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))


def test_a_security_curve_never_falls_and_begins_with_the_clean_error():
    x, y, _ = data(n=40)
    curve = security_curve(net(1), x, y, (0.0, 0.1, 0.4, 2.0), Ball(0.0, 2, (0.0, 1.0)), steps=5)
    assert curve.error[0] == missed(net(1), x, y).double().mean()
    assert (curve.error.diff() >= 0).all()
    assert curve.error[-1] > curve.error[0]
    assert (curve.norm <= curve.radii + 1e-9).all()


def test_against_another_model_the_curve_counts_that_ones_errors():
    x, y, _ = data(n=40)
    curve = security_curve(net(1), x, y, (0.0, 0.5), Ball(0.0), steps=3, target=net(2))
    assert curve.error[0] == missed(net(2), x, y).double().mean()


def test_logits_of_one_value():
    x, y, weight = data()
    torch.testing.assert_close(
        loss(logits_of(linear(weight), x), y), torch.nn.functional.softplus((1 - 2 * y) * (x @ weight + 0.1))
    )
    assert logits_of(lambda x: (x @ weight)[:, None], x).shape == (12, 2)


X, Y, W = data()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: maximum_confidence(linear(W), X * 3, Y, Ball(1.0, 2, (0.0, 1.0))), "within the box"),
        (lambda: maximum_confidence(linear(W), X, Y + 5, Ball(1.0)), "the model's 2 classes"),
        (lambda: maximum_confidence(linear(W), X, Y.double(), Ball(1.0)), "class indices"),
        (lambda: maximum_confidence(linear(W), X, Y[:3], Ball(1.0)), r"the shape \(12,\)"),
        (lambda: maximum_confidence(None, X, Y, Ball(1.0)), "`model` should be a model"),
        (lambda: maximum_confidence(linear(W), X, Y, 0.3), "`ball` should be a Ball"),
        (lambda: maximum_confidence(linear(W), X, Y, Ball(1.0), steps=0), "`steps` should be at least 1"),
        (lambda: maximum_confidence(linear(W), X, Y, Ball(1.0), rate=-1.0), "`rate` should be positive"),
        (lambda: maximum_confidence(linear(W), X, Y, Ball(1.0), keep="all"), "`keep` should be"),
        (lambda: maximum_confidence(lambda x: x.detach() @ W, X, Y, Ball(1.0)), "differentiable in x"),
        (lambda: maximum_confidence(lambda x: x.sum(), X, Y, Ball(1.0)), "should return logits"),
        (lambda: maximum_confidence(linear(W), X, Y, Ball(1.0), objective=torch.nn.functional.cross_entropy), "Do not reduce"),
        (lambda: maximum_confidence(linear(W), X.numpy(), Y, Ball(1.0)), "`x` should be a tensor"),
        (lambda: maximum_confidence(linear(W), (X * 9).long(), Y, Ball(1.0)), "`x` should hold floats"),
        (lambda: security_curve(linear(W), X, Y, (1.0, 0.5), Ball(1.0)), "ascending"),
        (lambda: security_curve(linear(W), X, Y[:, None], (0.0,), Ball(1.0)), r"the shape \(12,\)"),
        (lambda: security_curve(linear(W), X, Y + 1, (0.0,), Ball(1.0)), "the model's 2 classes"),
        (lambda: missed(linear(W), X, Y[:, None]), r"the shape \(12,\)"),
        (lambda: missed(linear(W), X, Y + 1), "the model's 2 classes"),
    ],
)
def test_bad_input(make, sentence, as_installed):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


@pytest.mark.parametrize("y", [[-100, 0], [0, 2]])
def test_a_label_of_no_class_costs_something_to_nobody(y):
    with pytest.raises(ValueError, match="`y` should be numbers from 0 to 1"):
        loss(torch.zeros(2, 2), torch.tensor(y))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8])
def test_labels_of_a_short_type_are_labels(dtype):
    for objective in (loss, margin):
        found, wanted = (maximum_confidence(linear(W), X, y, Ball(0.3), 2, objective=objective) for y in (Y.to(dtype), Y))
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("radii", [torch.tensor([0.0, 0.5]), np.array([0.0, 0.5])])
def test_radii_may_be_an_array(radii):
    found, wanted = (security_curve(linear(W), X, Y, one, Ball(0.0), steps=2) for one in (radii, (0.0, 0.5)))
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


DOORS = {
    "attack": lambda model, x, y: maximum_confidence(model, x, y, Ball(0.1), steps=2),
    "missed": missed,
    "curve": lambda model, x, y: security_curve(model, x, y, [0.1], Ball(0.1), steps=2),
    "gradient": input_gradient,
}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("of_model", "of_x"), [(torch.float32, torch.float64), (torch.float64, torch.float32)])
def test_inputs_in_another_precision_than_the_model_s_are_explained(of_model, of_x, door, wrapped):
    x, y, _ = data()
    model = net().to(of_model)
    asked = model.forward if wrapped else model  # of which nothing is known
    with pytest.raises(
        TypeError, match=rf"`x` should have the floating-point type.*Found {of_x} beside .*Convert one of the two"
    ):
        DOORS[door](asked, x.to(of_x), y)
    DOORS[door](asked, x.to(of_model), y)


def test_a_model_that_converts_may_have_other_inputs():
    x, y, _ = data()
    model = net().float()
    assert maximum_confidence(lambda x: model(x.float()), x, y, Ball(0.1), steps=2).dtype == torch.float64


def test_other_failures_of_a_model_keep_their_words():
    x, y, _ = data()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        missed(net(inputs=5), x, y)

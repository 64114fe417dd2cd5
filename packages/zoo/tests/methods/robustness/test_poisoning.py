import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

import robustness_oracles as oracle
from mechlearn_zoo.methods.robustness.poisoning import (
    Learner,
    Sample,
    decision,
    fit,
    flipped,
    joined,
    logistic,
    poison,
    poisoning_gradient,
    ridge,
    squared_hinge,
)


def samples(seed=0, d=4, n=24):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n + 10 + 3, d, generator=generator, dtype=torch.float64)
    y = (x[:, 0] + 0.4 * torch.randn(len(x), generator=generator, dtype=torch.float64) > 0.5).long()
    return Sample(x[:n], y[:n]), Sample(x[n : n + 10], y[n : n + 10]), Sample(x[n + 10 :], 1 - y[n + 10 :])


def test_the_fits_are_scikit_learns():
    train, _, _ = samples()
    found = fit(logistic(4, 0.1), train)
    theirs = LogisticRegression(C=1 / (0.1 * 24), tol=1e-12, max_iter=10_000).fit(train.x.numpy(), train.y.numpy())
    torch.testing.assert_close(found["weight"], torch.tensor(theirs.coef_[0]), atol=1e-6, rtol=0)
    torch.testing.assert_close(found["bias"], torch.tensor(theirs.intercept_[0]), atol=1e-6, rtol=0)
    found = fit(ridge(4, 0.1), train)
    theirs = Ridge(alpha=2.4).fit(train.x.numpy(), 2 * train.y.numpy() - 1)
    torch.testing.assert_close(found["weight"], torch.tensor(theirs.coef_), atol=1e-9, rtol=0)


def test_of_ridge_regression_the_gradient_is_the_closed_forms():
    train, validation, points = samples()

    def residual(params, x, y):
        return ((x * params["weight"]).sum(1) - (2 * y - 1)).square() / 2

    learner = Learner(residual, {"weight": torch.zeros(4, dtype=torch.float64)}, decay=0.1)
    params = fit(learner, joined(train, points))
    signed = [(2 * sample.y - 1).double() for sample in (train, points, validation)]
    torch.testing.assert_close(
        params["weight"], oracle.ridge(torch.cat([train.x, points.x]), torch.cat(signed[:2]), 0.1), atol=1e-10, rtol=0
    )
    wanted = oracle.ridge_poisoning_gradient(train.x, signed[0], points.x, signed[1], (validation.x, signed[2]), 0.1)
    torch.testing.assert_close(poisoning_gradient(learner, params, train, points, validation), wanted, atol=1e-10, rtol=0)


def test_of_logistic_regression_the_gradient_is_that_of_full_retraining():
    train, validation, points = samples()
    signed = [(2 * sample.y - 1).double() for sample in (train, points, validation)]

    def retrained(x):
        w = oracle.logistic(torch.cat([train.x, x]), torch.cat(signed[:2]), 0.05)
        return oracle.logistic_validation_loss(w, validation.x, signed[2])

    learner = logistic(4, 0.05)
    found = poisoning_gradient(learner, fit(learner, joined(train, points)), train, points, validation)
    torch.testing.assert_close(found, oracle.retrained_differences(retrained, points.x), atol=1e-8, rtol=1e-5)


@pytest.mark.parametrize("make", [logistic, ridge, squared_hinge])
def test_poison_raises_the_validation_loss_and_stays_in_the_box(make):
    train, validation, _ = samples(n=30)
    start = flipped(validation, 3, torch.Generator().manual_seed(0))
    found = poison(make(4, 0.05), train, validation, start, steps=6, rate=0.2, box=(0.0, 1.0))
    clean = fit(make(4, 0.05), train)
    learner = make(4, 0.05)
    clean_loss = learner.loss(clean, validation.x, validation.y).mean()
    assert found.losses[0] > clean_loss
    assert found.losses.max() > found.losses[0]
    assert learner.loss(found.params, validation.x, validation.y).mean() == found.losses.max()
    assert ((found.points.x >= 0) & (found.points.x <= 1)).all()
    assert torch.equal(found.points.y, start.y)


def test_flipped_labels_are_wrong_and_points_are_copies():
    train, _, _ = samples()
    found = flipped(train, 6, torch.Generator().manual_seed(1))
    for x, y in zip(*found, strict=True):
        place = int((train.x == x).all(1).nonzero()[0, 0])
        assert train.y[place] != y


def test_decay_makes_poison_weaker():
    train, validation, _ = samples(n=30)
    start = flipped(validation, 3, torch.Generator().manual_seed(0))
    rises = []
    for decay in (1e-3, 1.0):
        found = poison(logistic(4, decay), train, validation, start, steps=5, rate=0.2, box=(0.0, 1.0))
        clean = logistic(4, decay).loss(fit(logistic(4, decay), train), validation.x, validation.y).mean()
        rises.append(float(found.losses.max() - clean))
    assert rises[0] > 3 * rises[1]


def test_decisions():
    params = {"weight": torch.tensor([1.0, 2.0]), "bias": torch.tensor(0.5)}
    assert decision(params, torch.tensor([[1.0, 1.0]])).tolist() == [3.5]


def singular():
    train, validation, points = samples()
    twice = [Sample(torch.cat([s.x, s.x[:, :1] * 0 + 1], 1), s.y) for s in (train, validation, points)]
    learner = Learner(lambda p, x, y: ((x * p["w"]).sum(1) - y).square(), {"w": torch.zeros(5).double()})
    return learner, {"w": torch.ones(5).double()}, twice[0], twice[2], Sample(twice[1].x + 1, twice[1].y)


def flat():
    learner, params, train, points, validation = singular()
    zeroed = [Sample(torch.cat([s.x[:, :4], s.x[:, :1] * 0], 1), s.y) for s in (train, points)]
    return learner, params, *zeroed, validation


def column():
    train = samples()[0]
    return Sample(train.x, train.y[:, None])


def signs():
    train = samples()[0]
    return Sample(train.x, 2 * train.y - 1)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("make", [logistic, ridge, squared_hinge])
def test_labels_of_a_short_type_are_labels(make):
    train, learner = samples()[0], make(4, 0.1)
    params = {name: train.x.new_ones(value.shape, dtype=value.dtype) for name, value in learner.initial.items()}
    found, wanted = (learner.risk(params, Sample(train.x, y)) for y in (train.y.to(torch.uint8), train.y))
    assert found == wanted


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: poisoning_gradient(*flat()), "damping"),
        (lambda: logistic(4, -1.0), "`decay`"),
        (lambda: logistic(0, 1.0), "`features`"),
        (lambda: Learner(None, {"w": torch.zeros(2)}), "`loss`"),
        (lambda: Learner(lambda p, x, y: x, {}), "at least one parameter"),
        (lambda: Learner(lambda p, x, y: x, {"w": torch.zeros(2)}, decayed=frozenset({"v"})), "'v'"),
        (lambda: flipped(samples()[0], 100, torch.Generator()), "Draw fewer"),
        (
            lambda: poison(logistic(4, 0.1), *samples()[:2], samples()[2]._replace(x=samples()[2].x + 5), box=(0.0, 1.0)),
            "within the box",
        ),
        (lambda: poison(logistic(4, 0.1), *samples()[:2], samples(d=3)[2]), "of the shape"),
        (
            lambda: poison(logistic(4, 0.1), column(), *samples()[1:]),
            r"`train.y` should have the shape \(24,\). Found \(24, 1\)",
        ),
        (lambda: fit(ridge(4, 0.1), column()), r"`sample.y` should have the shape \(24,\)"),
        (lambda: fit(squared_hinge(4, 0.1), signs()), "`y` should be numbers from 0 to 1. Found -1 to 1. Call the two"),
        (
            lambda: fit(logistic(1, 0.0), Sample(torch.tensor([[0.0], [1.0]]).double(), torch.tensor([0, 1])), steps=5),
            "Raise the decay",
        ),
    ],
)
def test_bad_input(make, sentence, as_installed):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=sentence):
        make()


def test_damping_is_the_way_out():
    learner, *rest = flat()
    damped = Learner(learner.loss, learner.initial, damping=1e-3)
    assert poisoning_gradient(damped, *rest).isfinite().all()

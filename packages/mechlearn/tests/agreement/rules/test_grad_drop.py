"""`GradDrop`, against algorithm 1 of its paper component by component, and through an agreement."""

import copy

import pytest
import torch

from mechlearn.agreement import Agreement, GradDrop, Mean, Statistics, combine
from mechlearn.environments import group
from mechlearn.penalties.gradients import environment_gradients
from small_models import batch, make, squared


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def literal(g, uniform):
    """Lines 10 to 15 of algorithm 1, without leak, over E."""
    found = []
    for column, u in zip(g.view(len(g), -1).T.tolist(), uniform.flatten().tolist(), strict=True):
        size = sum(map(abs, column))
        purity = (1 + sum(column) / size) / 2 if size else 0.0
        found.append(sum(x for x in column if (x > 0 if purity > u else x < 0)) / len(column))
    return torch.tensor(found, dtype=g.dtype).view(g.shape[1:])


@pytest.mark.parametrize(("environments", "shape"), [(1, (4, 3)), (2, (50,)), (3, ()), (5, (20, 3)), (2, (0, 2))])
def test_the_rule_is_its_algorithm(environments, shape):
    for seed in range(5):
        g = torch.randn(environments, *shape, dtype=torch.float64, generator=seeded(seed))
        g *= torch.rand(g.shape, generator=seeded(seed + 10)) > 0.3
        uniform = torch.rand(shape, dtype=torch.float64, generator=seeded(seed))
        found = combine(GradDrop(seeded(seed)), g)
        torch.testing.assert_close(found.gradient, literal(g, uniform), rtol=1e-13, atol=1e-14)
        assert bool(found.survives.all())


def test_its_expectation_is_the_mean_gradient():
    g = torch.randn(4, 6, dtype=torch.float64, generator=seeded(0))
    draws = 20_000
    mean = combine(GradDrop(seeded(1)), g[:, None].expand(4, draws, 6)).gradient.mean(0)
    assert bool(((mean - g.mean(0)).abs() < 4 * g.abs().mean(0) / draws**0.5).all())


def test_what_all_agree_on_is_the_mean_whatever_is_drawn():
    g = torch.rand(5, 1000, generator=seeded(0))
    g[:, ::2] *= -1
    for seed in range(5):
        assert torch.equal(combine(GradDrop(seeded(seed)), g).gradient, g.sum(0) / 5)


def test_statistics_stay_as_they_are_and_a_seed_gives_the_same():
    g = torch.randn(3, 8, generator=seeded(0))
    statistics = Statistics(3, g.sum(0), magnitude=g.abs().sum(0))
    before = statistics.clone()
    first, second = GradDrop(seeded(4))(statistics), GradDrop(seeded(4))(statistics)
    assert torch.equal(first.gradient, second.gradient)
    assert torch.equal(statistics.gradient, before.gradient)
    assert torch.equal(statistics.magnitude, before.magnitude)


def test_an_agreement_forms_it_in_one_pass():
    model = make("mlp", 1)
    x, y, ids = batch(1, [0, 1, 1, 2, 0, 2])
    losses = squared(model(x), y)
    rows = environment_gradients(losses, group(losses, ids), list(model.parameters()), create_graph=False)
    agreement = Agreement(model, GradDrop(seeded(3)))
    record = agreement.backward(squared(model(x), y), ids)
    assert record.share == 1
    assert set(record.paths.values()) == {"layer"}
    positive, negative = rows.clamp(min=0).sum(0) / 3, rows.clamp(max=0).sum(0) / 3
    found = torch.cat([p.grad.flatten() for p in model.parameters()])
    close = [torch.isclose(found, side, rtol=1e-6, atol=1e-9) for side in (positive, negative)]
    assert bool((close[0] | close[1]).all())
    assert 0.2 < float(close[0].double().mean()) < 0.8


def test_it_prints_alike_on_every_rank_and_copies():
    assert repr(GradDrop(seeded(0))) == repr(GradDrop(seeded(1))) == "GradDrop()"
    assert GradDrop(seeded(0)) != Mean()
    copied = copy.copy(GradDrop(seeded(0)))
    assert copied.needs == frozenset({"magnitude"})


@pytest.mark.usefixtures("as_installed")
def test_no_generator_is_not_the_global_one():
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        GradDrop(None)
    with pytest.raises(ValueError, match=r"The rule reads statistics\.magnitude"):
        GradDrop(seeded(0))(Statistics(2, torch.ones(3)))

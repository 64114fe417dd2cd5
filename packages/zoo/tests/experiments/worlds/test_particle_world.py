import math

import pytest
import torch

from mechlearn_zoo.experiments.worlds.particle_language.particle_world import begin, distances, seen, step


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def turned(world, angle, shift):
    c, s = math.cos(angle), math.sin(angle)
    turn = torch.tensor([[c, -s], [s, c]])
    moved = world._replace(places=world.places @ turn.T + shift, landmarks=world.landmarks @ turn.T + shift)
    return moved._replace(speeds=world.speeds @ turn.T, frames=world.frames @ turn.T), turn


def test_a_turned_world_looks_and_moves_the_same():
    world = begin(3, 2, 4, generator())
    world = step(world, torch.randn(3, 2, 2, generator=generator(1)))
    other, turn = turned(world, 0.7, torch.tensor([0.3, -2.0]))
    torch.testing.assert_close(seen(other), seen(world), rtol=0, atol=1e-5)
    forces = torch.randn(3, 2, 2, generator=generator(2))
    one, two = step(world, forces), step(other, forces)
    torch.testing.assert_close(two.places, one.places @ turn.T + torch.tensor([0.3, -2.0]), rtol=0, atol=1e-5)
    goals = torch.tensor([[0, 3]] * 3)
    torch.testing.assert_close(distances(two, goals), distances(one, goals), rtol=0, atol=1e-5)


def test_a_step_is_the_formula_and_differentiable():
    world = begin(1, 1, 2, generator())._replace(frames=torch.eye(2)[None, None], speeds=torch.tensor([[[1.0, 2.0]]]))
    force = torch.tensor([[[3.0, 0.0]]], requires_grad=True)
    after = step(world, force, time=0.1, damping=0.5)
    torch.testing.assert_close(after.speeds, torch.tensor([[[0.8, 1.0]]]))
    torch.testing.assert_close(after.places, world.places + torch.tensor([[[0.08, 0.1]]]))
    (gradient,) = torch.autograd.grad(after.places.sum(), force)
    torch.testing.assert_close(gradient, torch.full((1, 1, 2), 0.01))
    assert sorted(world.colours[0].tolist()) == [0, 1]
    assert torch.equal(begin(1, 1, 2, generator()).places, world.places)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("forces", "error", "match"),
    [
        (torch.tensor([[[0.0, 0.0], [0.0, math.nan]]]), ValueError, r"`forces` should be finite\. Found nan at \(0, 1, 1\)"),
        (torch.full((1, 2, 2), math.inf), ValueError, "`forces` should be finite"),
        (torch.zeros(1, 2, 3), ValueError, r"`forces` should have the shape \(1, 2, 2\)\. Found \(1, 2, 3\)"),
        (torch.zeros(1, 2, 2, dtype=torch.float64), TypeError, r"of the type torch\.float32\. Found torch\.float64"),
        (torch.zeros(1, 2, 2, dtype=torch.int64), TypeError, "`forces` should hold floating numbers"),
        (None, TypeError, "`forces` should be a tensor"),
    ],
)
def test_a_refused_step_leaves_the_world_as_it_was(forces, error, match):
    world = step(begin(1, 2, 2, generator()), torch.ones(1, 2, 2))
    before = [part.clone() for part in world]
    with pytest.raises(error, match=match):
        step(world, forces)
    assert all(torch.equal(one, other) for one, other in zip(world, before, strict=True))


@pytest.mark.usefixtures("as_installed")
def test_goals_that_there_are_not_are_refused():
    world = begin(1, 2, 3, generator())
    with pytest.raises(ValueError, match=r"`goals` should be numbers from 0 to 2\. Found 0 to 3"):
        distances(world, torch.tensor([[0, 3]]))
    short = torch.tensor([[0, 2]], dtype=torch.int8)
    assert torch.equal(distances(world, short), distances(world, short.long()))
    with pytest.raises(TypeError, match="`goals` should hold whole numbers"):
        distances(world, torch.zeros(1, 2))


def test_refusals():
    world = begin(1, 2, 2, generator())
    with pytest.raises(ValueError, match="`time` should be positive"):
        step(world, torch.zeros(1, 2, 2), time=0.0)
    with pytest.raises(ValueError, match="`agents` should be at least 1"):
        begin(1, 0, 2, generator())

import math

import pytest
import torch

from craik.tasks.agents.particle_world import begin, distances, seen, step


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


def test_refusals():
    world = begin(1, 2, 2, generator())
    with pytest.raises(ValueError, match="`time` should be positive"):
        step(world, torch.zeros(1, 2, 2), time=0.0)
    with pytest.raises(ValueError, match="`agents` should be at least 1"):
        begin(1, 0, 2, generator())

import pytest
import torch

from mechlearn_zoo.tasks.bodies.motions import ball, double_pendulum, oscillator, pendulum, stopping_ball, waiting_ball


@pytest.mark.parametrize(
    ("motion", "features"), [(pendulum, 3), (double_pendulum, 6), (ball, 4), (waiting_ball, 4), (oscillator, 4)]
)
def test_the_seed_decides(motion, features):
    one = motion(0, 5, 9)
    assert one.shape == (5, 9, features)
    assert torch.equal(one, motion(0, 5, 9))
    assert not torch.equal(one, motion(1, 5, 9))


def test_a_pendulum_keeps_its_energy():
    cosine, sine, speed = pendulum(0, 20, 40).unbind(-1)
    torch.testing.assert_close(cosine.square() + sine.square(), torch.ones_like(cosine))
    energy = speed.square() / 2 - cosine
    assert (energy - energy[:, :1]).abs().max() < 1e-6


def test_a_double_pendulum_keeps_its_energy():
    found = double_pendulum(0, 20, 40)
    (a, b), (sine_a, sine_b), (u, v) = (found[..., 2 * k : 2 * k + 2].unbind(-1) for k in range(3))
    between = a * b + sine_a * sine_b
    energy = u.square() + v.square() / 2 + u * v * between - 2 * a - b
    assert (energy - energy[:, :1]).abs().max() < 2e-3
    assert (found[:, 0, 4:] == 0).all()


def test_a_ball_waits_at_walls_only_and_goes_on_where_it_was():
    free, waiting = ball(3, 50, 40), waiting_ball(3, 50, 40)
    for path in (free, waiting):
        assert path[..., :2].min() >= 0
        assert path[..., :2].max() <= 1
    still = (waiting[:, 1:, :2] == waiting[:, :-1, :2]).all(-1)
    at_wall = ((waiting[..., :2] == 0) | (waiting[..., :2] == 1)).any(-1)
    assert still.any()
    assert at_wall[:, :-1][still].all()
    assert not (free[:, 1:, :2] == free[:, :-1, :2]).all(-1).any()
    assert torch.equal(ball(3, 50, 40, waits=0), free)
    with pytest.raises(ValueError, match="Found -1"):
        ball(0, 2, 3, waits=-1)


def test_balls_stop_where_their_start_says_whenever():
    found = stopping_ball(0, 200, 33)
    assert bool((found[:, -1] == found[:, -2]).all())
    assert bool((found[:, 27] == found[:, -1]).all())
    assert bool((found[:, -1, 2:] == 0).all())
    x, y, u, v = found[:, 0].unbind(-1)
    at_wall = found[:, -1, 0]
    assert bool(((at_wall == 0) | (at_wall == 1)).all())
    assert bool((at_wall == (u < 0).double()).all())  # the wall across from the one it came to first
    assert bool(((found[..., :2] >= 0) & (found[..., :2] <= 1)).all())
    assert not torch.equal(stopping_ball(1, 5, 33), stopping_ball(0, 5, 33))
    assert bool((v.abs() <= 0.12).all())
    assert bool((y >= 0).all())
    assert bool((x >= 0).all())


def test_an_oscillator_is_linear():
    found = oscillator(0, 40, 9)
    step = torch.linalg.lstsq(found[:, 0], found[:, 1]).solution
    torch.testing.assert_close(found[:, 7] @ step, found[:, 8], rtol=0, atol=1e-10)
    assert float(found[:, -1].norm()) < float(found[:, 0].norm())


@pytest.mark.parametrize("motion", [pendulum, double_pendulum, ball, waiting_ball, stopping_ball, oscillator])
def test_no_trajectory_or_frame_is_refused(motion):
    for frames in (0, -3):
        with pytest.raises(ValueError, match=rf"`frames` should be at least 1. Found {frames}"):
            motion(0, 2, frames)
    with pytest.raises(ValueError, match="`count` should be at least 1"):
        motion(0, 0, 2)
    assert motion(0, 2, 1).shape[:2] == (2, 1)

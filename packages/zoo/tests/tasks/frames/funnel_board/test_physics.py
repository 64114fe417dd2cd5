import math
from dataclasses import replace

import numpy as np
import pytest

from mechlearn_zoo.tasks.frames.funnel_board import PUBLISHED, SMALL, BallPhysics, FallRecording
from mechlearn_zoo.tasks.frames.funnel_board.geometry import Board, Slider, sample_board
from mechlearn_zoo.tasks.frames.funnel_board.physics import simulate, thrown
from mechlearn_zoo.tasks.generation import Rejected

FINE = replace(SMALL, physics=BallPhysics(substeps=8), recording=FallRecording(4, frame_every=1))


def empty(x=0.0, **parts):
    return Board(**{"start": (x, 3.5), "sliders": (), "funnels": (), "platforms": (-3.75, -1.25, 1.25, 3.75), **parts})


def test_a_free_fall_follows_the_parabola():
    path = simulate(FINE, empty(1.25)).positions
    seconds = np.arange(len(path)) * FINE.physics.time_step
    # Chipmunk moves a body before it changes its velocity, so half a substep's fall less than g t^2 / 2.
    expected = 3.5 - FINE.physics.gravity * seconds * (seconds - FINE.physics.time_step / FINE.physics.substeps) / 2
    assert path[:-1, 1] == pytest.approx(expected[:-1], abs=1e-4)
    assert np.all(path[:, 0] == 1.25)
    assert abs(path[-1, 1] + 4.5) < 0.1
    assert expected[-1] <= -4.5 < path[-2, 1]


@pytest.mark.parametrize(("slider", "ball", "larger"), [(0.1, 0.2, 0.2), (0.6, 0.2, 0.6), (0.02, 0.05, 0.05)])
def test_the_larger_restitution_holds(slider, ball, larger):
    physics = BallPhysics(slider_restitution=slider, ball_restitution=ball, friction=0.0, substeps=64)
    flat = empty(0.0, sliders=(Slider(0.0, 0.0, 1.5, 0.0),))
    path = heights(replace(FINE, physics=physics, recording=FallRecording(max_steps=100)), flat)
    landing = int(np.argmax(np.diff(path) > 0))
    rise = path[landing:].max() - 0.35
    assert math.sqrt(rise / (3.5 - 0.35)) == pytest.approx(larger, abs=0.02)


def heights(settings, board):
    """The ball's height in every step, landed or not: of a board where the end of the fall is never reached."""
    from mechlearn_zoo.tasks.frames.funnel_board import physics

    space, ball = physics._build(settings, board)
    path = []
    for _ in range(settings.recording.max_steps):
        physics._step(settings, space, ball)
        path.append(ball.position.y)
    return np.array(path)


def test_a_tilted_slider_leads_the_ball_down_its_slope():
    for angle in (0.5, -0.5):
        path = simulate(FINE, empty(0.0, sliders=(Slider(0.0, 1.0, 1.5, angle),))).positions
        assert np.sign(path[-1, 0]) == -np.sign(angle)


def test_no_ball_passes_through_an_obstacle():
    """From 21 units high the ball is as fast as it gets; it must come to rest on a bar that is thinner than itself."""
    board = Board((0.0, 9.5), (Slider(0.0, -9.0, 1.5, 0.0),), (), (-5.0, -2.5, 0.0, 2.5, 5.0))
    assert simulate(PUBLISHED, board) == Rejected("timed out")


def test_a_ball_beside_the_board_is_rejected():
    board = empty(4.9, sliders=(Slider(4.4, 2.0, 1.6, -0.6),))
    assert simulate(FINE, board) == Rejected("left the board")


def test_a_ball_between_platforms_is_rejected():
    assert simulate(FINE, empty(0.0)) == Rejected("missed the platforms")


def test_frames_are_every_third_step_and_show_the_end():
    board = sample_board(SMALL, np.random.default_rng(3))
    every, third = simulate(FINE, board).positions, simulate(SMALL, board).positions
    assert np.array_equal(third[: (len(every) + 2) // 3], every[::3])
    assert abs(third[-1, 1] + 4.5) < 0.2


def test_the_label_is_the_platform_below():
    assert [simulate(FINE, empty(x)).platform for x in (-3.75, -1.25, 1.25, 3.75)] == [0, 1, 2, 3]


def test_a_ball_that_is_thrown_goes_sideways_and_falls_as_one_that_is_dropped():
    board, sideways, end = empty(0.0), (0.5, 0.0), -0.5
    dropped, away = (thrown(FINE, board, velocity, end) for velocity in ((0.0, 0.0), sideways))
    np.testing.assert_allclose(away[:, 1], dropped[:, 1], atol=1e-6)
    np.testing.assert_allclose(np.diff(away[:, 0]), 0.5 * FINE.physics.time_step, atol=1e-6)
    assert dropped[-1, 1] <= end < dropped[-2, 1]

"""The fall of the ball, with pymunk.

Box2D, with which the published boards were made, takes the larger restitution of the two that collide; Chipmunk (pymunk)
multiplies them. With elasticity 1 for the ball and max(obstacle, ball) for each obstacle the product is that maximum. The
same with friction: Box2D takes the geometric mean of the two, which were equal; here the ball has 1.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from mechlearn_zoo.tasks.frames.funnel_board.geometry import (
    PLATFORM_SIZE,
    Board,
    funnel_outlines,
    platform_outline,
    slider_outline,
)
from mechlearn_zoo.tasks.frames.funnel_board.presets import FunnelBoardSettings
from mechlearn_zoo.tasks.generation import Rejected

if TYPE_CHECKING:
    from pymunk import Body, Space


class Fall(NamedTuple):
    """A ball's fall: its centre at every frame, from the start to the platform, and the platform it reached."""

    positions: Float[np.ndarray, "frames 2"]
    platform: int


def simulate(settings: FunnelBoardSettings, board: Board) -> Fall | Rejected:
    """Drop the ball and follow it to a platform.

    A frame is taken every `frame_every` steps from the start on; the last one shows the ball on its platform.

    Returns:
        The fall, or why it may not be used: "timed out", "left the board" or "missed the platforms".
    """
    recording, (space, ball) = settings.recording, _build(settings, board)
    path, landed = [_position(ball)], False
    while not landed:
        if len(path) > recording.max_steps:
            return Rejected("timed out")
        landed = _step(settings, space, ball)
        path.append(_position(ball))
        if abs(path[-1][0]) > settings.geometry.half_width:
            return Rejected("left the board")
    platform = int(np.argmin(np.abs(np.subtract(board.platforms, path[-1][0]))))
    if abs(board.platforms[platform] - path[-1][0]) > PLATFORM_SIZE[0] / 2:
        return Rejected("missed the platforms")
    while (len(path) - 1) % recording.frame_every:
        _step(settings, space, ball)
        path.append(_position(ball))
    return Fall(np.array(path[:: recording.frame_every], dtype=np.float32), platform)


def thrown(
    settings: FunnelBoardSettings, board: Board, velocity: tuple[float, float], until: float
) -> Float[np.ndarray, "_ 2"]:
    """Let the ball go with a velocity and return its centre at every step of the simulation, until it is below a height.

    Args:
        settings: of the board; a ball that never comes down is followed for `max_steps`.
        board: what it falls through; the ball starts at its start.
        velocity: horizontal and vertical, world units a second.
        until: the height.
    """
    space, ball = _build(settings, board)
    ball.velocity = velocity
    path = [_position(ball)]
    while path[-1][1] > until and len(path) <= settings.recording.max_steps:
        _step(settings, space, ball)
        path.append(_position(ball))
    return np.array(path)


def _build(settings: FunnelBoardSettings, board: Board) -> "tuple[Space, Body]":
    import pymunk  # noqa: PLC0415 # slow to load: only making new worlds needs it

    physics, radius = settings.physics, settings.geometry.ball_radius
    space = pymunk.Space()
    space.gravity = (0.0, -physics.gravity)
    # Chipmunk's own slop, 0.1, is meant for units of a pixel; Box2D's is 0.005 units.
    space.collision_slop = 0.005
    obstacles = [(slider_outline(slider)[None], physics.slider_restitution) for slider in board.sliders]
    obstacles += [(funnel_outlines(funnel), funnel.restitution) for funnel in board.funnels if funnel is not None]
    obstacles += [(platform_outline(settings.geometry, x)[None], 0.0) for x in board.platforms]
    for outlines, restitution in obstacles:
        for corners in outlines.tolist():
            shape = pymunk.Poly(space.static_body, corners)
            shape.elasticity = max(restitution, physics.ball_restitution)
            shape.friction = physics.friction
            space.add(shape)
    ball = pymunk.Body(1.0, pymunk.moment_for_circle(1.0, 0.0, radius))
    ball.position = board.start
    circle = pymunk.Circle(ball, radius)
    circle.elasticity, circle.friction = 1.0, 1.0
    space.add(ball, circle)
    return space, ball


def _step(settings: FunnelBoardSettings, space: "Space", ball: "Body") -> bool:
    """Simulate one step and say whether the ball was at the end of its fall in any part of it: it may bounce off again."""
    physics, landed = settings.physics, False
    for _ in range(physics.substeps):
        space.step(physics.time_step / physics.substeps)
        landed = landed or ball.position.y <= -settings.geometry.half_height
    return landed


def _position(ball: "Body") -> tuple[float, float]:
    return ball.position.x, ball.position.y

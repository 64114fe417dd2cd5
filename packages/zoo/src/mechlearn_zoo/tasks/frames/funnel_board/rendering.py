"""Pictures of a Funnel board: the board alone, the moving parts alone, and both as RGB.

The ball's previous position is shown as a trace, in the published way: where a frame is brighter (in the mean of its
channels) than the frame before, red is lowered by the difference; where it is darker, green is. On white, the ball
leaves a cyan trace.
"""

import numpy as np
from jaxtyping import Float, UInt8

from mechlearn_zoo.tasks.frames.drawing import discs_coverage, over, polygons_coverage, to_uint8
from mechlearn_zoo.tasks.frames.funnel_board.geometry import Board, funnel_outlines, platform_outline, slider_outline
from mechlearn_zoo.tasks.frames.funnel_board.presets import PLATFORM_COLOURS, FunnelBoardSettings

CAMERA_DROP = 0.5
"""The picture's centre lies so many world units below the board's, so that the platforms are in it."""
BALL_COLOUR = (0.0, 0.0, 1.0)
OBSTACLE_COLOUR = (0.0, 0.0, 0.0)


def to_pixels(settings: FunnelBoardSettings, points: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n 2"]:
    """Return world positions as positions in the picture: x to the right, y down."""
    geometry = settings.geometry
    corner = np.array([-geometry.half_width, geometry.half_height - CAMERA_DROP])
    return (np.asarray(points) - corner) * np.array([1, -1]) * settings.recording.pixels_per_unit


def draw_board(settings: FunnelBoardSettings, board: Board) -> UInt8[np.ndarray, "3 height width"]:
    """Draw the board without its ball: black obstacles and coloured platforms on white."""
    height, width = settings.shape
    sliders = np.stack([slider_outline(slider) for slider in board.sliders])
    funnels = np.concatenate([funnel_outlines(funnel) for funnel in board.funnels if funnel is not None])
    obstacles = [to_pixels(settings, outlines) for outlines in (sliders, funnels)]
    image = np.ones((3, height, width), dtype=np.float32)
    image = over(image, polygons_coverage(obstacles, height, width), OBSTACLE_COLOUR)
    for x, colour in zip(board.platforms, PLATFORM_COLOURS, strict=False):
        outline = to_pixels(settings, platform_outline(settings.geometry, x)[None])
        image = over(image, polygons_coverage([outline], height, width), colour)
    return to_uint8(image)


def draw_moving(
    settings: FunnelBoardSettings, positions: Float[np.ndarray, "time 2"]
) -> UInt8[np.ndarray, "time 2 height width"]:
    """Draw the moving parts: the ball now, and the ball in the frame before (nothing in the first frame)."""
    ball = _draw_ball(settings, positions)
    trace = np.concatenate([np.zeros_like(ball[:1]), ball[:-1]])
    return to_uint8(np.stack([ball, trace], axis=1))


def draw_frames(
    settings: FunnelBoardSettings, image: UInt8[np.ndarray, "3 height width"], positions: Float[np.ndarray, "time 2"]
) -> UInt8[np.ndarray, "time 3 height width"]:
    """Draw the ball and its trace into the picture of a board."""
    frames = over(image.astype(np.float32) / 255, _draw_ball(settings, positions), BALL_COLOUR)
    brightness = frames.mean(axis=1)
    change = np.diff(brightness, axis=0, prepend=brightness[:1])
    frames[:, 0] -= np.maximum(change, 0)
    frames[:, 1] += np.minimum(change, 0)
    return to_uint8(frames)


def _draw_ball(settings: FunnelBoardSettings, positions: Float[np.ndarray, "time 2"]) -> Float[np.ndarray, "time height width"]:
    height, width = settings.shape
    radius = settings.geometry.ball_radius * settings.recording.pixels_per_unit
    return discs_coverage(to_pixels(settings, positions), radius, height, width)

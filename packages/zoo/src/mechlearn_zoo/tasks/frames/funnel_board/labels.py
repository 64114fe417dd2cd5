"""The fixed reader of a Funnel board's label: on which platform the ball is, if it is at one.

The ball counts as landed in a strip of `STRIP` world units above the platforms, below the necks of the last funnels: from
there it can only fall onto the platform of its column. A frame says nothing until half a ball is seen in one column of
the strip; of a sequence, the first frame that says something decides. On true frames of the presets this is always right; of
pictures with one pixel a unit it is wrong now and then.
"""

import numpy as np
from jaxtyping import Float, Int, Shaped

from mechlearn_zoo.tasks.frames.funnel_board.presets import SPACING_X, FunnelBoardSettings
from mechlearn_zoo.tasks.frames.reading import NOTHING, as_shares

STRIP = 1.25
"""Height of the strip above the end of the fall, in world units."""
FAINT = 0.3
"""What is fainter than this does not count as ball; the published reader has the same threshold."""


def ball_in_pixels(frames: Shaped[np.ndarray, "*n 3 height width"]) -> Float[np.ndarray, "*n height width"]:
    """Return how much each pixel looks like the ball: (1 - red)(1 - green) blue, of colours in [0, 1] or uint8."""
    red, green, blue = np.moveaxis(as_shares(frames), -3, 0)
    return (1 - red) * (1 - green) * blue


def platform_masses(
    ball: Shaped[np.ndarray, "*n height width"], settings: FunnelBoardSettings
) -> Float[np.ndarray, "*n platforms"]:
    """Return how much ball there is above each platform, in shares of a whole ball.

    Args:
        ball: how much of each pixel is ball, in [0, 1] or uint8: `ball_in_pixels`, or the first channel of moving parts.
        settings: of the boards.
    """
    ball = as_shares(ball)
    geometry = settings.geometry
    scale, (_, width) = settings.recording.pixels_per_unit, settings.shape
    end = 2 * geometry.half_height - 0.5  # the picture's upper edge is half a unit below the board's
    strip = ball[..., round((end - STRIP) * scale) : int((end + geometry.ball_radius) * scale), :]
    clear = np.where(strip > FAINT, strip, 0).sum(axis=-2)
    edges = np.round(np.arange(geometry.platforms) * SPACING_X * scale).astype(int)
    whole = np.pi * (geometry.ball_radius * scale) ** 2
    return np.add.reduceat(clear[..., :width], edges, axis=-1) / whole


def read_frames(
    ball: Shaped[np.ndarray, "*n height width"], settings: FunnelBoardSettings, enough: float = 0.5
) -> Int[np.ndarray, "*n"]:
    """Return each frame's label, `NOTHING` where no platform has enough of the ball (a share of a whole one)."""
    masses = platform_masses(ball, settings)
    return np.where(masses.max(axis=-1) >= enough, masses.argmax(axis=-1), NOTHING)

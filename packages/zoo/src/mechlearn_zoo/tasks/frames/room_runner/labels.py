"""The fixed reader of a runner's label: which coloured room it stands in, if it stands in one.

The coloured rooms are read from the picture. A frame says nothing until a quarter of a runner is seen in one of them; of a
sequence, the first frame that says something decides (`mechlearn_zoo.tasks.frames.reading`). On true frames of the presets this
is always right; with `pixels_per_unit` 1, `steps_after` 1 or an `acceleration_noise` of 20 and more it is wrong now and then.
"""

import numpy as np
from jaxtyping import Float, Int, Shaped

from mechlearn_zoo.tasks.frames.reading import NOTHING, as_shares
from mechlearn_zoo.tasks.frames.room_runner.presets import RoomRunnerSettings
from mechlearn_zoo.tasks.frames.room_runner.rendering import DRAWN_RADIUS, RUNNER

FAINT = 0.3
"""What is fainter than this does not count as runner."""
COLOURED = 0.15
"""What is as much in one colour belongs to a coloured room; the published reader has the same threshold."""


def runner_in_pixels(frames: Shaped[np.ndarray, "*n 3 height width"]) -> Float[np.ndarray, "*n height width"]:
    """Return how much each pixel looks like the runner, 1 for its own colour: (1 - red) green (1 - blue), divided."""
    red, green, blue = np.moveaxis(as_shares(frames), -3, 0)
    return (1 - red) * green * (1 - blue) / RUNNER[1]


def room_masses(
    runner: Shaped[np.ndarray, "*#n height width"],
    image: Shaped[np.ndarray, "*#n 3 height width"],
    settings: RoomRunnerSettings,
) -> Float[np.ndarray, "*n 2"]:
    """Return how much of the runner there is in the red and in the blue room, in shares of a whole runner.

    Args:
        runner: how much of each pixel is runner, in [0, 1] or uint8: `runner_in_pixels`, or the one channel of moving parts.
        image: of the building without its runner, or with the runner elsewhere (the first frame).
        settings: of the buildings.
    """
    red, green, blue = np.moveaxis(as_shares(image), -3, 0)
    rooms = np.stack([red * (1 - green) * (1 - blue), (1 - red) * (1 - green) * blue], axis=-3) > COLOURED
    share = as_shares(runner)
    clear = np.where(share > FAINT, share, 0)[..., None, :, :]
    return (clear * rooms).sum(axis=(-1, -2)) / (2 * DRAWN_RADIUS * settings.recording.pixels_per_unit) ** 2


def read_frames(
    runner: Shaped[np.ndarray, "*#n height width"],
    image: Shaped[np.ndarray, "*#n 3 height width"],
    settings: RoomRunnerSettings,
    enough: float = 0.25,
) -> Int[np.ndarray, "*n"]:
    """Return each frame's label, 0 red or 1 blue, `NOTHING` where neither room has enough of the runner."""
    masses = room_masses(runner, image, settings)
    return np.where(masses.max(axis=-1) >= enough, masses.argmax(axis=-1), NOTHING)

"""Buildings, the walks of their runners, and the colour reached as the label, 0 red or 1 blue: Room runner as a simulation."""

import numpy as np

from mechlearn_zoo.tasks.frames.episodes import Episode, Simulation
from mechlearn_zoo.tasks.frames.room_runner import labels, rendering
from mechlearn_zoo.tasks.frames.room_runner.buildings import layout_vector, sample_building
from mechlearn_zoo.tasks.frames.room_runner.physics import simulate
from mechlearn_zoo.tasks.frames.room_runner.presets import PUBLISHED, RoomRunnerSettings
from mechlearn_zoo.tasks.generation import Rejected

VERSION = 1
"""Of what is drawn. Raise it when the same seed gives other episodes, whether by physics, buildings, pictures or the order of
random draws, here, in `mechlearn_zoo.tasks.frames.drawing` or in `mechlearn_zoo.tasks.generation`: files of older versions are
then left."""


def sample(settings: RoomRunnerSettings, generator: np.random.Generator) -> Episode | Rejected:
    """Draw a building and let a runner walk through it."""
    building = sample_building(settings.geometry, generator)
    if isinstance(building, Rejected):
        return building
    path = simulate(settings, building, generator)
    if isinstance(path, Rejected):
        return path
    return Episode(rendering.draw_building(settings, building), layout_vector(building), path, building.label)


ROOM_RUNNER = Simulation(
    name="room-runner",
    version=VERSION,
    published=PUBLISHED,
    sample=sample,
    draw_frames=rendering.draw_frames,
    draw_moving=rendering.draw_moving,
    find=labels.runner_in_pixels,
    read=labels.read_frames,
)
"""The moving part is the runner."""

"""Room runner: a green runner walks through random rooms to a dead end, red or blue (thesis section 2.3.1)."""

from mechlearn_zoo.tasks.frames.room_runner.labels import read_frames as read_frames
from mechlearn_zoo.tasks.frames.room_runner.labels import runner_in_pixels as runner_in_pixels
from mechlearn_zoo.tasks.frames.room_runner.presets import HALF as HALF
from mechlearn_zoo.tasks.frames.room_runner.presets import PRESETS as PRESETS
from mechlearn_zoo.tasks.frames.room_runner.presets import PUBLISHED as PUBLISHED
from mechlearn_zoo.tasks.frames.room_runner.presets import SMALL as SMALL
from mechlearn_zoo.tasks.frames.room_runner.presets import BuildingGeometry as BuildingGeometry
from mechlearn_zoo.tasks.frames.room_runner.presets import RoomRunnerSettings as RoomRunnerSettings
from mechlearn_zoo.tasks.frames.room_runner.presets import RunnerPhysics as RunnerPhysics
from mechlearn_zoo.tasks.frames.room_runner.presets import WalkRecording as WalkRecording
from mechlearn_zoo.tasks.frames.room_runner.runs import ROOM_RUNNER as ROOM_RUNNER

generate = ROOM_RUNNER.generate
"""Draws episodes; see `mechlearn_zoo.tasks.frames.episodes.Simulation.generate`."""

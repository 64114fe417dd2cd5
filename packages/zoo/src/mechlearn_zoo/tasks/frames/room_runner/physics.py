"""The runner's walk, with pymunk: it is pushed towards the next door, dragged back by its speed, and bumps into walls.

Box2D, with which the published runs were made, takes the larger of two restitutions and the geometric mean of two
frictions; pymunk multiplies both, so the runner has 1 of each and the walls have what the pair had.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from mechlearn_zoo.tasks.frames.room_runner.buildings import Building, Room
from mechlearn_zoo.tasks.frames.room_runner.presets import RoomRunnerSettings, RunnerPhysics
from mechlearn_zoo.tasks.generation import Rejected

if TYPE_CHECKING:
    from pymunk import Body, Space

Box = tuple[float | int, float | int, float | int, float | int]
"""x, y, width, height, in cells."""

WALL_THICKNESS = 0.2
RUNNER_RADIUS = 0.24
"""Half the side of the runner's square body; it is drawn half as large again."""
FRICTION, RESTITUTION = 0.4, 0.3

_BEND, _BACK = 0.45, 0.2
"""How far the target is moved beyond the door's middle when the runner stands before it, and back when it stands aside."""


def simulate(
    settings: RoomRunnerSettings, building: Building, generator: np.random.Generator
) -> Float[np.ndarray, "frames 2"] | Rejected:
    """Walk from the first room to the dead end.

    Returns:
        The runner's centre at every frame, in cells; or "timed out" where it did not arrive, "left the building" where noise
        threw it through a wall to the outside.
    """
    physics, recording = settings.physics, settings.recording
    space, runner = _build(building)
    path = [_position(runner)]
    room = building.rooms[0]
    entered, force, left = None, 0.0, recording.steps_after
    while left > 0 or (len(path) - 1) % recording.frame_every:
        if room is not entered:
            entered = room
            direct = generator.uniform() < physics.direct_probability
            force = physics.force if direct else physics.exploring_force
        if room is building.final:
            left -= 1
        elif len(path) > recording.max_steps:
            return Rejected("timed out")
        _push(physics, runner, room, force, generator)
        space.step(physics.time_step)
        path.append(_position(runner))
        room = building.room_at(*path[-1])
        if room is None:
            return Rejected("left the building")
    return np.array(path[:: recording.frame_every], dtype=np.float32)


def target(room: Room, x: float, y: float) -> tuple[float, float]:
    """Return where a runner at a point of a room is drawn to.

    In a dead end to its middle. Else to the door: far from it to the room's middle, near it to a point just beyond it while
    the runner stands before the door, and back into the room while it stands aside.
    """
    if room.door is None:
        return room.centre
    door_x, door_y = room.door.x + 0.5 + room.door.dx / 2, room.door.y + 0.5 + room.door.dy / 2
    aside = abs(door_x - x) if room.door.dy else abs(door_y - y)
    beyond = _BEND - _BACK - min(2 * _BEND, aside)
    far = min(1.0, float(np.hypot(door_x - x, door_y - y)) / 2)
    near_x, near_y = door_x + room.door.dx * beyond, door_y + room.door.dy * beyond
    return (1 - far) * near_x + far * room.centre[0], (1 - far) * near_y + far * room.centre[1]


def _push(physics: RunnerPhysics, runner: "Body", room: Room, force: float, generator: np.random.Generator) -> None:
    goal = np.array(target(room, *_position(runner)))
    pushed = force * np.sign(goal - _position(runner)) - physics.drag * np.array(runner.velocity)
    if physics.acceleration_noise:
        pushed += generator.normal(0, physics.acceleration_noise, 2)
    runner.apply_force_at_world_point((float(pushed[0]), float(pushed[1])), runner.position)


def _build(building: Building) -> "tuple[Space, Body]":
    import pymunk  # noqa: PLC0415 # slow to load: only making new worlds needs it

    space = pymunk.Space()
    space.collision_slop = 0.005  # Chipmunk's own, 0.1, is meant for units of a pixel
    for x, y, width, height in wall_boxes(building.horizontal, building.vertical):
        corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
        wall = pymunk.Poly(space.static_body, corners)
        wall.elasticity, wall.friction = RESTITUTION, FRICTION
        space.add(wall)
    runner = pymunk.Body(1.0, float("inf"))  # an infinite moment of inertia: it never turns
    runner.position = building.rooms[0].x + 0.5, building.rooms[0].y + 0.5
    body = pymunk.Poly.create_box(runner, (2 * RUNNER_RADIUS, 2 * RUNNER_RADIUS))
    body.elasticity, body.friction = 1.0, 1.0
    space.add(runner, body)
    return space, runner


def wall_boxes(horizontal: Bool[np.ndarray, "height_1 width"], vertical: Bool[np.ndarray, "height width_1"]) -> list[Box]:
    """Return walls as boxes (x, y, width, height); neighbours in a line are one box, so that nothing catches at seams."""
    half = WALL_THICKNESS / 2
    boxes: list[Box] = [(start, y - half, stop - start, WALL_THICKNESS) for y, start, stop in _stretches(horizontal)]
    boxes += [(x - half, start, WALL_THICKNESS, stop - start) for x, start, stop in _stretches(vertical.T)]
    return boxes


def _stretches(lines: Bool[np.ndarray, "lines cells"]) -> list[tuple[int, int, int]]:
    """For each unbroken stretch of True: its line, its first cell, and the cell after its last."""
    edges = np.diff(np.pad(lines.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    starts, stops = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return [(int(line), int(start), int(stop)) for (line, start), (_, stop) in zip(starts, stops, strict=True)]


def _position(runner: "Body") -> tuple[float, float]:
    return runner.position.x, runner.position.y

"""Buildings: rooms that grow from a first one, a door from each to one of the rooms behind it, two dead ends in colour.

Cells are counted from the upper left corner: x to the right, y down, a cell's corner at whole numbers.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mechlearn_zoo.tasks.frames.room_runner.presets import BuildingGeometry
from mechlearn_zoo.tasks.generation import Rejected


class Door(NamedTuple):
    """A passage: the cell before it and the direction through it, (0, 1) to the right, (1, 0) down."""

    y: int
    x: int
    dy: int
    dx: int


@dataclass(eq=False)
class Room:
    """A rectangle of cells, the rooms behind it, and the door that leads on to one of them."""

    y: int
    x: int
    height: int
    width: int
    behind: "list[Room]" = field(default_factory=list)
    door: Door | None = None
    next: "Room | None" = None

    @property
    def centre(self) -> tuple[float, float]:
        """The middle, x and y."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class Building:
    """Rooms and walls.

    Attributes:
        rooms: in the order in which they grew; the runner starts in the first.
        final: the dead end that the runner reaches.
        other: the dead end of the other way.
        label: 0 if `final` is red, 1 if it is blue.
        horizontal: where a cell has a wall above it; one row more, below the last.
        vertical: where a cell has a wall at its left; one column more, at the right of the last.
    """

    rooms: tuple[Room, ...]
    final: Room
    other: Room
    label: int
    horizontal: Bool[np.ndarray, "height_1 width"]
    vertical: Bool[np.ndarray, "height width_1"]

    def room_at(self, x: float, y: float) -> Room | None:
        """Return the room around a point; None outside."""
        for room in self.rooms:
            if room.x <= x < room.x + room.width and room.y <= y < room.y + room.height:
                return room
        return None


def sample_building(geometry: BuildingGeometry, generator: np.random.Generator) -> Building | Rejected:
    """Grow a building; rejected where the first room has no second way out."""
    margin = geometry.margin
    y = int(generator.integers(margin, geometry.height - 3 - margin))
    x = int(generator.integers(margin, geometry.width - 2 - margin))
    rooms = _grow(geometry, generator, Room(y, x, 3, 2))
    first, label = rooms[0], int(generator.integers(2))
    others = [room for room in first.behind if room is not first.next]
    if first.next is None or not others:
        return Rejected("no second way")
    return Building(tuple(rooms), _end(first), _end(others[0]), label, *_walls(geometry, rooms))


def _grow(geometry: BuildingGeometry, generator: np.random.Generator, first: Room) -> list[Room]:
    """Add rooms behind rooms, first come first served, until none fits."""
    free = np.ones((geometry.height, geometry.width), dtype=bool)
    free[first.y : first.y + first.height, first.x : first.x + first.width] = False
    rooms, waiting, count = [first], deque([first]), 0
    while waiting:
        room = waiting.popleft()
        for _ in range(2 if count % geometry.branch_every == 0 else 1):
            height, width = (3, 2) if generator.uniform() < 0.5 else (2, 3)
            spots = _spots(free, room, height, width)
            if spots:
                y, x = spots[int(generator.integers(len(spots)))]
                room.behind.append(Room(y, x, height, width))
                free[y : y + height, x : x + width] = False
        if room.behind:
            room.next = room.behind[int(generator.integers(len(room.behind)))]
            doors = _possible_doors(room, room.next)
            room.door = doors[int(generator.integers(len(doors)))]
        rooms.extend(room.behind)
        waiting.extend(room.behind)
        count += 1
    return rooms


def _spots(free: Bool[np.ndarray, "height width"], room: Room, height: int, width: int) -> list[tuple[int, int]]:
    """Upper left cells from which a room of that size is free and shares a wall with the given one."""
    across = range(room.x - width + 1, room.x + room.width)
    along = range(room.y - height + 1, room.y + room.height)
    beside = [(y, x) for x in across for y in (room.y + room.height, room.y - height)]
    beside += [(y, x) for x in (room.x - width, room.x + room.width) for y in along]
    return [(y, x) for y, x in beside if min(y, x) >= 0 and free[y : y + height, x : x + width].sum() == height * width]


def _possible_doors(room: Room, other: Room) -> list[Door]:
    """One door for each cell that has the other room behind its wall."""
    rows = range(max(room.y, other.y), min(room.y + room.height, other.y + other.height))
    columns = range(max(room.x, other.x), min(room.x + room.width, other.x + other.width))
    if other.x == room.x + room.width:
        return [Door(y, other.x - 1, 0, 1) for y in rows]
    if other.x + other.width == room.x:
        return [Door(y, room.x, 0, -1) for y in rows]
    if other.y == room.y + room.height:
        return [Door(other.y - 1, x, 1, 0) for x in columns]
    return [Door(room.y, x, -1, 0) for x in columns]


def _end(room: Room) -> Room:
    while room.next is not None:
        room = room.next
    return room


def _walls(
    geometry: BuildingGeometry, rooms: list[Room]
) -> tuple[Bool[np.ndarray, "height_1 width"], Bool[np.ndarray, "height width_1"]]:
    horizontal = np.zeros((geometry.height + 1, geometry.width), dtype=bool)
    vertical = np.zeros((geometry.height, geometry.width + 1), dtype=bool)
    for room in rooms:
        rows, columns = slice(room.y, room.y + room.height), slice(room.x, room.x + room.width)
        horizontal[[room.y, room.y + room.height], columns] = True
        vertical[rows, [[room.x], [room.x + room.width]]] = True
    for door in (room.door for room in rooms if room.door is not None):
        if door.dy:
            horizontal[door.y + (door.dy > 0), door.x] = False
        else:
            vertical[door.y, door.x + (door.dx > 0)] = False
    return horizontal, vertical


def layout_vector(building: Building) -> Float[np.ndarray, " layout"]:
    """Return a building as numbers: each place of a wall (1 or 0), then the centres of the red and of the blue room."""
    red, blue = (building.final, building.other) if building.label == 0 else (building.other, building.final)
    walls = np.concatenate([building.horizontal.ravel(), building.vertical.ravel()])
    return np.concatenate([walls, red.centre, blue.centre]).astype(np.float32)

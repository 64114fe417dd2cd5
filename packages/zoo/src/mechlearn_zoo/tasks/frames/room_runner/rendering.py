"""Pictures of a building and its runner: rooms white, two of them red and blue, walls black, doors pale, the runner green."""

import numpy as np
from jaxtyping import Float, UInt8

from mechlearn_zoo.tasks.frames.drawing import boxes_coverage, over, polygons_coverage, to_uint8
from mechlearn_zoo.tasks.frames.room_runner.buildings import Building, Door, Room
from mechlearn_zoo.tasks.frames.room_runner.physics import RUNNER_RADIUS, WALL_THICKNESS, Box
from mechlearn_zoo.tasks.frames.room_runner.presets import RoomRunnerSettings

OUTSIDE = (0.15, 0.15, 0.15)
DOOR = (0.9, 0.95, 1.0)
ROOM, RED, BLUE = (1.0, 1.0, 1.0), (1.0, 0.5, 0.5), (0.5, 0.5, 1.0)
WALL, RUNNER = (0.0, 0.0, 0.0), (0.0, 0.8, 0.0)
DRAWN_RADIUS = 1.5 * RUNNER_RADIUS


def draw_building(settings: RoomRunnerSettings, building: Building) -> UInt8[np.ndarray, "3 height width"]:
    """Draw the building without its runner."""
    red, blue = (building.final, building.other) if building.label == 0 else (building.other, building.final)
    layers: list[tuple[list[Box], tuple[float, ...]]] = [
        ([_box(room) for room in building.rooms], ROOM),
        ([_box(red)], RED),
        ([_box(blue)], BLUE),
        ([side for room in building.rooms for side in _sides(room)], WALL),
        ([_opening(room.door) for room in building.rooms if room.door is not None], DOOR),
    ]
    height, width = settings.shape
    image = np.broadcast_to(np.array(OUTSIDE, dtype=np.float32)[:, None, None], (3, height, width))
    for boxes, colour in layers:
        image = over(image, polygons_coverage([_corners(settings, boxes)], height, width), colour)
    return to_uint8(image)


def draw_moving(settings: RoomRunnerSettings, path: Float[np.ndarray, "time 2"]) -> UInt8[np.ndarray, "time 1 height width"]:
    """Draw the moving part alone, the runner."""
    return to_uint8(_draw_runner(settings, path)[:, None])


def draw_frames(
    settings: RoomRunnerSettings, image: UInt8[np.ndarray, "3 height width"], path: Float[np.ndarray, "time 2"]
) -> UInt8[np.ndarray, "time 3 height width"]:
    """Draw the runner into the picture of a building."""
    return to_uint8(over(image.astype(np.float32) / 255, _draw_runner(settings, path), RUNNER))


def _draw_runner(settings: RoomRunnerSettings, path: Float[np.ndarray, "time 2"]) -> Float[np.ndarray, "time height width"]:
    scale = settings.recording.pixels_per_unit
    return boxes_coverage(path * scale, DRAWN_RADIUS * scale, *settings.shape)


def _box(room: Room) -> Box:
    return room.x, room.y, room.width, room.height


def _sides(room: Room) -> list[Box]:
    """A room's four walls, centred on its edges."""
    half, t = WALL_THICKNESS / 2, WALL_THICKNESS
    across = [(room.x, room.y + at - half, room.width, t) for at in (0, room.height)]
    return [*across, *((room.x + at - half, room.y, t, room.height) for at in (0, room.width))]


def _opening(door: Door) -> Box:
    """Half a cell, drawn out to the other side of the wall."""
    reach = 0.4
    x, y = door.x + 0.25 + reach * min(0, door.dx), door.y + 0.25 + reach * min(0, door.dy)
    return x, y, 0.5 + reach * abs(door.dx), 0.5 + reach * abs(door.dy)


def _corners(settings: RoomRunnerSettings, boxes: list[Box]) -> Float[np.ndarray, "boxes 4 2"]:
    x, y, width, height = np.array(boxes, dtype=np.float64).T
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    return np.moveaxis(np.array(corners), (0, 1, 2), (1, 2, 0)) * settings.recording.pixels_per_unit

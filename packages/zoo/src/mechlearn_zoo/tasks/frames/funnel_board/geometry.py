"""What stands on a Funnel board: sliders, funnels, platforms, drawn at random; and their outlines.

World units, x to the right and y up, the board's centre at (0, 0). Rows are counted from the bottom: funnels i = 0..rows-1,
sliders i = 1..rows; even rows have columns + 1 places, odd rows columns, half a place apart.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mechlearn_zoo.tasks.frames.funnel_board.presets import SPACING_X, SPACING_Y, BoardGeometry, FunnelBoardSettings

Outline = Float[np.ndarray, "vertices 2"]

SLIDER_THICKNESS = 0.2
FUNNEL_WIDTH = 1.1 * SPACING_X
FUNNEL_POINTS = 16
"""Points along each wall of a funnel; between two neighbours stands one quadrilateral."""
PLATFORM_SIZE = (2.1, 0.2)


class Slider(NamedTuple):
    """A tilted bar: its centre, length and angle (radians, counter-clockwise)."""

    x: float
    y: float
    length: float
    angle: float


class Funnel(NamedTuple):
    """Two curved walls: the centre, the opening between them at the bottom, their height, thickness and restitution."""

    x: float
    y: float
    gap: float
    height: float
    thickness: float
    restitution: float


class Board(NamedTuple):
    """A board: where the ball starts and what it falls through. Absent funnels are None, so that places can be told."""

    start: tuple[float, float]
    sliders: tuple[Slider, ...]
    funnels: tuple[Funnel | None, ...]
    platforms: tuple[float, ...]


def sample_board(settings: FunnelBoardSettings, generator: np.random.Generator) -> Board:
    """Draw a board. The same numbers are drawn whatever the restitutions are, so that a perturbed board looks the same."""
    geometry = settings.geometry
    top = [x for row, _, x in places(geometry) if row == geometry.rows]
    if geometry.starts == "released":
        top = top[1:]
    start = top[int(generator.integers(len(top)))], geometry.half_height - 4 * geometry.ball_radius
    sliders: list[Slider] = []
    funnels: list[Funnel | None] = []
    for row, place, x in places(geometry):
        if row > 0:
            sliders.append(_sample_slider(geometry, generator, row, place, x))
        if row < geometry.rows:
            present = bool(generator.uniform() < geometry.funnel_probability) or row == 0
            funnels.append(_sample_funnel(settings, generator, row, x) if present else None)
    last_row = funnels[: geometry.platforms]
    platforms = tuple(funnel.x for funnel in last_row if funnel is not None)
    return Board(start, tuple(sliders), tuple(funnels), platforms)


def places(geometry: BoardGeometry) -> Iterator[tuple[int, int, float]]:
    """Yield row, place in the row, and x of the place, in the order in which everything is drawn and listed."""
    for row in range(geometry.rows + 1):
        for place in range(geometry.platforms - row % 2):
            yield row, place, (row % 2 / 2 + place - 0.5 - (geometry.columns - 1) / 2) * SPACING_X


def _sample_slider(geometry: BoardGeometry, generator: np.random.Generator, row: int, place: int, x: float) -> Slider:
    length = generator.uniform(0.6, 0.8) * (SPACING_X - 2 * geometry.ball_radius)
    tilt = generator.uniform(*geometry.slider_angle)
    sign = generator.choice([-1, 1])
    if row % 2 == 0 and place in {0, geometry.columns}:  # those at the edges lead inwards
        sign = -1 if place == 0 else 1
    return Slider(x, (row - 1 - (geometry.rows - 1) / 2) * SPACING_Y, float(length), float(sign * tilt))


def _sample_funnel(settings: FunnelBoardSettings, generator: np.random.Generator, row: int, x: float) -> Funnel:
    geometry = settings.geometry
    x += generator.uniform(-SPACING_X / 32, SPACING_X / 32)
    y = (row - 0.5 - (geometry.rows - 1) / 2) * SPACING_Y + generator.uniform(-SPACING_Y / 16, 3 * SPACING_Y / 16)
    restitution = settings.physics.funnel_restitutions[int(generator.uniform() >= 0.5)]
    gap = generator.uniform(*geometry.gap) * geometry.ball_radius
    height, thickness = generator.uniform(1.4, 1.52), generator.uniform(0.15, 0.3)
    return Funnel(float(x), float(y), float(gap), float(height), float(thickness), restitution)


def slider_outline(slider: Slider) -> Outline:
    """Return the corners of a slider."""
    half = np.array([slider.length / 2, SLIDER_THICKNESS / 2])
    corners = np.array([(-1, 1), (-1, -1), (1, -1), (1, 1)]) * half
    cos, sin = math.cos(slider.angle), math.sin(slider.angle)
    return corners @ np.array([[cos, sin], [-sin, cos]]) + (slider.x, slider.y)


def funnel_outlines(funnel: Funnel) -> Float[np.ndarray, "quadrilaterals 4 2"]:
    """Return the quadrilaterals of a funnel's two walls: steep at both ends, flatter in between."""
    s = np.linspace(-1, 1, FUNNEL_POINTS)
    reach = (FUNNEL_WIDTH - 2 * funnel.thickness - funnel.gap) / 2
    x = reach * s / 2 + (funnel.thickness + funnel.gap + reach) / 2
    y = funnel.height * np.arcsin(np.arcsin(s) / (np.pi / 2)) / np.pi
    walls = np.stack([np.stack([side * x + funnel.x, y + funnel.y], axis=1) for side in (-1, 1)])
    shift = np.array([funnel.thickness / 2, 0.0])
    lower, upper = walls[:, :-1], walls[:, 1:]
    return np.stack([lower - shift, upper - shift, upper + shift, lower + shift], axis=2).reshape(-1, 4, 2)


def platform_outline(geometry: BoardGeometry, x: float) -> Outline:
    """Return the corners of the platform below x; its upper side lies one ball radius below the end of the fall."""
    width, height = PLATFORM_SIZE
    top = -geometry.half_height - geometry.ball_radius - 0.01
    return np.array([(x - width / 2, top), (x - width / 2, top - height), (x + width / 2, top - height), (x + width / 2, top)])


def layout_vector(settings: FunnelBoardSettings, board: Board) -> Float[np.ndarray, " layout"]:
    """Return a board as numbers, always as many for the same settings; what no picture shows (restitution) is left out.

    For each slider its length and angle, its place being fixed; for each place of a funnel 1 and the funnel's x, y, gap,
    height and thickness, or zeros where there is none.
    """
    sliders = [(slider.length, slider.angle) for slider in board.sliders]
    funnels = [(0.0,) * 6 if funnel is None else (1.0, *funnel[:5]) for funnel in board.funnels]
    return np.array([number for numbers in (*sliders, *funnels) for number in numbers], dtype=np.float32)

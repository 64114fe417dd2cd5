"""What decides a Funnel board: geometry, its ball's physics, what is recorded; published, at half of the pixels, small."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from mechlearn.arguments import check_one_of, check_positive, check_share, check_whole

SPACING_X = 2.5
SPACING_Y = 3.0
"""World units between neighbours in a row, and between rows."""

PLATFORM_COLOURS = ((0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0))
"""Green, yellow, red, magenta, blue, from the left."""

Range = tuple[float, float]


@dataclass(frozen=True)
class BoardGeometry:
    """What stands where on a board, and the ball's size."""

    columns: int = 4
    """Places in an odd row; an even row, and the platforms, are one more."""
    rows: int = 6
    """Rows of funnels; as many of sliders."""
    ball_radius: float = 0.25
    """In world units."""
    funnel_probability: float = 0.7
    """That a place above the last row has a funnel; in the last row every place has one."""
    gap: Range = (2.09, 2.2)
    """A funnel's opening, in ball radii."""
    slider_angle: Range = (math.pi / 24, math.pi / 5)
    """A slider's tilt to either side, in radians."""
    starts: Literal["released", "all"] = "released"
    """Above which sliders of the top row a ball may start: the released generator leaves out the leftmost one."""

    def __post_init__(self) -> None:
        for name in ("columns", "rows"):
            check_whole(name, getattr(self, name), 1)
        if self.columns > len(PLATFORM_COLOURS) - 1:
            raise ValueError(f"`columns` should be at most 4: a platform more needs a colour. Found {self.columns}.")
        check_one_of("starts", self.starts, ("released", "all"))
        if self.starts == "released" and self.columns == 1 and self.rows % 2:
            raise ValueError(
                '`starts` should be "all" where the top row has one place: "released" leaves out the leftmost one. '
                f"Found 'released' with {self.columns} column and {self.rows} rows."
            )
        check_share("funnel_probability", self.funnel_probability)
        for name in ("gap", "slider_angle"):
            low, high = getattr(self, name)
            if not 0 <= low <= high:
                raise ValueError(f"`{name}` should be a range, from low to high and not negative. Found {(low, high)}.")
        if not 0 < self.ball_radius < SPACING_X / 2:
            raise ValueError(f"`ball_radius` should be positive and below {SPACING_X / 2}. Found {self.ball_radius}.")

    @property
    def platforms(self) -> int:
        """How many platforms there are: the classes of the label."""
        return self.columns + 1

    @property
    def half_width(self) -> float:
        """The board reaches from -half_width to half_width."""
        return self.platforms * SPACING_X / 2

    @property
    def half_height(self) -> float:
        """The ball starts below half_height and has landed at -half_height."""
        return (self.rows + 1) * SPACING_Y / 2


@dataclass(frozen=True)
class BallPhysics:
    """How the ball falls and bounces, and how finely that is simulated."""

    ball_restitution: float = 0.2
    """The larger restitution of ball and obstacle holds in a collision; the perturbed variant has 0.05."""
    funnel_restitutions: Range = (0.02, 0.6)
    """Each funnel has either with probability 1/2; the perturbed variant has 0.02 twice."""
    slider_restitution: float = 0.1
    """Of the tilted bars."""
    friction: float = 0.5
    """Coulomb friction between the ball and every obstacle."""
    gravity: float = 10.0
    """World units a second squared."""
    time_step: float = 1 / 30
    """Seconds a step."""
    substeps: int = 8
    """Parts of a step that are simulated one by one: at full speed the ball would pass through an obstacle in one step."""

    def __post_init__(self) -> None:
        for name in ("gravity", "time_step"):
            check_positive(name, getattr(self, name))
        check_whole("substeps", self.substeps, 1)


@dataclass(frozen=True)
class FallRecording:
    """Which frames of a fall are kept, and how large."""

    pixels_per_unit: int = 6
    """The picture's scale: 126 x 75 pixels at 6."""
    frame_every: int = 3
    """Every so many steps make a frame."""
    max_steps: int = 750
    """A ball that has not landed by then is rejected."""

    def __post_init__(self) -> None:
        for name in ("pixels_per_unit", "frame_every", "max_steps"):
            check_whole(name, getattr(self, name), 1)


@dataclass(frozen=True)
class FunnelBoardSettings:
    """What decides a board, its physics and its picture; the published values unless said otherwise.

    Sources: thesis section 2.3.1; the rest from the published generator (docs/skips/worlds.md, Departures).
    """

    geometry: BoardGeometry = BoardGeometry()
    physics: BallPhysics = BallPhysics()
    recording: FallRecording = FallRecording()

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the picture, in pixels."""
        board, scale = self.geometry, self.recording.pixels_per_unit
        return round(2 * board.half_height * scale), round(2 * board.half_width * scale)

    def perturbed(self) -> "FunnelBoardSettings":
        """Return the variant without bounce (thesis section 2.3.3, figure 2.11): the same boards from the same seeds."""
        return replace(self, physics=replace(self.physics, ball_restitution=0.05, funnel_restitutions=(0.02, 0.02)))


PUBLISHED = FunnelBoardSettings()
"""Thesis section 2.3.1: 4 x 6, pictures of 126 x 75 pixels."""

HALF = FunnelBoardSettings(recording=FallRecording(pixels_per_unit=3))
"""The published boards and falls, pictures of 63 x 38 pixels."""

SMALL = FunnelBoardSettings(BoardGeometry(columns=3, rows=2, starts="all"), recording=FallRecording(pixels_per_unit=4))
"""3 x 2, pictures of 36 x 40 pixels: for laptops."""

PRESETS = {"published": PUBLISHED, "half": HALF, "small": SMALL}
"""Settings by name."""

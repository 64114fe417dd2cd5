"""What decides a Room runner: geometry, its runner's physics, what is recorded; published, at half of the pixels, small."""

from dataclasses import dataclass

from mechlearn.arguments import check_not_negative, check_positive, check_share, check_whole


@dataclass(frozen=True)
class BuildingGeometry:
    """How large a building is and how its rooms grow."""

    height: int = 16
    """Cells from the building's upper to its lower wall."""
    width: int = 16
    """Cells from its left to its right wall."""
    margin: int = 5
    """The first room lies at least so many cells from every side."""
    branch_every: int = 8
    """Every so many rooms, counted from the first, one gets two rooms behind it instead of one."""

    def __post_init__(self) -> None:
        check_whole("margin", self.margin)
        check_whole("branch_every", self.branch_every, 1)
        for name in ("height", "width"):
            check_whole(name, getattr(self, name), 1)
        least = 2 * self.margin + 4
        if min(self.height, self.width) < least:
            found = (self.height, self.width)
            raise ValueError(f"`height` and `width` should be at least 2 margin + 4 = {least}. Found {found}.")


@dataclass(frozen=True)
class RunnerPhysics:
    """What moves the runner, and how finely that is simulated."""

    force: float = 10.0
    """Along each axis towards the target, in rooms that are crossed directly; the runner's mass is 1."""
    exploring_force: float = 3.5
    """The same in rooms that are explored."""
    direct_probability: float = 0.5
    """That a room is crossed directly, drawn on entering."""
    acceleration_noise: float = 0.0
    """Standard deviation of what is added to each axis's force in every step: the thesis's words, not the released code's."""
    drag: float = 5.0
    """Force against the motion, times the speed."""
    time_step: float = 0.1
    """Seconds a step."""

    def __post_init__(self) -> None:
        for name in ("force", "exploring_force", "acceleration_noise", "drag"):
            check_not_negative(name, getattr(self, name))
        check_positive("time_step", self.time_step)
        check_share("direct_probability", self.direct_probability)


@dataclass(frozen=True)
class WalkRecording:
    """Which frames of a walk are kept, and how large."""

    pixels_per_unit: int = 4
    """Pixels along a cell: 64 x 64 pixels at 4."""
    frame_every: int = 3
    """Every so many steps make a frame."""
    max_steps: int = 300
    """A runner that has not arrived by then is rejected."""
    steps_after: int = 6
    """Steps that are shown after the runner's centre has entered the last room; 1 or more."""

    def __post_init__(self) -> None:
        for name in ("pixels_per_unit", "frame_every", "max_steps", "steps_after"):
            check_whole(name, getattr(self, name), 1)


@dataclass(frozen=True)
class RoomRunnerSettings:
    """What decides a building, the runner and the picture; the published values unless said otherwise.

    Sources: thesis section 2.3.1; the rest from the released generator (docs/skips/worlds.md, Departures).
    """

    geometry: BuildingGeometry = BuildingGeometry()
    physics: RunnerPhysics = RunnerPhysics()
    recording: WalkRecording = WalkRecording()

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the picture, in pixels."""
        building, scale = self.geometry, self.recording.pixels_per_unit
        return building.height * scale, building.width * scale


PUBLISHED = RoomRunnerSettings()
"""Thesis section 2.3.1: pictures of 64 x 64 pixels."""

HALF = RoomRunnerSettings(recording=WalkRecording(pixels_per_unit=2))
"""The published buildings and walks, pictures of 32 x 32 pixels."""

SMALL = RoomRunnerSettings(BuildingGeometry(height=10, width=10, margin=3))
"""10 x 10 cells, pictures of 40 x 40 pixels: for laptops."""

PRESETS = {"published": PUBLISHED, "half": HALF, "small": SMALL}
"""Settings by name."""

"""How predictions are matched to frames: the three choices, as settings.

Index convention: t counts frames from 0, T is a trajectory's length. A model at frame t predicts some frame t' > t.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Literal


@dataclass(frozen=True)
class Greedy:
    """Match each prediction with the frame of its window that it fits best (thesis algorithm 1, lines 6 to 11).

    The window of a prediction made at frame t is t + 1 .. min(t + horizon, T - 1); of equally good frames the first is taken.

    Args:
        horizon: H, how many frames ahead a match may lie.
        exploration: mu, the probability of taking a frame of the window at random instead, each with equal probability.

    Raises:
        TypeError: a horizon that is no whole number.
        ValueError: a horizon below 1, or a probability outside [0, 1].
    """

    horizon: int
    exploration: float = 0.0

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon)
        _check_count("horizon", self.horizon)
        check_probability("exploration", self.exploration)


@dataclass(frozen=True)
class FixedStep:
    """Match each prediction with the frame `dt` ahead: the baselines of thesis section 2.3.

    Args:
        dt: the step in frames.
        last: where fewer than `dt` frames are left, "clamp" matches the last frame; "drop" ends the trajectory before, as the
            published code does, so that a trajectory of `dt` frames or fewer has no step at all and is refused.

    Raises:
        TypeError: a step that is no whole number.
        ValueError: a step below 1, or another word.
    """

    dt: int
    last: Literal["clamp", "drop"] = "clamp"

    def __post_init__(self) -> None:
        check_whole("dt", self.dt)
        _check_count("dt", self.dt)
        if self.last not in ("clamp", "drop"):
            raise ValueError(f'`last` should be "clamp" or "drop". Found {self.last!r}.')


@dataclass(frozen=True)
class OptimalAlignment:
    """Align all predictions of a trajectory at once, by dynamic programming, instead of one after the other.

    The thesis suggests it (section 2.2, "Instead of using a greedy matching algorithm", and section 2.5) and does not define
    it. Here an alignment is a path of frames 0 = t_0 < t_1 < ... < t_U = T - 1 with t_u - t_{u-1} <= horizon, and of all
    paths the one of least cost is taken. The step to t_u costs L(z_u, x_{t_u}), where the prediction z_u is

    - with ``inputs="frames"``: f(x_{t_{u-1}}), the prediction from the true frame before (teacher forcing throughout);
    - with ``inputs="predictions"``: f applied u times to x_0 (no teacher forcing). At most T - 1 predictions are made,
      and those after the U-th have no part in the loss. `Actions` are refused: they belong to frames, and the frame that a
      prediction stands for is not known when the next one is made.

    Args:
        horizon: H, how many frames a step may skip ahead.
        inputs: what a prediction is made from.
        cost: of a path: the "mean" of its steps' losses, as algorithm 1 reports a trajectory's loss, or their "sum", which
            prefers few steps. Of equally good paths the one with the fewest steps is taken, then the one whose frames are
            earliest, compared from the end.

    Raises:
        TypeError: a horizon that is no whole number.
        ValueError: a horizon below 1, or another word.
    """

    horizon: int
    inputs: Literal["frames", "predictions"] = "frames"
    cost: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon)
        _check_count("horizon", self.horizon)
        for name, known in (("inputs", ("frames", "predictions")), ("cost", ("mean", "sum"))):
            if getattr(self, name) not in known:
                raise ValueError(f'`{name}` should be "{known[0]}" or "{known[1]}". Found {getattr(self, name)!r}.')


Matching = Greedy | FixedStep | OptimalAlignment
"""How predictions are matched to frames."""


def check_probability(name: str, value: float) -> None:
    """Refuse what is no probability."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"`{name}` should be a probability in [0, 1]. Found {value!r}. Check the schedule that it comes from.")


def check_matching(matching: object) -> None:
    """Refuse what is none of the three."""
    if not isinstance(matching, Matching):
        raise TypeError(
            f"`matching` should be Greedy(...), FixedStep(...) or OptimalAlignment(...) of craik.skips. Found {matching!r}."
        )


def check_whole(name: str, value: object) -> None:
    """Refuse what does not count frames."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"`{name}` should be a whole number of frames. Found {value!r}. Pass an int.")


def _check_count(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"`{name}` should be at least 1: a prediction is matched with a later frame. Found {value!r}.")

"""`Fixed`: each prediction is matched a fixed number of frames ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mechlearn.arguments import Choice, check_one_of, check_whole
from mechlearn.skips.matched import LATER, Chosen, Steps
from mechlearn.skips.matchings.following import Predicted, follow
from mechlearn.skips.predicting import Predictor


@dataclass(frozen=True)
class Fixed(Choice):
    """Match each prediction with the frame `dt` ahead: the baselines of thesis section 2.3.

    Args:
        dt: the step in frames.
        last: where fewer than `dt` frames are left, "clamp" matches the last frame; "drop" ends the trajectory before, as the
            published code does, so that a trajectory of `dt` frames or fewer has no step at all and is refused. Frames count
            from the last that a `Memory` is shown. With `Options` a step that would pass an option's end is matched with that
            end under both: what is dropped is the trajectory's last, not an option's.

    Raises:
        TypeError: a step that is no whole number.
        ValueError: a step below 1, or another word.

    Example:
        >>> Fixed(dt=3).dt  # every prediction is compared with the frame three later
        3
    """

    dt: int
    last: Literal["clamp", "drop"] = "clamp"

    def __post_init__(self) -> None:
        check_whole("dt", self.dt, 1, why=LATER)
        check_one_of("last", self.last, ("clamp", "drop"))

    def along(self, predictor: Predictor) -> Steps:
        """Follow every trajectory to its last frame, or to its last whole step.

        Raises:
            ValueError: a trajectory without a whole step, where the last is dropped.
        """
        if self.last == "clamp":
            return follow(predictor, self._choose)
        memory = predictor.dynamics.state
        self._check(predictor.lengths, 0 if memory is None else memory.frames - 1)
        return follow(predictor, self._choose, reach=self.dt)

    def _choose(self, predicted: Predicted) -> Chosen:
        """Match predictions with the frames `dt` ahead, or the last."""
        return Chosen(
            [min(time + self.dt, length - 1) for time, length in zip(predicted.times, predicted.lengths, strict=True)]
        )

    def _check(self, lengths: Sequence[int], before: int) -> None:
        """Reject trajectories without a whole step from the first prediction on, which is made at frame ``before``."""
        short = [b for b, length in enumerate(lengths) if length - before <= self.dt]
        if short:
            behind = f" from the last on that its memory is shown, frame {before}" if before else ""
            raise ValueError(
                f"With last='drop' every trajectory should have more than dt = {self.dt} frames{behind}. Found "
                f"{lengths[short[0]] - before} in trajectory {short[0]}. Leave it out, or pass last='clamp'."
            )

"""`TimeAgnostic`: one prediction a trajectory, of whichever later frame is the easiest, near or far."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import Choice, check_callable, check_flag
from mechlearn.skips.matched import Chosen, Steps
from mechlearn.skips.matchings.aligned import pairs
from mechlearn.skips.matchings.following import Predicted, follow
from mechlearn.skips.matchings.greedy import Greedy
from mechlearn.skips.predicting import Predictor

Preference = Callable[[Float[Tensor, " n"]], Float[Tensor, " n"]]
"""w(t): from the share of the way to the end that lies between a prediction and a frame, in (0, 1], to how much that is
wanted."""

_NUMBERS = 1 << 22
"""In as many frames as predictions are compared with at once."""


@dataclass(frozen=True)
class TimeAgnostic(Choice):
    """Match a prediction with the frame of least L(z, x_t) / w(t), however far ahead, and predict no further.

    Time-agnostic prediction (Jayaraman, Ebert, Efros and Levine, "Time-agnostic prediction: predicting predictable video
    frames", ICLR 2019): the minimum over time of a frame's error, and its generalisation by preferences w(t) for some times
    over others, with the quotient as the loss. A model learns the bottleneck that every trajectory passes. Theirs is given the
    last frame, too: that is the dynamics' context, and a preference of 0 at share 1 keeps the model from copying it. Planning
    by halves is another such model from each frame to the one found.

    Not for roll-outs that need a path: of its frames one is predicted. With ``onward`` the trajectory is followed from the
    match on, and without a preference that is `Greedy` with a horizon as long as the trajectory.

    Args:
        preference: w, of 0 or more, above 0 for at least one frame; None for all alike. With one the loss is evaluated on every
            frame that is left.
        onward: whether to go on from the match to the trajectory's end.

    Raises:
        TypeError: a preference that cannot be called, or another value than True or False.
    """

    preference: Preference | None = None
    onward: bool = False

    def __post_init__(self) -> None:
        check_flag("onward", self.onward)
        if self.preference is not None:
            check_callable("preference", self.preference, "a function of the share of the way, (n,) to (n,)")

    def along(self, predictor: Predictor) -> Steps:
        """Make one prediction for each trajectory, or follow each to its last frame.

        Raises:
            ValueError: a preference that gives no weights.
            FloatingPointError: no frame of finite loss.
        """
        longest = max(predictor.lengths)
        reach = 1 if self.onward else longest
        if self.preference is None:
            return follow(predictor, Greedy(longest - 1).chooser(predictor), reach=reach)
        preference = self.preference
        return follow(
            predictor,
            lambda predicted: _least(predictor, preference, predicted),
            reach=reach,
            price=lambda predicted, chosen: _price(predictor, preference, predicted, chosen),
        )


@torch.no_grad()
def _least(predictor: Predictor, preference: Preference, predicted: Predicted) -> Chosen:
    """Match each prediction with the frame of least quotient, the first of equals."""
    left = [length - 1 - time for time, length in zip(predicted.times, predicted.lengths, strict=True)]
    weights = {count: _weights(preference, count) for count in set(left)}
    each = max(1, _NUMBERS // (max(left) * max(1, math.prod(predictor.targets.frame_shape))))  # rows to compare at once
    frames: list[int] = []
    for start in range(0, len(left), each):
        some = range(start, min(start + each, len(left)))
        made, ahead = pairs([range(predicted.times[i] + 1, predicted.lengths[i]) for i in some])
        seen = predicted.seen[start : start + each][made]
        losses = predictor.losses(seen, [predicted.rows[start + i] for i in made], ahead).double().cpu()
        for i, own in zip(some, losses.split([left[i] for i in some]), strict=True):
            best = int(torch.where(weights[left[i]] > 0, own / weights[left[i]], torch.inf).argmin())
            _check(float(own[best]), predicted.rows[i], predicted.times[i] + 1)
            frames.append(predicted.times[i] + 1 + best)
    return Chosen(frames)


def _price(predictor: Predictor, preference: Preference, predicted: Predicted, chosen: Chosen) -> Float[Tensor, " n"]:
    """Return the quotient of each match."""
    steps = zip(chosen.frames, predicted.times, predicted.lengths, strict=True)
    weights = [_weights(preference, end - t - 1)[frame - t - 1] for frame, t, end in steps]
    losses = predictor.losses(predicted.seen, predicted.rows, chosen.frames)
    return losses / torch.stack(weights).to(losses.device, losses.dtype)


def _check(least: float, b: int, first: int) -> None:
    if not math.isfinite(least):
        raise FloatingPointError(
            f"Every loss should be finite. Found none in trajectory {b} of the batch, where frames {first} and later are "
            "matched. Lower the learning rate or clip gradients."
        )


def _weights(preference: Preference, left: int) -> Float[Tensor, " left"]:
    """Return the preference of each of the frames that are left."""
    found = preference(torch.arange(1, left + 1).double() / left)
    if not isinstance(found, Tensor) or found.shape != (left,):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__  # pyright: ignore
        raise ValueError(f"`preference` should return one weight for each of {left} frames. Found {kind}.")
    if not (found.isfinite() & (found >= 0)).all() or not (found > 0).any():
        raise ValueError(
            f"`preference` should be finite and at least 0, above 0 for one of the {left} frames that are left. Found "
            f"{found.min().item():g} to {found.max().item():g}. Add a small number to it."
        )
    return found.double().cpu()

"""`match_parts`: every part of a frame matched at its own distances."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_kind
from mechlearn.skips.dynamics import check_kinds
from mechlearn.skips.matched import Average, Matched
from mechlearn.skips.matching import Matching, match
from mechlearn.skips.parts.partition import Parts
from mechlearn.trajectories import Trajectories


class MatchedParts(NamedTuple):
    """A batch whose parts have been matched.

    Attributes:
        loss: the mean over parts of each one's loss, the one number to differentiate.
        parts: what was matched of each, by name.
        evaluations: how many frames of parts the models were evaluated on.
    """

    loss: Float[Tensor, ""]
    parts: dict[str, Matched]
    evaluations: int


def match_parts(
    parts: Parts,
    trajectories: Trajectories,
    matching: Matching | Mapping[str, Matching],
    *,
    teacher_forcing: float = 1.0,
    generator: Generator | Sequence[Generator] | None = None,
    average: Average = "trajectories",
    keep_predictions: bool = False,
) -> MatchedParts:
    """Match the parts of every trajectory, each at its own distances, and return the mean of their losses.

    Thesis chapter 5 names it as what skips of whole frames lack. With one part of all elements this is `mechlearn.skips.match`.

    Args:
        parts: whose elements cover the frame.
        trajectories: at least two frames each.
        matching: one for all, or one for each part by name.
        teacher_forcing: see `match`.
        generator: see `match`; parts read it one after the other.
        average: see `match`.
        keep_predictions: see `match`.

    Returns:
        The mean loss and the matches of each part.

    Raises:
        TypeError, ValueError, FloatingPointError: those of `match`; parts that do not cover the frame, or a part without a
        matching.
    """
    check_kind("parts", parts, Parts, "Parts({name: Part(elements, dynamics)})")
    check_kinds(next(iter(parts.parts.values())).dynamics, trajectories)
    parts.check_cover(trajectories.frame_shape)
    if isinstance(matching, Mapping) and set(matching) != set(parts.parts):
        raise ValueError(f"`matching` should be one, or one for each of {sorted(parts.parts)}. Found {sorted(matching)}.")
    found: dict[str, Matched] = {}
    for name in parts.parts:
        dynamics, own = parts.of(name, trajectories)
        found[name] = match(
            dynamics,
            own,
            matching[name] if isinstance(matching, Mapping) else matching,
            teacher_forcing=teacher_forcing,
            generator=generator,
            average=average,
            keep_predictions=keep_predictions,
        )
    loss = torch.stack([each.loss for each in found.values()]).mean()
    return MatchedParts(loss, found, sum(each.evaluations for each in found.values()))

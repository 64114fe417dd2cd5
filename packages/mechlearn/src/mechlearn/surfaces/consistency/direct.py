"""The direct check of a score: walk to the point that was found and evaluate the true losses on the way."""

import math
from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from mechlearn.surfaces.consistency.definition import Consistency
from mechlearn.surfaces.landscape import Landscape


class Walk(NamedTuple):
    """What the true losses are along the way from theta* through a point.

    Every value belongs to a point that a path inside N_e joins to theta*, so that each is a lower bound of the inconsistency.

    Attributes:
        scale: how far the walk came, as a multiple of the displacement: 1 where the approximation's boundary is the true one.
        bounded: False where N_e did not end before the walk did.
        stays: L_e at the end.
        other: L_e' at the end.
        value: the comparison of the two there, abs(L_e' - L_e) or L_e'.
        largest: the largest comparison on the way.
    """

    scale: float
    bounded: bool
    stays: float
    other: float
    value: float
    largest: float


def walk(
    landscape: Landscape,
    pair: tuple[int, int],
    displacement: Float[Tensor, " n"],
    consistency: Consistency,
    furthest: float = 4.0,
    resolution: int = 16,
) -> Walk:
    """Walk from theta* along a displacement until environment e's true loss leaves N_e.

    The path is straight. It is looked at `resolution` times a displacement, and where e's loss has left its range the last
    step is bisected: a loss that leaves and comes back between two looks goes unseen.

    Args:
        landscape: the losses.
        pair: positions of e and e'.
        displacement: where to walk, for example `Score.displacement`.
        consistency: epsilon and the definitions of N_e and the comparison.
        furthest: where to stop if N_e has no end, as a multiple of the displacement.
        resolution: looks at the losses for one displacement.

    Returns:
        The losses along the path, and where it leaves N_e.
    """
    e, other = pair
    start = landscape.loss(e)

    def stays_at(scale: float) -> float:
        return landscape.loss(e, landscape.point + scale * displacement.to(landscape.point))

    def inside(loss: float) -> bool:
        low = -math.inf if consistency.neighbourhood == "at-most" else start - consistency.epsilon
        return low <= loss <= start + consistency.epsilon

    def compare(scale: float, stays: float) -> tuple[float, float]:
        there = landscape.loss(other, landscape.point + scale * displacement.to(landscape.point))
        return there, abs(there - stays) if consistency.subtract else there

    scale, stays, bounded, largest = 0.0, start, False, compare(0.0, start)[1]
    for look in range(1, round(furthest * resolution) + 1):
        loss = stays_at(look / resolution)
        if not inside(loss):
            scale, stays = _bisect(scale, look / resolution, stays, stays_at, inside)
            bounded = True
            break
        scale, stays = look / resolution, loss
        largest = max(largest, compare(scale, stays)[1])
    there, value = compare(scale, stays)
    return Walk(scale, bounded, stays, there, value, max(largest, value))


def _bisect(
    low: float, high: float, stays: float, stays_at: Callable[[float], float], inside: Callable[[float], bool]
) -> tuple[float, float]:
    """Return the largest scale that is found to lie inside, with e's loss there."""
    for _ in range(30):
        middle = (low + high) / 2
        loss = stays_at(middle)
        if inside(loss):
            low, stays = middle, loss
        else:
            high = middle
    return low, stays

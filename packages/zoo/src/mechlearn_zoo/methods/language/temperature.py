"""Quality and diversity by temperature: compare generators as curves, not points (Caccia et al. 2020).

Sweep the softmax temperature T (the paper's alpha is 1 / T), measure quality and lack of diversity at each, both as costs: the
lower the better. NLL_oracle of samples or negative BLEU is such a quality; NLL_test at that temperature or self-BLEU such a
diversity. Where two curves overlap in diversity, the lower quality cost dominates. A single temperature, T = 1 above all,
compares nothing: a generator that is merely less diverse looks better there. Curves of a few hundred samples cross by noise:
draw thousands a point, and share the random numbers (the same generator seed at every point).
"""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_callable, check_positive, check_whole
from mechlearn_zoo.methods.language.sampling import sample
from mechlearn_zoo.methods.language.step_model import State, StepModel
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.nn.mixtures import at_temperature

PAPER = Paper(
    "Temperature sweep", 2020, "Caccia et al., section 3", "https://arxiv.org/abs/1811.02549", "samples at each temperature"
)


class Point(NamedTuple):
    """A generator at one temperature.

    Attributes:
        temperature: T.
        quality: a cost, the lower the better.
        diversity: a cost, the lower the more diverse.
    """

    temperature: float
    quality: float
    diversity: float


Curve = tuple[Point, ...]
"""Points in the order of their temperatures."""


class Dominance(NamedTuple):
    """How one curve lies to another, over the range of diversity that both reach.

    Attributes:
        share: of the range in which the first curve has the lower quality cost.
        gap: the second curve's cost less the first's where that is greatest.
        low: where the common range begins.
        high: where it ends.
    """

    share: float
    gap: float
    low: float
    high: float


@runtime_checkable
class Measure(Protocol):
    """From samples at a temperature and the tempered generator to a cost."""

    def __call__(self, samples: Int[Tensor, "n t"], model: StepModel, /) -> float:
        """Return the cost."""
        ...


class Tempered:
    """A generator whose logits are divided by a temperature; itself a `StepModel`.

    Args:
        model: the generator.
        temperature: T above 0; to be greedy, draw with ``temperature=0`` (`mechlearn_zoo.methods.language.sampling.sample`).
    """

    def __init__(self, model: StepModel, temperature: float) -> None:
        check_positive("temperature", temperature, way_out="For greedy text call sample(..., temperature=0).")
        self.model, self.temperature = model, float(temperature)
        whole = getattr(model, "read", None)
        if whole is not None:
            self.read = self._read

    def start(self, batch: int) -> State:
        """Return the generator's own start."""
        return self.model.start(batch)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the generator's logits over T, up to a constant where that leaves their type, and its state."""
        logits, state = self.model.step(tokens, state)
        return logits if self.temperature == 1 else at_temperature(logits, self.temperature), state

    def _read(self, tokens: Tensor, state: State = None) -> tuple[Tensor, State]:
        whole: Callable[..., tuple[Tensor, State]] = getattr(self.model, "read")  # no part of the protocol  # noqa: B009  # no part of the protocol
        logits, state = whole(tokens, state)
        return logits if self.temperature == 1 else at_temperature(logits, self.temperature), state


@torch.no_grad()
def sweep(
    model: StepModel,
    temperatures: Iterable[float] | Float[Tensor, " t"],
    quality: Measure,
    diversity: Measure,
    *,
    count: int,
    length: int,
    seed: int,
    begin: int = 0,
) -> Curve:
    """Return a generator's curve.

    Args:
        model: the generator.
        temperatures: T above 0, in any order; a tensor or an array will do.
        quality: from samples (n, t) and the tempered generator to a cost.
        diversity: the same; measures that need no samples may ignore them.
        count: samples at each temperature.
        length: tokens of a sample.
        seed: of the draws, the same at every temperature.
        begin: the id that is read first.

    Raises:
        TypeError, ValueError: numbers out of their range, no temperature.

    >>> from mechlearn_zoo.methods.language.step_model import RecurrentModel
    >>> model = RecurrentModel(5, 4, 4, torch.Generator().manual_seed(0))
    >>> mean = lambda samples, model: float(samples.double().mean())
    >>> [point.temperature for point in sweep(model, [2.0, 0.5], mean, mean, count=10, length=3, seed=0)]
    [0.5, 2.0]
    """
    check_callable("quality", quality, "a function from samples and the generator to a number")
    check_callable("diversity", diversity, "a function from samples and the generator to a number")
    check_whole("count", count, 1)
    temperatures = sorted(float(one) for one in temperatures)
    if not temperatures:
        raise ValueError("`temperatures` should hold at least one. Found none. 0.5, 0.7, 1 and 1.3 are a beginning.")
    points: list[Point] = []
    for temperature in temperatures:
        tempered = Tempered(model, temperature)
        samples = sample(tempered, count, length, Generator().manual_seed(seed), begin=begin)
        points.append(Point(temperature, float(quality(samples, tempered)), float(diversity(samples, tempered))))
    return tuple(points)


def dominance(one: Curve, other: Curve, places: int = 1000) -> Dominance | None:
    """Return where the first curve has the lower quality cost at the same diversity; None where their ranges do not overlap.

    Both are interpolated linearly. A curve that comes back in diversity (as likelihood does at low temperatures and at high
    ones) has the best of its qualities there: of the temperatures that give that diversity a user takes the best.

    Args:
        one: the first curve, of two points or more.
        other: the second.
        places: at how many diversities the curves are compared.

    Raises:
        ValueError: a curve of fewer than two points, or of costs that are not finite.
    """
    for name, curve in {"one": one, "other": other}.items():
        if len(curve) < 2:
            raise ValueError(f"`{name}` should have two points or more, to stand for a curve. Found {len(curve)}.")
        for point in curve:
            if not (math.isfinite(point.quality) and math.isfinite(point.diversity)):
                raise ValueError(f"`{name}` should have finite costs. Found {point}. Leave that temperature out.")
    check_whole("places", places, 2)
    ranges = [(min(p.diversity for p in curve), max(p.diversity for p in curve)) for curve in (one, other)]
    low, high = max(start for start, _ in ranges), min(end for _, end in ranges)
    if low >= high:
        return None
    at = np.linspace(low, high, places)
    gaps = _best(other, at) - _best(one, at)
    return Dominance(float((gaps > 0).mean()), float(gaps.max()), low, high)


def _best(curve: Curve, at: np.ndarray) -> np.ndarray:
    """Return the least quality cost among the curve's pieces that pass a diversity."""
    best = np.full(at.shape, np.inf)
    points = sorted(curve)
    for left, right in pairwise(points):
        start, end = left.diversity, right.diversity
        inside = (at >= min(start, end)) & (at <= max(start, end))
        weight = np.zeros_like(at) if start == end else (at - start) / (end - start)
        found = left.quality + weight * (right.quality - left.quality)
        found = np.minimum(found, right.quality) if start == end else found  # both are reached at this diversity
        best = np.where(inside, np.minimum(best, found), best)
    return best

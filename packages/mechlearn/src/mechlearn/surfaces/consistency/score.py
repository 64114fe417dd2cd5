"""The inconsistency of a point between environments, definition (2) of the paper and (3.1) of the thesis."""

import itertools
import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_kind
from mechlearn.surfaces.consistency.definition import Consistency
from mechlearn.surfaces.consistency.dense import Found, dense_hessians, dense_pair
from mechlearn.surfaces.consistency.direct import Walk, walk
from mechlearn.surfaces.consistency.searches import Exact, Subspace
from mechlearn.surfaces.consistency.subspace import subspace_pair
from mechlearn.surfaces.consistency.taylor import Expansion, expansions
from mechlearn.surfaces.landscape import Landscape


class PairScore(NamedTuple):
    """How inconsistent one environment is with another.

    Attributes:
        stays: id of e, whose loss stays within epsilon.
        other: id of e', which is evaluated.
        value: max over N_e of abs(L_e' - L_e), as approximated.
        walk: what the true losses are on the way to that point or to its mirror image, whichever shows the larger comparison;
            None where no walk was asked for.
        contributions: for each named parameter, its share in the growth of the difference from theta* to that point, in loss;
            they add up to that growth.
        multiplier: how much the value grows with epsilon; 0 where N_e does not bind.
        converged: False where the iterations ran out before the tolerance was met.
        iterations: steps taken.
        residual: what is left of the optimality conditions, beside the terms that should cancel; what the tolerance is of.
    """

    stays: int
    other: int
    value: float
    walk: Walk | None
    contributions: dict[str, float]
    multiplier: float
    converged: bool
    iterations: int
    residual: float


class Score(NamedTuple):
    """The inconsistency score of a point.

    Attributes:
        inconsistency: the largest value of all ordered pairs; thesis (3.1).
        pairs: every ordered pair, most inconsistent first.
        displacement: (n,) from theta* to the point of the first pair.
        losses: for each environment, in the order of their ids, its loss at theta*.
        gradient_norm: norm of the pooled loss's gradient at theta*.
        products: Hessian-vector products taken, a Hessian row counting as one.
    """

    inconsistency: float
    pairs: tuple[PairScore, ...]
    displacement: Float[Tensor, " n"]
    losses: tuple[float, ...]
    gradient_norm: float
    products: int

    @property
    def consistency(self) -> float:
        """C(theta*), definition (2) of the paper: minus the inconsistency."""
        return -self.inconsistency


def inconsistency(
    landscape: Landscape,
    consistency: Consistency,
    generator: Generator | None = None,
    pairs: Iterable[tuple[int, int]] | None = None,
) -> Score:
    """Return how much environments disagree about a point while one of them does not notice.

    For every ordered pair of environments (e, e') the largest abs(L_e'(theta) - L_e(theta)) over the neighbourhood N_e of
    theta* in which L_e stays within epsilon. Pairs (e, e) add nothing and are left out.

    Args:
        landscape: from `landscape_of_model` or `landscape_of_functions`; theta* should be a minimum of the pooled loss.
        consistency: epsilon and all else that is to be chosen.
        generator: of random starts; needed for `Ascent` and `Subspace`.
        pairs: ids (e, e') to look at; None for all.

    Raises:
        ValueError: one environment only; ids that do not exist; a Hessian that is not positive definite (the message says of
            which environment, with ways out); a missing generator; losses that are not finite; a point that is no minimum,
            where `Consistency.not_minimum` says "error".

    >>> from mechlearn.surfaces import landscape_of_functions
    >>> a, b = torch.tensor([1.0, 4.0]), torch.tensor([2.0, 1.0])  # two bowls with their minimum at 0
    >>> bowls = landscape_of_functions([lambda x: (a * x * x).sum() / 2, lambda x: (b * x * x).sum() / 2], torch.zeros(2))
    >>> score = inconsistency(bowls, Consistency(epsilon=0.1))
    >>> round(score.inconsistency, 6), score.pairs[0].stays, score.pairs[0].other  # 0.1 * (4 / 1 - 1)
    (0.3, 1, 0)
    """
    check_kind("landscape", landscape, Landscape, "mechlearn.surfaces.Landscape", way_out="landscape_of_model(...) makes one.")
    check_kind(
        "consistency", consistency, Consistency, "mechlearn.surfaces.Consistency", way_out="Use Consistency(epsilon=...)."
    )
    chosen = _positions(landscape, pairs)
    _check_search(landscape, consistency, generator)
    found = expansions(landscape)
    norm, products = check_minimum(landscape, found, consistency)
    search, spent = _searcher(landscape, found, consistency, generator)
    products += spent
    scores: list[PairScore] = []
    worst: Found | None = None
    for pair in chosen:
        place = search(pair)
        products += place.products
        scores.append(_describe(landscape, pair, place, consistency))
        worst = place if worst is None or place.value > worst.value else worst
        del place  # at scale it is two vectors
    displacement = landscape.point.new_zeros(0) if worst is None else worst.displacement
    ranked = tuple(sorted(scores, key=lambda score: -score.value))
    return Score(ranked[0].value, ranked, displacement, tuple(e.loss for e in found), norm, products)


def _check_search(landscape: Landscape, consistency: Consistency, generator: Generator | None) -> None:
    if generator is None and not isinstance(consistency.search, Exact):
        raise ValueError("Random starts need a generator. Found None. Pass generator=torch.Generator().manual_seed(0).")
    if consistency.curvature == "gauss-newton" and not landscape.outputs:
        raise ValueError(
            "Gauss-Newton products need a model's outputs. Found losses that are functions of the parameters alone. Use "
            "landscape_of_model, or curvature='hessian' with a ridge."
        )


def _searcher(
    landscape: Landscape, found: list[Expansion], consistency: Consistency, generator: Generator | None
) -> tuple[Callable[[tuple[int, int]], Found], int]:
    """Return what finds a pair's worst point, and how many products its preparation took."""
    search = consistency.search
    if isinstance(search, Subspace):
        if generator is None:
            raise RuntimeError("_check_search has asked for a generator")
        return lambda pair: subspace_pair(landscape, pair, found, consistency, search, generator), 0
    hessians = dense_hessians(landscape, consistency.curvature, search.largest)
    products = len(hessians) * len(landscape.point)
    return lambda pair: dense_pair(landscape, pair, found, hessians, consistency, generator), products


def _positions(landscape: Landscape, pairs: Iterable[tuple[int, int]] | None) -> list[tuple[int, int]]:
    ids = landscape.environments
    if len(ids) < 2:
        raise ValueError(
            f"Consistency compares environments: at least two are needed. Found {len(ids)}. Give each site, camera or "
            "simulator an id of its own."
        )
    if pairs is None:
        return list(itertools.permutations(range(len(ids)), 2))
    chosen = list(pairs)
    for pair in chosen:
        if not set(pair) <= set(ids) or pair[0] == pair[1]:
            raise ValueError(f"`pairs` should hold two different environments of {ids}. Found {pair}.")
    if not chosen:
        raise ValueError("`pairs` should hold at least one pair. Found none. Pass None for all.")
    return [(ids.index(e), ids.index(other)) for e, other in chosen]


def _describe(landscape: Landscape, pair: tuple[int, int], place: Found, consistency: Consistency) -> PairScore:
    stays, other = (landscape.environments[e] for e in pair)
    walked: Walk | None = None
    if consistency.walk:
        # Without linear terms the expansion cannot tell a point from its mirror image; the true losses can.
        ways = (walk(landscape, pair, way * place.displacement, consistency) for way in (1, -1))
        walked = max(ways, key=lambda found: found.largest)
    rest = (place.converged, place.iterations, place.residual)
    return PairScore(stays, other, place.value, walked, place.contributions, place.multiplier, *rest)


def check_minimum(landscape: Landscape, found: list[Expansion], consistency: Consistency) -> tuple[float, int]:
    """Return the norm of the pooled gradient, after asking whether the point is a minimum as far as epsilon can tell.

    The question is scale-free: the best step along the pooled gradient g lowers the pooled loss by about
    (g . g)^2 / (2 g . H g), and that should be less than epsilon. One product for each environment.
    """
    gradient = torch.stack([expansion.gradient for expansion in found]).mean(0)
    norm = float(gradient.norm())
    if consistency.not_minimum == "ignore" or norm == 0:
        return norm, 0
    curved = [landscape.product(e, gradient, consistency.curvature) for e in range(len(found))]
    bend = float(torch.stack(curved).mean(0) @ gradient) + consistency.ridge * norm**2
    gain = norm**4 / (2 * bend) if bend > 0 else float("inf")
    if gain > consistency.epsilon:
        fall = f"a step along it lowers that loss by about {gain:.2g}" if bend > 0 else "that loss bends downwards along it"
        sentence = (
            f"The point should be a minimum of the pooled loss. Found a gradient of norm {norm:.3g}: {fall}, where epsilon is "
            f"{consistency.epsilon:g}. Train longer, choose a larger epsilon, or pass not_minimum='ignore'."
        )
        if consistency.not_minimum == "error":
            raise ValueError(sentence)
        warnings.warn(sentence, stacklevel=3)
    return norm, len(found)


Start = TypeVar("Start")
Point = TypeVar("Point")


class LearningConsistency(NamedTuple):
    """The invariant learning consistency of an algorithm, ILC.

    Attributes:
        value: the mean consistency over initialisations; 0 is the best.
        scores: the score of each point that the algorithm converged to.
    """

    value: float
    scores: tuple[Score, ...]


def ilc(
    algorithm: Callable[[Start], Point], initialisations: Iterable[Start], score: Callable[[Point], Score]
) -> LearningConsistency:
    """Return an algorithm's ILC: its expected consistency over initialisations (paper equation 3, thesis 3.2).

    Args:
        algorithm: from an initialisation to the point it converges to when trained on all environments.
        initialisations: draws of theta^0, or seeds that stand for them.
        score: the score of a point, for example ``lambda model: inconsistency(landscape_of_model(model, ...), consistency)``.

    Raises:
        ValueError: no initialisation.
    """
    scores = tuple(score(algorithm(start)) for start in initialisations)
    if not scores:
        raise ValueError("`initialisations` should hold at least one, as ILC is their mean. Found none. Give a seed or more.")
    return LearningConsistency(sum(found.consistency for found in scores) / len(scores), scores)

"""Evolution of a small controller: C of World Models, by CMA-ES.

What is evolved and how a population is evaluated at once is in `acting`.

CMA-ES is the package `cma` (Hansen), an extra: `pip install 'mechlearn-zoo[worlds]'`. Use evolution for tens to a few hundred
parameters and returns that cannot be differentiated; above a thousand, policy gradients.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_callable, check_numbers, check_positive, check_shape, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Evolved controllers",
    2018,
    "Ha and Schmidhuber, section 2.3, by Hansen's CMA-ES",
    "https://arxiv.org/abs/1809.01999",
    "population x episodes steps of the world a generation, no gradients",
)

DIAGONAL_ABOVE = 100
"""Above so many parameters `evolve` keeps the covariance diagonal (cma's `CMA_diagonal`): there is no time to learn all of
it."""


class Evolved(NamedTuple):
    """What evolution leaves.

    Attributes:
        best: (n,) the best candidate that was evaluated.
        mean: (n,) the distribution's mean, what to use where fitness is noisy.
        history: (generations, 2): best and mean fitness of each generation.
    """

    best: Float[Tensor, " n"]
    mean: Float[Tensor, " n"]
    history: Float[Tensor, "g 2"]


Fitness = Callable[[Tensor, int], Tensor]
"""From candidates (p, n) and the generation's number to their fitness (p,), the higher the better."""


def evolve(fitness: Fitness, parameters: int, *, generations: int, population: int, sigma: float, seed: int) -> Evolved:
    """Maximise a fitness by CMA-ES, from zeros: a thin loop over `cma.CMAEvolutionStrategy`.

    Args:
        fitness: of all candidates at once; draw each generation's episodes from its number, so that a run repeats.
        parameters: n.
        generations: how many.
        population: p candidates in each.
        sigma: initial standard deviation; 0.1 in the published code.
        seed: of cma's own generator; at least 1, as 0 would mean the clock there.

    Raises:
        ImportError: `cma` is not installed.
        TypeError: numbers of another type, a fitness that cannot be called.
        ValueError: numbers out of range; fitness of another shape, or not finite: the candidate is named, cma is not told
            and its state is as before.
    """
    check_callable("fitness", fitness, "a function of candidates and the generation's number")
    for name, value, least in (("parameters", parameters, 2), ("generations", generations, 1), ("population", population, 4)):
        check_whole(name, value, least)
    check_positive("sigma", sigma, way_out="0.1 is usual.")
    check_whole("seed", seed, 1, why="0 is the clock to cma")
    strategy = _import_cma().CMAEvolutionStrategy(np.zeros(parameters), float(sigma), options(parameters, population, seed))
    history: list[tuple[float, float]] = []
    for generation in range(generations):
        asked = strategy.ask()
        found = fitness(torch.as_tensor(np.stack(asked), dtype=torch.get_default_dtype()), generation)
        _check_fitness(found, population, generation)
        strategy.tell(asked, (-found.double()).tolist())
        history.append((float(found.max()), float(found.mean())))
    best, mean = (torch.as_tensor(one, dtype=torch.get_default_dtype()) for one in (strategy.best.x, strategy.result.xfavorite))
    return Evolved(best, mean, torch.tensor(history))


def options(parameters: int, population: int, seed: int) -> dict[str, Any]:
    """Return what `evolve` asks of cma; the rest is its own defaults, and none of its stopping rules is read."""
    return {"popsize": population, "seed": seed, "verbose": -9, "verb_log": 0, "CMA_diagonal": parameters > DIAGONAL_ABOVE}


def _check_fitness(found: object, population: int, generation: int) -> None:
    check_numbers("fitness", found, way_out="Return one number for each candidate, as a tensor.")
    check_shape("fitness", found, population, way_out="Return one number for each candidate.")
    if isinstance(found, Tensor) and not bool(found.isfinite().all()):
        first = int((~found.isfinite()).nonzero()[0])
        raise ValueError(
            f"Fitness should be finite. Found {float(found[first])} for candidate {first} of generation {generation}. "
            "Bound the returns, or give such candidates the worst one."
        )


def _import_cma() -> ModuleType:
    try:
        import cma  # pyright: ignore[reportMissingImports]  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("Evolution needs the package cma. Found none. Run `pip install 'mechlearn-zoo[worlds]'`.") from error
    return cma

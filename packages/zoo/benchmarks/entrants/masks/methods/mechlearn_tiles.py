"""mechlearn's `Agreement` over tiles of environments: `accumulate` for all but the last, so that activations stay in cache."""

from collections.abc import Sequence

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.methods.mechlearn import paths
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import Step

from mechlearn.agreement import Agreement, AndMask, Record


def chunks(problem: Problem) -> Sequence[int]:
    """Return how many environments to take at a time: as few as a cache asks for, or a good part of all."""
    return [size for size in (4, 8, 16, 40) if size < problem.count] or [1]


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the loop a user writes: a forward pass and one call for each tile."""
    agreement = Agreement(problem.model, AndMask(problem.threshold))
    rows = chunk * len(problem.x) // problem.count
    *tiles, last = zip(problem.x.split(rows), problem.y.split(rows), problem.environments.split(rows), strict=True)

    def step() -> Record:
        for x, y, environments in tiles:
            agreement.accumulate(problem.loss(problem.model(x), y), environments)
        x, y, environments = last
        return agreement.backward(problem.loss(problem.model(x), y), environments)

    return step


METHOD = Method("mechlearn (tiles)", prepare, package="mechlearn", chunks=chunks, remark=paths)

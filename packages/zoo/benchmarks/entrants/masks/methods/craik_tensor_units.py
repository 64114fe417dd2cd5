"""craik's `Agreement` with each environment gradient of a parameter divided by its own norm."""

from craik_benchmarks.entrants.masks.methods import Method
from craik_benchmarks.entrants.masks.methods.craik import paths
from craik_benchmarks.entrants.masks.problem import Problem
from craik_benchmarks.measuring.timing import Step

from craik.agreement import Agreement, AndMask, Record


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step a user writes."""
    del chunk
    agreement = Agreement(problem.model, AndMask(problem.threshold), normalise="tensor")

    def step() -> Record:
        return agreement.backward(problem.losses(), problem.environments)

    return step


METHOD = Method("craik (normalise=tensor)", prepare, package="craik", remark=paths, literal=False)

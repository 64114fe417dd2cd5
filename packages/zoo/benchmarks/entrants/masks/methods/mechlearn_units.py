"""mechlearn's `Agreement` with environment gradients divided by their norms over the model: norms in a pass of their own."""

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.methods.mechlearn import paths
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import Step

from mechlearn.agreement import Agreement, AndMask, Record


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step a user writes."""
    del chunk
    agreement = Agreement(problem.model, AndMask(problem.threshold), normalise="model")

    def step() -> Record:
        return agreement.backward(problem.losses(), problem.environments)

    return step


METHOD = Method("mechlearn (normalise=model)", prepare, package="mechlearn", remark=paths, literal=False)

"""mechlearn's `Agreement` with its compiled CPU kernels."""

import warnings

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.methods.mechlearn import paths
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError
from mechlearn_zoo_benchmarks.measuring.timing import Step

from mechlearn.agreement import Agreement, AndMask, Record


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step a user writes; the kernels are built, or found in the cache, before the clock starts.

    Raises:
        NotRunError: there is no C compiler.
    """
    del chunk
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            agreement = Agreement(problem.model, AndMask(problem.threshold), kernel="compiled")
        except UserWarning as reason:
            raise NotRunError(f"not run: {reason}") from None

    def step() -> Record:
        return agreement.backward(problem.losses(), problem.environments)

    return step


METHOD = Method("mechlearn (compiled)", prepare, package="mechlearn", remark=paths)

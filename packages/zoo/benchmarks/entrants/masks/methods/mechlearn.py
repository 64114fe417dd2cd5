"""mechlearn's `Agreement`: one backward pass, running sums."""

from collections import Counter

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import Step

from mechlearn.agreement import Agreement, AndMask, Record


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step a user writes; the object is made once, before training."""
    del chunk
    agreement = Agreement(problem.model, AndMask(problem.threshold))

    def step() -> Record:
        return agreement.backward(problem.losses(), problem.environments)

    return step


def paths(record: Record) -> str:
    """Say how many parameters took which path."""
    counts = Counter(record.paths.values())
    return ", ".join(f"{path} path: {number} of {counts.total()} parameters" for path, number in sorted(counts.items()))


METHOD = Method("mechlearn", prepare, package="mechlearn", remark=paths)

"""Plain backpropagation of the mean loss: the denominator, no mask."""

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import Step


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step: forward, mean, backward."""
    del chunk

    def step() -> None:
        problem.losses().mean().backward()

    return step


METHOD = Method("plain backprop", prepare, note="the denominator")

"""Opacus: hooks that leave every example's gradient in ``grad_sample``."""

import warnings

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method, require_memory
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.entrants.masks.rule import and_mask
from mechlearn_zoo_benchmarks.measuring.peers import installed
from mechlearn_zoo_benchmarks.measuring.timing import Step

HOOK = "Full backward hook is firing"
"""torch warns of a first layer's inputs, which need no gradient, at every step; the hooks are right all the same."""


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step: per-example gradients of the summed losses, averaged within each environment, then masked."""
    del chunk
    wrapped = installed("opacus").GradSampleModule(problem.model, loss_reduction="sum")
    require_memory(problem, len(problem.x), stacks=3)  # its buffer, the formula's result, the other layers' share
    parameters = problem.parameters

    def step() -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", HOOK)
            problem.loss(wrapped(problem.x), problem.y).sum().backward()
        for parameter in parameters:
            samples, parameter.grad_sample = parameter.grad_sample, None
            stack = samples if len(samples) == problem.count else problem.by_environment(samples).mean(1)
            parameter.grad = and_mask(stack, problem.threshold)

    return step


METHOD = Method("Opacus", prepare, package="opacus")

"""BackPACK: its BatchGrad extension leaves every example's gradient in ``grad_batch``."""

import warnings

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method, require_memory
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.entrants.masks.rule import and_mask
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError, installed
from mechlearn_zoo_benchmarks.measuring.timing import Step
from torch import nn

HOOK = "Full backward hook is firing"
"""torch warns of a first layer's inputs, which need no gradient, at every step; the hooks are right all the same."""


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step: per-example gradients of the summed losses, averaged within each environment, then masked."""
    del chunk
    backpack, extensions = installed("backpack"), installed("backpack.extensions")
    _require_formulas(problem.model)
    require_memory(problem, len(problem.x), stacks=2)
    backpack.extend(problem.model)
    parameters = problem.parameters

    def step() -> None:
        with warnings.catch_warnings(), backpack.backpack(extensions.BatchGrad()):
            warnings.filterwarnings("ignore", HOOK)
            problem.losses().sum().backward()
        for parameter in parameters:
            samples = parameter.grad_batch
            del parameter.grad_batch
            stack = samples if len(samples) == problem.count else problem.by_environment(samples).mean(1)
            parameter.grad = and_mask(stack, problem.threshold)

    return step


def _require_formulas(model: nn.Module) -> None:
    """Refuse a model with a layer that BatchGrad cannot treat: it would warn and leave that layer's gradients out.

    Its table of layers is private, hence the list of those among our workloads' layers that it has.
    """
    known = (nn.Linear, nn.Conv2d)
    for module in model.modules():
        if not isinstance(module, known) and next(module.parameters(recurse=False), None) is not None:
            raise NotRunError(f"not run: BatchGrad has no extension for {type(module).__name__}")


METHOD = Method("BackPACK", prepare, package="backpack-for-pytorch")

"""DomainBed's ANDMask: a forward and backward pass for each environment, all gradients stacked; without its rescaling."""

import torch
from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.methods.authors_loop import float_and_mask
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import Step


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step over minibatches, one an environment."""
    del chunk
    parameters = problem.parameters
    minibatches = list(zip(problem.by_environment(problem.x), problem.by_environment(problem.y), strict=True))

    def step() -> None:
        stacks: list[list[torch.Tensor]] = [[] for _ in parameters]
        for x, y in minibatches:
            gradients = torch.autograd.grad(problem.loss(problem.model(x), y).mean(), parameters)
            for stack, gradient in zip(stacks, gradients, strict=True):
                stack.append(gradient)
        for parameter, stack in zip(parameters, stacks, strict=True):
            parameter.grad = float_and_mask(torch.stack(stack), problem.threshold)

    return step


METHOD = Method("DomainBed", prepare, note="compares the mean of signs in floating point")

"""A forward and backward pass for each environment, with running sums of gradients and signs instead of stacks."""

import torch
from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.entrants.masks.rule import masked
from mechlearn_zoo_benchmarks.measuring.timing import Step


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step: two running tensors a parameter."""
    del chunk
    parameters = problem.parameters
    minibatches = list(zip(problem.by_environment(problem.x), problem.by_environment(problem.y), strict=True))

    def step() -> None:
        total = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        sign = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        for x, y in minibatches:
            gradients = torch.autograd.grad(problem.loss(problem.model(x), y).mean(), parameters)
            for t, s, gradient in zip(total, sign, gradients, strict=True):
                t.add_(gradient)
                s.add_(gradient.sign())  # not in place: autograd may hand out one tensor for two parameters
        for parameter, t, s in zip(parameters, total, sign, strict=True):
            parameter.grad = masked(t.div_(problem.count), s, problem.count, problem.threshold)

    return step


METHOD = Method("running sums", prepare)

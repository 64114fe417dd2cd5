"""What the papers' authors published: one forward pass, then a backward pass over the whole graph for each environment."""

import torch
from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import Step
from torch import Tensor


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step: E calls of autograd.grad on one graph, all gradients stacked, a float mean of their signs."""
    del chunk
    parameters = problem.parameters

    def step() -> None:
        losses = problem.by_environment(problem.losses()).mean(1)
        gradients = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in losses]
        for i, parameter in enumerate(parameters):
            parameter.grad = float_and_mask(torch.stack([gradient[i] for gradient in gradients]), problem.threshold)

    return step


def float_and_mask(stack: Tensor, threshold: float) -> Tensor:
    """Return the masked mean of (E, *p) gradients with the mean of signs compared in floating point."""
    mask = stack.sign().mean(0).abs() >= threshold
    return mask.to(stack.dtype) * stack.mean(0)


METHOD = Method("authors' loop", prepare, note="compares the mean of signs in floating point")

"""torch.func: vmap over grad, in chunks of environments, with running sums over the chunks."""

from collections.abc import Sequence

import torch
from mechlearn_zoo_benchmarks.entrants.masks.methods import Method
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.entrants.masks.rule import masked
from mechlearn_zoo_benchmarks.measuring.memory import available
from mechlearn_zoo_benchmarks.measuring.timing import Step
from torch import Tensor
from torch.func import functional_call, grad, vmap


def chunks(problem: Problem) -> Sequence[int]:
    """Return the chunk sizes to choose from: powers of two up to all environments, as far as their gradients fit."""
    sizes = [size for size in (4, 8, 16, 32) if size < problem.count] + [problem.count]
    return [size for size in sizes if 3 * problem.stacked_bytes(size) <= available() / 2] or sizes[:1]


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step with chunks of `chunk` environments."""
    x, y = problem.by_environment(problem.x), problem.by_environment(problem.y)

    def environment_loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return problem.loss(functional_call(problem.model, parameters, (x,)), y).mean()

    gradients = vmap(grad(environment_loss), in_dims=(None, 0, 0))

    def step() -> None:
        parameters = {name: p.detach() for name, p in problem.model.named_parameters()}
        total = {name: torch.zeros_like(p) for name, p in parameters.items()}
        sign = {name: torch.zeros_like(p) for name, p in parameters.items()}
        for rows in torch.arange(problem.count).split(chunk):
            part = slice(int(rows[0]), int(rows[-1]) + 1)
            for name, gradient in gradients(parameters, x[part], y[part]).items():
                total[name] += gradient.sum(0)
                sign[name] += gradient.sign().sum(0)
        for name, p in problem.model.named_parameters():
            p.grad = masked(total[name].div_(problem.count), sign[name], problem.count, problem.threshold)

    return step


METHOD = Method("vmap(grad)", prepare, chunks=chunks)

"""Plain autograd: the update written out, the teacher called on each inner batch, one backward pass through all of it."""

import torch
from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Compute, Method
from mechlearn_zoo_benchmarks.entrants.unrolls.problem import Unrolling
from torch import Tensor
from torch.func import functional_call


def prepare(problem: Unrolling) -> Compute:
    """Return the meta-gradient as one would write it down."""
    student = problem.student

    def compute() -> list[Tensor]:
        theta = {name: p.detach().requires_grad_() for name, p in student.named_parameters()}
        velocity = {name: torch.zeros_like(p) for name, p in theta.items()}
        for i in range(len(problem.x)):
            loss = problem.training_loss(functional_call(student, theta, (problem.x[i],)), i, problem.signals(i))
            found = torch.autograd.grad(loss, list(theta.values()), create_graph=True)
            for (name, p), g in zip(list(theta.items()), found, strict=True):
                velocity[name] = problem.momentum * velocity[name] + g + problem.weight_decay * p
                theta[name] = p - problem.lr * velocity[name]
        outer = problem.validation_loss(functional_call(student, theta, (problem.x_val,)))
        return list(torch.autograd.grad(outer, problem.leaves))

    return compute


METHOD = Method("plain autograd", prepare)

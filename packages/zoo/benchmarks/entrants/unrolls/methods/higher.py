"""higher: its patched copy of the student and its differentiable optimiser, as its documentation does."""

import torch
from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Compute, Method
from mechlearn_zoo_benchmarks.entrants.unrolls.problem import Unrolling
from mechlearn_zoo_benchmarks.measuring.peers import installed
from torch import Tensor


def prepare(problem: Unrolling) -> Compute:
    """Return the meta-gradient by ``higher.innerloop_ctx``."""
    higher = installed("higher", "pip install higher, with torch's version held by constraints.txt")
    optimizer = torch.optim.SGD(
        problem.student.parameters(), problem.lr, momentum=problem.momentum, weight_decay=problem.weight_decay
    )

    def compute() -> list[Tensor]:
        with higher.innerloop_ctx(problem.student, optimizer, copy_initial_weights=True) as (functional, differentiable):
            for i in range(len(problem.x)):
                differentiable.step(problem.training_loss(functional(problem.x[i]), i, problem.signals(i)))
            outer = problem.validation_loss(functional(problem.x_val))
            return list(torch.autograd.grad(outer, problem.leaves))

    return compute


METHOD = Method("higher", prepare, package="higher")

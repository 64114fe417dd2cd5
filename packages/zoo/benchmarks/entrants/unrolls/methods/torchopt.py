"""TorchOpt: its meta-optimiser over the student, whose state is put back afterwards."""

import torch
from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Compute, Method
from mechlearn_zoo_benchmarks.entrants.unrolls.problem import Unrolling
from mechlearn_zoo_benchmarks.measuring.peers import installed
from torch import Tensor


def prepare(problem: Unrolling) -> Compute:
    """Return the meta-gradient by ``torchopt.MetaSGD``."""
    torchopt = installed("torchopt", "pip install torchopt, with torch's version held by constraints.txt")

    def compute() -> list[Tensor]:
        optimizer = torchopt.MetaSGD(
            problem.student, lr=problem.lr, momentum=problem.momentum, weight_decay=problem.weight_decay
        )
        start = torchopt.extract_state_dict(problem.student, by="reference"), torchopt.extract_state_dict(optimizer)
        for i in range(len(problem.x)):
            optimizer.step(problem.training_loss(problem.student(problem.x[i]), i, problem.signals(i)))
        outer = problem.validation_loss(problem.student(problem.x_val))
        found = list(torch.autograd.grad(outer, problem.leaves))
        torchopt.recover_state_dict(problem.student, start[0])
        return found

    return compute


METHOD = Method("TorchOpt", prepare, package="torchopt", long=False)

"""The temporal AND-mask, literally (thesis appendix B.2.6; the paper's algorithm 1), tensor by tensor."""

from collections.abc import Callable, Sequence

import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.workloads import parameters
from torch import Tensor

LR, BETAS, THRESHOLD, EPS, DECAY = 6.8e-3, (0.33, 0.999, 0.72), 0.47, 1e-8, 0.077
"""The fourth row of the thesis' table B.3, with Adam's usual beta_2 and eps, which the table does not name."""

Make = Callable[[Sequence[torch.nn.Parameter]], torch.optim.Optimizer]


def literal_step(theta: Tensor, g: Tensor, m: Tensor, v: Tensor, a: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return theta, m, v and a after a step."""
    beta1, beta2, beta3 = BETAS
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * (g * g)
    a = beta3 * a + (1 - beta3) * g.sign()
    b = (a.abs() >= THRESHOLD).to(g.dtype)
    theta = theta - LR * (m * b) / (v + EPS).sqrt()
    return theta - LR * DECAY * theta, m, v, a


def agrees(make: Make, workload: str, small: bool, seed: int) -> bool:
    """Tell whether five steps in float64 end where the literal algorithm's do, to 1e-12."""
    held = parameters(workload, small, seed, torch.float64)
    optimizer = make(held)
    generator = torch.Generator().manual_seed(seed)
    expected = [(p.detach().clone(), *(torch.zeros_like(p) for _ in range(3))) for p in held]
    for _ in range(5):
        for index, parameter in enumerate(held):
            parameter.grad = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
            theta, *averages = expected[index]
            expected[index] = literal_step(theta, parameter.grad, *averages)
        optimizer.step()
    return all(bool(torch.allclose(p, theta, rtol=1e-12, atol=1e-12)) for p, (theta, *_) in zip(held, expected, strict=True))

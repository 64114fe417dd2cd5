"""Linear regression with one easy unit for each environment and one hard unit for all: a single example an environment.

Every environment is solved by its own input alone, or, more slowly, by the one that all share. After the notebook
linear_regression_ilc in the authors' published code; an example of thesis section 3.2.3.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_generator

ENVIRONMENTS = 4


def linear_units(noise: float, generator: torch.Generator) -> Float[Tensor, "4 5"]:
    """Return x = 3 [I, 0.1 * 1]: one example for each environment, its own input first, the shared one last.

    Args:
        noise: half-width of uniform noise on the environments' own inputs; 0 draws nothing.
        generator: of the noise.
    """
    check_generator("generator", generator)
    shared = torch.full((ENVIRONMENTS, 1), 0.1, dtype=torch.float64)
    x = 3 * torch.cat([torch.eye(ENVIRONMENTS, dtype=torch.float64), shared], dim=1)
    if noise:
        own = torch.empty(ENVIRONMENTS, ENVIRONMENTS, dtype=torch.float64)
        x[:, :ENVIRONMENTS] += own.uniform_(-noise, noise, generator=generator)
    return x

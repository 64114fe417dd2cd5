"""V-REx: the variance of the environments' risks (Krueger et al. 2021, https://arxiv.org/abs/2003.00688, section 3.2)."""

from jaxtyping import Float
from torch import Tensor

from mechlearn.environments import EnvironmentIds, group


def vrex_penalty(losses: Float[Tensor, "..."], environments: EnvironmentIds) -> Float[Tensor, ""]:
    """Return mean_e (L_e - mean_e L_e)^2, to be weighted and added to the mean loss.

    Source: Var of the risks in the objective of V-REx (section 3.2 of https://arxiv.org/abs/2003.00688).

    Args:
        losses: (B,) unreduced, with their graph.
        environments: B ids, the environment of each example: integers, texts or anything hashable.

    Raises:
        TypeError: ids that cannot be hashed.
        ValueError: reduced losses, ids that do not fit, fewer than two environments.
    """
    return group(losses, environments, least=2).means(losses).var(correction=0)

"""IGA: the spread of the environments' gradients (Koyama and Yamaguchi 2020, https://arxiv.org/abs/2008.01883)."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from mechlearn.environments import EnvironmentIds, group
from mechlearn.penalties.gradients import environment_gradients
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper("IGA", 2020, "Koyama and Yamaguchi", "https://arxiv.org/abs/2008.01883", "E backward passes with their graphs")


def iga_penalty(losses: Float[Tensor, "..."], environments: EnvironmentIds, parameters: Sequence[Tensor]) -> Float[Tensor, ""]:
    """Return mean_e ||g_e - mean_e g_e||^2, the trace of the covariance of environment gradients.

    Source: the regulariser of inter-environmental gradient alignment (https://arxiv.org/abs/2008.01883). To be weighted and
    added to the mean loss; differentiating it takes second derivatives. DomainBed sums over environments where this takes the
    mean. Costs E backward passes and holds their graphs.

    Args:
        losses: (B,) unreduced, with their graph.
        environments: B ids, the environment of each example: integers, texts or anything hashable.
        parameters: what to differentiate with respect to.

    Raises:
        TypeError: ids that cannot be hashed.
        ValueError: reduced losses, ids that do not fit, fewer than two environments.
    """
    g = environment_gradients(losses, group(losses, environments, least=2), parameters, create_graph=True)
    return (g - g.mean(0)).square().sum(1).mean()

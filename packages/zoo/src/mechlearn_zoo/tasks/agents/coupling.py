"""Two agents, one of whom follows the other with a known probability: the influence is known in closed form."""

import math

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from mechlearn.arguments import check_share, check_whole


def coupled_play(seed: int, episodes: int, steps: int, coupling: float, actions: int = 3) -> Int[Tensor, "b t 2"]:
    """Return what A and B do, (episodes, steps, 2): A at random, B what A did before with a probability, else at random.

    Args:
        seed: of every draw.
        episodes: at least 1.
        steps: of each.
        coupling: the probability, in [0, 1].
        actions: that each can take.

    Raises:
        TypeError: numbers of another kind.
        ValueError: numbers out of range.
    """
    for name, size, least in (("episodes", episodes, 1), ("steps", steps, 1), ("actions", actions, 2)):
        check_whole(name, size, least=least)
    check_share("coupling", coupling)
    generator = Generator().manual_seed(seed)
    play = torch.randint(0, actions, (episodes, steps, 2), generator=generator)
    follows = torch.rand(episodes, steps, generator=generator) < coupling
    follows[:, 0] = False
    play[..., 1] = torch.where(follows, play[..., 0].roll(1, 1), play[..., 1])
    return play


def true_influence(coupling: float, actions: int = 3) -> float:
    """Return A's influence on B's next action in `coupled_play`, in nats: that of one channel, the same for every action."""
    check_share("coupling", coupling)
    check_whole("actions", actions, least=2)
    other = (1 - coupling) / actions
    same = coupling + other
    terms = [(same, 1), (other, actions - 1)]
    return sum(count * p * math.log(p * actions) for p, count in terms if p > 0)

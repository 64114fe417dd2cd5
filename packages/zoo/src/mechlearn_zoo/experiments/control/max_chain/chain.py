"""The chain with a noisy trap (Shyam et al. 2019, https://arxiv.org/abs/1810.12162; the drawing of actions is ours).

One of two actions leads on, drawn for each state, the other back. At the near end lies a trap: from there every action leads
to the trap itself or out of it, evenly, which nobody can predict.
"""

import torch
from torch import Generator

from mechlearn.arguments import check_generator, check_whole
from mechlearn_zoo.finite import FiniteMDP


def chain(length: int, generator: Generator, discount: float = 1.0) -> FiniteMDP:
    """Return a chain of N states without reward, started in state 1 beside the trap 0.

    It does not end by itself: episodes are cut after as many steps as the user likes, N + 9 in the experiment.

    Args:
        length: N, at least 3.
        generator: of the action that leads on in each state.
        discount: gamma of the process; of no matter without reward.
    """
    check_whole("length", length, 3)
    check_generator("generator", generator)
    onward = torch.randint(2, (length,), generator=generator)
    places = torch.arange(length)
    transitions = torch.zeros(length, 2, length, dtype=torch.float64)
    transitions[places, onward, (places + 1).clamp(max=length - 1)] = 1
    transitions[places, 1 - onward, (places - 1).clamp(min=0)] = 1
    transitions[0] = 0
    transitions[0, :, :2] = 0.5
    start = torch.zeros(length, dtype=torch.float64)
    start[1] = 1
    return FiniteMDP(transitions, torch.zeros(length, 2, dtype=torch.float64), start, discount)

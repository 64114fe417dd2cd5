"""The levels of one seed as a model and a world, and policies that go by their cell alone."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

from mechlearn_zoo.methods.control.counterfactual import Scenarios, View
from mechlearn_zoo.tasks.finite.scenarios import levels, lower_left

DISCOUNT = 0.95


class Library(NamedTuple):
    """What there is: the model with its even prior, (K,) how often the world draws each level, (K,) goals."""

    model: Scenarios
    world: Tensor
    goal: Tensor


def make_library(count: int, glimpse: float, generator: Generator) -> Library:
    """Draw levels of 6 x 6 cells, 15 % walls and 5 % pits."""
    found = levels(count, generator, 6, walls=0.15, pits=0.05)
    prior = torch.full((count,), 1 / count, dtype=torch.float64)
    model = Scenarios(found.next, found.picture, found.rewards, found.ends, prior, found.start, glimpse)
    return Library(model, lower_left(found), found.goal)


def drifting(size: int) -> list[Tensor]:
    """Return four policies, (S, 4) each: one drifts to each corner, each of its two moves with probability 0.4."""
    found: list[Tensor] = []
    for vertical in (0, 1):
        for horizontal in (2, 3):
            moves = torch.full((4,), 0.1, dtype=torch.float64)
            moves[[vertical, horizontal]] = 0.4
            found.append(moves.expand(size * size, 4))
    return found


def wander(view: View, generator: Generator) -> tuple[Tensor, Tensor]:
    """Act evenly at random: the policy that logged."""
    actions = torch.randint(4, view.cells.shape, generator=generator)
    return actions, torch.full(actions.shape, 0.25).log()

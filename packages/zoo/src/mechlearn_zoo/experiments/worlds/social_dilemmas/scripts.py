"""Agents that learn nothing: at random, greedy, or with care; they show that the worlds are dilemmas."""

from functools import cache

import torch
from torch import Generator, Tensor

from mechlearn_zoo.experiments.worlds.social_dilemmas.dilemmas import CLEAN, Cleanup, Harvest, State, World, layout

KEPT = 3
"""Who takes care in Harvest leaves an apple with fewer than so many near it: it would grow again too slowly."""
_FAR = 1e6


def careful(world: World) -> tuple[bool, ...]:
    """Return which agents take care where a group does: all in Harvest; the first in Cleanup, who cleans for the others."""
    return tuple(isinstance(world, Harvest) or agent == 0 for agent in range(world.agents))


def scripted(world: World, state: State, care: tuple[bool, ...], generator: Generator) -> Tensor:
    """Return what scripted agents do, (b, n).

    Greedy ones step towards the nearest apple. Those who take care do so in Harvest, too, but never step on an apple with fewer
    than `KEPT` near it; in Cleanup they clean where it takes waste away, else they step towards the nearest waste.

    Args:
        world: its sizes.
        state: as it is.
        care: who takes care.
        generator: of ties, and of steps where there is nothing to go for.
    """
    still, caring = layout(world), torch.tensor(care)
    spared = torch.zeros_like(state.apples)
    if isinstance(world, Harvest):
        few = state.apples[:, still.orchard].float() @ still.near < KEPT
        spared = spared.index_copy(1, still.orchard, few) & state.apples
    aims = state.apples & ~spared if isinstance(world, Harvest) else state.waste
    ahead = still.onward[state.places]  # (b, n, actions)
    ways = [_ways(world, ahead, targets) for targets in (state.apples, aims)]
    blocked = spared.gather(1, ahead.flatten(1)).view_as(ahead)
    cost = torch.where(caring[:, None], ways[1] + 2 * _FAR * blocked, ways[0])
    cost = cost + 0.5 * torch.rand(cost.shape, generator=generator)
    if isinstance(world, Cleanup):
        cost[..., CLEAN] = 4 * _FAR
        near = (still.cleaned[state.places] & state.waste[:, None, still.river]).any(-1)
        return torch.where(caring & near, CLEAN, cost.argmin(-1))
    return cost.argmin(-1)


def _ways(world: World, cells: Tensor, targets: Tensor) -> Tensor:
    """Return how many steps it is from cells (b, n, actions) to the nearest target."""
    return torch.where(targets[:, None, None], _distances(world)[cells], _FAR).amin(-1)


@cache
def _distances(world: World) -> Tensor:
    cells = torch.arange(world.height * world.width)
    rows, columns = cells // world.width, cells % world.width
    return ((rows[:, None] - rows).abs() + (columns[:, None] - columns).abs()).float()

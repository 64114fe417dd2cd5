"""What lies between two cells of a maze: a network that learns it from walks, and proposals that know less.

Index convention: a cell is its place in reading order, walls counted; a state is a free cell's number, see `Grid`.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from claimlab import checkpoint
from mechlearn_zoo.experiments.worlds.dividing.relabelling import hindsight, without_loops
from mechlearn_zoo.experiments.worlds.dividing.settings import Config
from mechlearn_zoo.experiments.worlds.dividing.walks import wander
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.worlds.dividing import Proposals
from mechlearn_zoo.tasks.finite.grids import Grid
from mechlearn_zoo.tasks.finite.mazes import maze

Propose = Callable[[int, int], Proposals]


class Solved(NamedTuple):
    """Solved problems: each one's maze, and the cells s, t, and the sub-goals in the middle and `reach` moves from s."""

    free: Float[Tensor, "mazes h w"]
    rows: Int[Tensor, "n 5"]


class ProposalNetwork(nn.Module):
    """Convolutions on a picture of free cells, start and goal; logits of two kinds of sub-goals, minus infinity at walls.

    Args:
        channels: of each convolution.
        layers: how many, each with a path around it.
        generator: of the initial weights.
    """

    def __init__(self, channels: int, layers: int, generator: Generator) -> None:
        super().__init__()
        self.first = _convolution(3, channels, 3, generator)
        self.between = nn.ModuleList(_convolution(channels, channels, 3, generator) for _ in range(layers))
        self.last = _convolution(channels, 2, 1, generator)

    def forward(
        self, free: Float[Tensor, "n h w"], start: Int[Tensor, " n"], goal: Int[Tensor, " n"]
    ) -> Float[Tensor, "n 2 cells"]:
        """Return logits of the sub-goal in the middle, and of the next one."""
        ends = [one_hot(cell, free[0].numel()).view_as(free).to(free) for cell in (start, goal)]
        x = self.first(torch.stack((free, *ends), 1)).relu()
        for layer in self.between:
            x = x + layer(x).relu() * free.unsqueeze(1)
        return self.last(x).flatten(2).masked_fill(free.flatten(1).unsqueeze(1) == 0, -torch.inf)


def places(grid: Grid) -> Int[Tensor, " S"]:
    """Return each state's cell."""
    return grid.cells[:, 0] * grid.free.shape[1] + grid.cells[:, 1]


def walked(config: Config, generator: Generator) -> Solved:
    """Walk through mazes and return what has been solved, in both directions: a maze is the same both ways."""
    free, rows = list[Tensor](), list[Tensor]()
    for number in range(config.mazes):
        grid = maze(config.size, generator, config.loops)
        path = without_loops(wander(grid, config.walked, generator))
        free.append(grid.free.float())
        if len(path) < 3:
            continue
        own: list[int] = places(grid)[path].tolist()
        middle, following = (
            torch.cat([hindsight([one], split) for one in (own, own[::-1])]) for split in ("middle", config.reach)
        )
        rows.append(torch.stack((torch.full_like(middle[:, 0], number), *middle[:, [0, 2, 1]].unbind(1), following[:, 1]), 1))
    return Solved(torch.stack(free), torch.cat(rows))


def train(config: Config, network: ProposalNetwork, solved: Solved, generator: Generator) -> Iterator[tuple[int, float, float]]:
    """Train a network in place; yield the steps so far and the cross-entropies of both kinds, now and then."""
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    saved = checkpoint("training", network, optimizer, generator)
    yield from map(tuple, saved.values)
    for step in range(saved.done, config.steps):
        optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - step / config.steps)
        number, start, goal, *subgoals = solved.rows[
            torch.randint(len(solved.rows), (config.batch,), generator=generator)
        ].unbind(1)
        logits = network(solved.free[number], start, goal)
        middle, following = (cross_entropy(one, cell) for one, cell in zip(logits.unbind(1), subgoals, strict=True))
        descend(optimizer, middle + following, clip=1.0)
        if (step + 1) % max(1, config.steps // 20) == 0:
            yield saved.keep(step + 1, (step + 1, float(middle.detach()), float(following.detach())))
        else:
            saved.keep(step + 1)
    saved.stay()


def by_network(network: ProposalNetwork, grid: Grid, kind: int, mixed: float, shown: Tensor | None = None) -> Propose:
    """Return proposals of a network, for a grid's free cells.

    Args:
        network: trained or not.
        grid: whose states are asked about.
        kind: 0 for a sub-goal in the middle, 1 for the next.
        mixed: share that is spread evenly.
        shown: the free cells that the network is shown, another maze's; the grid's own if None.
    """
    cells = places(grid)
    free = (grid.free if shown is None else shown).float().unsqueeze(0)

    @torch.no_grad()
    def propose(s: int, t: int) -> Proposals:
        logits = network(free, cells[s : s + 1], cells[t : t + 1])[0, kind, cells]
        return _mixed(logits.clamp(min=-50).softmax(0), mixed)  # another maze's walls may stand on all of these

    return propose


def by_line(grid: Grid, mixed: float) -> Propose:
    """Return proposals that know no walls: cells near the middle of the straight line from s to t, a bell 1 cell wide."""
    cells = grid.cells.float()

    def propose(s: int, t: int) -> Proposals:
        away = (cells - (cells[s] + cells[t]) / 2).square().sum(1)
        return _mixed((-away / 2).softmax(0), mixed)

    return propose


def _mixed(prior: Tensor, mixed: float) -> Proposals:
    return Proposals(range(len(prior)), ((1 - mixed) * prior + mixed / len(prior)).tolist())


def _convolution(inputs: int, outputs: int, kernel: int, generator: Generator) -> nn.Conv2d:
    made = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, device="meta").to_empty(device="cpu")
    nn.init.kaiming_uniform_(made.weight, a=math.sqrt(5), generator=generator)
    bound = 1 / (kernel * math.sqrt(inputs))
    nn.init.uniform_(cast(Tensor, made.bias), -bound, bound, generator=generator)
    return made

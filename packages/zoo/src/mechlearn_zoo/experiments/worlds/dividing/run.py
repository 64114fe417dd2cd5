"""Mazes that nobody walked through: how many questions it takes to find a way, by what is proposed and in which order.

All ways are told the same of the low-level policy, with the same budget of questions; those that have learnt have one network,
trained once on walks without a goal.
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from torch import Generator

from claimlab import Row, part
from mechlearn_zoo.experiments.worlds.dividing.proposing import (
    ProposalNetwork,
    Propose,
    by_line,
    by_network,
    places,
    train,
    walked,
)
from mechlearn_zoo.experiments.worlds.dividing.settings import Config
from mechlearn_zoo.methods.worlds.dividing import Effort, Order, Planning, Search, closure, divide_and_conquer
from mechlearn_zoo.tasks.finite.grids import Grid
from mechlearn_zoo.tasks.finite.mazes import maze

METHODS = ("divided", "forward", "untrained", "other-walls", "straight-line")


def run(config: Config) -> Iterator[Row]:
    """Yield how the proposals learn, and what each search found."""
    generator = Generator().manual_seed(config.seed)
    solved = walked(config, generator)
    network = ProposalNetwork(config.channels, config.layers, Generator().manual_seed(config.seed))
    for step, middle, following in train(config, network, solved, Generator().manual_seed(config.seed + 2**20)):
        yield {"kind": "training", "step": step, "middle": middle, "next": following}
    untrained = ProposalNetwork(config.channels, config.layers, Generator().manual_seed(config.seed))
    grids = [maze(config.size, generator, config.loops) for _ in range(config.problems + 1)]
    for number, (grid, other) in enumerate(pairwise(grids)):
        proposals = {
            "divided": by_network(network, grid, 0, config.mixed),
            "forward": by_network(network, grid, 1, config.mixed),
            "untrained": by_network(untrained, grid, 0, config.mixed),
            "other-walls": by_network(network, grid, 0, config.mixed, other.free),
            "straight-line": by_line(grid, config.mixed),
        }
        yield from part(f"maze {number}", searched(config, number, grid, far_apart(grid, generator), proposals))


def searched(config: Config, number: int, grid: Grid, ends: tuple[int, int], proposals: dict[str, Propose]) -> Iterator[Row]:
    """Yield what each search found in a maze, from one end to the other."""
    near = (grid.distances <= config.reach).double()
    best, table = closure(near), near.tolist()
    for method, propose in proposals.items():
        problem = Planning(looked_up(table), propose)
        order: Order = "forward" if method == "forward" else "any"
        effort = Effort(config.budget, config.exploration, len(grid), order, config.patience)
        found = divide_and_conquer(*ends, problem, effort, Generator().manual_seed(config.seed))
        yield {
            "kind": "search",
            "method": method,
            "maze": number,
            "distance": int(grid.distances[ends]),
            "asked": found.queries,
            "solved": found.improved[-1][0] if found.value == 1 else None,
            "legs": len(found.plan) - 1,
            "error": error(found, table, best),
        }
        if number == 0 and method in METHODS[:2]:
            yield picture(grid, method, found)


def looked_up(table: list[list[float]]) -> Callable[[int, int], float]:
    """Return v as a function of two states."""
    return lambda s, t: table[s][t]


def far_apart(grid: Grid, generator: Generator) -> tuple[int, int]:
    """Return two states at least half as far apart as the farthest."""
    pairs = (grid.distances >= grid.distances.max() / 2).nonzero()
    start, goal = pairs[int(torch.randint(len(pairs), (), generator=generator))].tolist()
    return start, goal


def error(found: Search, table: list[list[float]], best: torch.Tensor) -> float:
    """Return by how much a plan's value is not its product, or any plan of the search lies above the exact closure."""
    product = math.prod(table[a][b] for a, b in pairwise(found.plan))
    above = max(known.best - float(best[s, t]) for (s, t), known in found.tree.items())
    return max(abs(product - found.value), above)


def picture(grid: Grid, method: str, found: Search) -> Row:
    """Return a maze as lines, and a plan as cells in reading order, with when each became part of it."""
    lines = "/".join("".join("." if free else "#" for free in row) for row in grid.free.tolist())
    order = {pair: place for place, pair in enumerate(found.tree)}
    # A sub-goal counts as proposed when the first problem that it ends was asked about.
    born = [min((order[pair] for pair in order if state in pair), default=0) for state in found.plan]
    cells = places(grid)[list(found.plan)].tolist()
    return {
        "kind": "picture",
        "method": method,
        "maze": lines,
        "plan": " ".join(map(str, cells)),
        "asked": " ".join(map(str, born)),
        "value": found.value,
    }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] == "training":
        return 0.5 * int(str(row["step"])) / config.steps, "training"
    number = int(str(row["maze"])) if row["kind"] == "search" else 0
    return 0.5 + 0.5 * (number + 1) / config.problems, f"maze {number + 1}"

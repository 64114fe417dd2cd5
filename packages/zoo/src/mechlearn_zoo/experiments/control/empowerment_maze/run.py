"""Maps of empowerment. Nothing is learned or sampled: seeds draw mazes and where the box stands."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]
from torch import Generator, Tensor

from claimlab import Preset, Row, Share, check_limits
from mechlearn_zoo.experiments.control.empowerment_maze.boxes import with_box
from mechlearn_zoo.methods.control.empowerment import capacity, n_step_channel, reachable
from mechlearn_zoo.tasks.finite.grids import Grid, open_grid
from mechlearn_zoo.tasks.finite.mazes import maze

BOXES = ("none", "pushable", "fixed")


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the maze and of the box's place."""
    size: Annotated[int, Ge(5), "rooms and walls alternate"] = 15
    """Cells of the maze's side, odd."""
    loops: Annotated[int, Ge(0)] = 5
    """Walls opened beside the maze's tree; 0 for none."""
    horizons: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (2, 3, 5, 8)
    """n, how far ahead influence is counted in the maze, ascending; maps are of the last."""
    steps: Annotated[int, Ge(1)] = 5
    """n beside the box."""
    room: Annotated[int, Ge(5)] = 9
    """Side of the open room with the box."""
    noise: Annotated[tuple[Share, ...], MinLen(1)] = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
    """Probabilities that a sensor shows a place drawn evenly from all instead of the true one, ascending."""
    slip: Share = 0.2
    """Probability that another action is taken, where sensors are noisy."""
    ahead: Annotated[int, Ge(1)] = 2
    """n where sensors are noisy: every sequence is written out there."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.size % 2 == 0:
            raise ValueError(f"size should be odd. Found {self.size}.")


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(size=25, loops=12, room=13, ahead=3), seeds=10)}


def run(config: Config) -> Iterator[Row]:
    """Yield errors of the formula, maps, and what they amount to."""
    generator = Generator().manual_seed(config.seed)
    yield from formula()
    grid = maze(config.size, generator, config.loops, stay=True)
    yield from in_maze(grid, config)
    yield from beside_box(config, generator)
    yield from with_noise(config)


def formula() -> Iterator[Row]:
    """Compare an open grid with log2(2 n^2 + 2 n + 1) in the middle and log2((n + 1)(n + 2) / 2) in a corner."""
    grid = open_grid(9, 9, stay=True)
    for n in (1, 2, 3, 4):
        counted = reachable(grid.next, n)
        iterated = capacity(n_step_channel(grid.transitions(), n)[[40, 0]], 1e-10).bits if n < 4 else counted[[40, 0]]
        wanted = torch.tensor([2 * n * n + 2 * n + 1, (n + 1) * (n + 2) / 2], dtype=torch.float64).log2()
        for place, state, by_hand, found in zip(("middle", "corner"), (40, 0), wanted.tolist(), iterated.tolist(), strict=True):
            error = max(abs(float(counted[state]) - by_hand), abs(found - by_hand))
            yield {"kind": "formula", "n": n, "place": place, "bits": float(counted[state]), "error": error}


def in_maze(grid: Grid, config: Config) -> Iterator[Row]:
    """Yield the maze's map beside closeness centrality, 1 / mean walking distance."""
    closeness = (len(grid) - 1) / grid.distances.sum(1).double()
    yield from cells("maze", grid, reachable(grid.next, config.horizons[-1]), closeness)
    for n in config.horizons:
        found = stats.spearmanr(reachable(grid.next, n), closeness)
        yield {"kind": "centrality", "n": n, "rho": float(found.statistic)}  # pyright: ignore[reportAttributeAccessIssue]


def beside_box(config: Config, generator: Generator) -> Iterator[Row]:
    """Yield maps of a room with a box that can be pushed, one that cannot, and none; means over the cells within two moves."""
    grid = open_grid(config.room, config.room, stay=True)
    inner = grid.free.clone()
    inner[[0, 1, -2, -1]] = False
    inner[:, [0, 1, -2, -1]] = False
    inside = torch.nonzero(inner.flatten()).flatten()
    box = int(inside[torch.randint(len(inside), (), generator=generator)])
    near = (grid.distances[box] > 0) & (grid.distances[box] <= 2)
    for name in BOXES:
        bits = of_walker(grid, name, box, config.steps)
        bits[box] = torch.nan if name != "none" else bits[box]
        yield from cells(name, grid, bits, grid.distances[box].double())
        yield {"kind": "box", "box": name, "bits": float(bits[near].mean())}


def of_walker(grid: Grid, name: str, box: int, steps: int) -> Tensor:
    """Return empowerment at each place of the walker, in bits about walker and box together."""
    if name == "none":
        return reachable(grid.next, steps)
    pairs = reachable(with_box(grid, name == "pushable"), steps).view(len(grid), len(grid))
    return pairs[:, box].clone()


def with_noise(config: Config) -> Iterator[Row]:
    """Yield mean empowerment of a room with slippery floor as its sensors get worse, and how tight the bounds are."""
    grid = open_grid(config.room, config.room, stay=True)
    exact = n_step_channel(grid.transitions(config.slip), config.ahead)
    for noise in config.noise:
        found = capacity((1 - noise) * exact + noise / len(grid), 1e-9)
        yield {
            "kind": "sensor",
            "noise": noise,
            "bits": float(found.bits.mean()),
            "gap": float((found.upper - found.lower).max()),
            "bound": math.log2(len(grid)),
        }


def cells(world: str, grid: Grid, bits: Tensor, beside: Tensor) -> Iterator[Row]:
    """Yield one row a cell; no number where the box stands."""
    for (row, column), value, other in zip(grid.cells.tolist(), bits.tolist(), beside.tolist(), strict=True):
        shown = None if math.isnan(value) else value
        yield {"kind": "cell", "world": world, "row": row, "column": column, "bits": shown, "beside": other}

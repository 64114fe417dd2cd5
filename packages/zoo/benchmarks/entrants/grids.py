"""What a grid of small networks costs: one step of all of them as a stack, over one step of each, one after the other.

Networks and batches are those of experiments that train grids; data are random, the loss is the mean squared output, and the
optimiser is Adam. No environments are compared: how much a batched run saves is a question of the network's size.
"""

import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from mechlearn_zoo_benchmarks.measuring.timing import interleaved, ratio
from torch import Generator, Tensor, nn

from claimlab import Row
from mechlearn.nn.perceptrons import mlp, relu_mlp
from mechlearn.nn.stacks import Stack, StackedAdam
from mechlearn_zoo.nn.convolutions import fast_resnet


class Grid(NamedTuple):
    """Networks that differ in settings alone: how one is made, how many there are, and the shape of a batch."""

    make: Callable[[Generator], nn.Module]
    members: int
    batch: tuple[int, ...]


def _task_a(generator: Generator) -> nn.Module:
    return nn.Sequential(*relu_mlp((128, 32), generator), *relu_mlp((32, 128, 1), generator))


GRIDS = {
    "distill-mujoco": Grid(lambda g: relu_mlp((30, *[128] * 5, 24), g, weight_norm=True), 8, (24, 30)),
    "distill-xor": Grid(_task_a, 6, (32, 128)),
    "coloured-digits": Grid(lambda g: mlp(128, 1, g, 64, 2), 12, (1000, 128)),
    "coloured-digits-paper": Grid(lambda g: mlp(128, 1, g, 256, 2), 20, (1000, 128)),
    "spirals": Grid(lambda g: mlp(18, 1, g, 256, 3), 6, (256, 18)),
    "digits": Grid(lambda g: fast_resnet(1, 10, g, 8, "group", groups=8), 5, (80, 1, 8, 8)),
}
"""By experiment, `digits` for memorisation and label-noise; as many members as one of its grids has for one batch size."""


def rows(names: tuple[str, ...], repeats: int, *, small: bool, seed: int, announce: Callable[[str], None]) -> Iterator[Row]:
    """Measure a step of each grid; one by one is the denominator.

    Args:
        names: which of `GRIDS`.
        repeats: interleaved rounds.
        small: two members and two examples, for tests.
        seed: of weights, data and the order within rounds.
        announce: told what is under way.
    """
    for name in names:
        announce(f"grid of {name}: {repeats} rounds")
        grid = GRIDS[name]._replace(members=2, batch=(2, *GRIDS[name].batch[1:])) if small else GRIDS[name]
        steps = {
            method: _step(grid, seed, stacked=method == "mechlearn, stacked") for method in ("one by one", "mechlearn, stacked")
        }
        for step in steps.values():
            step()
        nothing = dict.fromkeys(steps, _nothing)
        least = 0.0 if small else 0.5
        times = interleaved(steps, nothing, dict.fromkeys(steps, repeats), least, Generator().manual_seed(seed), "cpu")
        found = ratio(times["mechlearn, stacked"], times["one by one"])
        error = _error(grid, seed)
        yield {
            "workload": f"grid of {name}",
            "method": "mechlearn, stacked",
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "rounds": found.rounds,
            "memory_ratio": None,
            "exact": error < 1e-10,
            "error": error,
            "members": grid.members,
            "examples": grid.batch[0],
            "seconds": statistics.median(times["mechlearn, stacked"]),
            "note": "over one by one; processor time",
        }


def _step(grid: Grid, seed: int, *, stacked: bool, dtype: torch.dtype = torch.float32) -> Callable[[], list[Tensor]]:
    """Return a step of all members, which gives back their parameters."""
    generator = Generator().manual_seed(seed)
    members = [grid.make(generator).to(dtype) for _ in range(grid.members)]
    x = torch.randn(grid.members, *grid.batch, generator=generator).to(dtype)
    rates = [1e-3 * 2.0**-index for index in range(grid.members)]
    if stacked:
        stack = Stack(members)
        together = StackedAdam(stack.parameters(), rates)

        def step() -> list[Tensor]:
            together.zero_grad()
            stack(x).square().flatten(1).mean(1).sum().backward()
            together.step()
            return [part[index] for index in range(len(stack)) for part in stack.stacked().values()]

        return step
    apart = [torch.optim.Adam(member.parameters(), rate) for member, rate in zip(members, rates, strict=True)]

    def each() -> list[Tensor]:
        for member, optimizer, own in zip(members, apart, x, strict=True):
            optimizer.zero_grad()
            member(own).square().mean().backward()
            optimizer.step()
        return [parameter for member in members for parameter in member.parameters()]

    return each


def _error(grid: Grid, seed: int) -> float:
    """Return how far the members are after two steps, in float64 and over the largest number."""
    found: list[list[Tensor]] = []
    for stacked in (True, False):
        step = _step(grid._replace(members=2), seed, stacked=stacked, dtype=torch.float64)
        step()
        found.append([parameter.detach() for parameter in step()])
    scale = max(float(tensor.abs().max()) for tensor in found[1])
    return max(float((a - b).abs().max()) for a, b in zip(*found, strict=True)) / scale


def _nothing() -> None:
    """Clean up nothing."""

"""Planes of a loss: many points at once over one model at a time; and what coordinates add to a convolution.

A 51 x 51 plane of a trained-size network. The literal loop, `ratio` 1, writes the weights of each point into one copy of the
model and calls it; loss-landscapes does the same in its own way (its rows at odd places lie one step lower than those at
even places, so that its points are compared where they are). `exact` says whether values equal the literal loop's to 1e-6.
The second workload is a forward and backward pass of one convolution, 64 channels on 64 x 64, with PyTorch's own as `ratio` 1,
CoordConv as the paper's code does it (channels concatenated) and mechlearn's (folded).
"""

import copy
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError, installed, versioned
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, threads
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import Row
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.params import Params, add_scaled
from mechlearn.surfaces import between, plane, surface_of_model
from mechlearn_zoo.nn.coordinates import CoordConv2d, add_coordinates

Announce = Callable[[str], None]

NETWORKS = {"small": ((32, 32), 64), "deep": ((16,) * 24, 64), "wide": ((64, 64), 256)}
"""Hidden units, and examples that the loss is a mean of."""

LITERAL, PEER, OURS = "a model at a time", "loss-landscapes", "mechlearn plane"
CONV, CONCATENATED, FOLDED = "Conv2d", "CoordConv, concatenated", "mechlearn CoordConv2d"


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    points: int = 51
    """Points along each side of the plane."""
    networks: tuple[str, ...] = ("small", "deep", "wide")
    """Perceptrons on 64 inputs: small, 2 x 32 with 64 examples; deep, 24 x 16 with 64; wide, 2 x 64 with 256."""
    chunk: int = 128
    """Points that mechlearn evaluates at once."""
    channels: int = 64
    """Of the convolution."""
    side: int = 64
    """Pixels of its images' sides."""
    batch: int = 8
    """Images."""
    repeats: int = 5
    """How many interleaved rounds."""
    turn: float = 0.25
    """Seconds over which a turn repeats a short step."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of data, weights and the order within rounds."""


PRESETS = {"full": Config(), "quick": Config(points=5, networks=("small",), channels=3, side=6, batch=2, repeats=2, turn=0.001)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure planes, then convolutions."""
    with threads(config.threads):
        for name in config.networks:
            yield from planes(config, announce, *NETWORKS[name])
        yield from convolutions(config, announce)


def planes(config: Config, announce: Announce, hidden: tuple[int, ...], examples: int) -> Iterator[Row]:
    """Measure a plane by a loop, by the peer and by mechlearn."""
    models = [relu_mlp((64, *hidden, 10), Generator().manual_seed(config.seed + i)) for i in range(3)]
    generator = Generator().manual_seed(config.seed)
    x = torch.randn(examples, 64, generator=generator)
    y = torch.randint(0, 10, (examples,), generator=generator)
    start, one, other = (dict(surface_of_model(model, by_example, [(x, y, y * 0)]).parameters) for model in models)
    axes = (between(start, one), between(start, other))
    # The peer's points: a and b in steps of 1 / points, b one step further than it says in every other row.
    at = (torch.arange(config.points) / config.points, torch.arange(config.points + 1) / config.points)
    results: dict[str, Tensor] = {}
    steps: dict[str, Step] = {
        LITERAL: lambda: results.update({LITERAL: literal(models[0], start, axes, at, x, y)}),
        OURS: lambda: results.update({OURS: ours(models[0], axes, at, x, y, config.chunk)}),
    }
    notes = dict.fromkeys((LITERAL, OURS), "")
    try:
        theirs = peer(models, config.points, x, y)
        steps[PEER] = lambda: results.update({PEER: theirs()})
        notes[PEER] = versioned("loss-landscapes")
    except NotRunError as error:
        announce(f"surfaces: {PEER} {error}")
    announce(f"surfaces: planes of {config.points} x {config.points}, {config.repeats} rounds")
    times = measured(steps, config)
    wanted = results[LITERAL]
    results[PEER] = results.get(PEER, torch.zeros(0))
    for name in steps:
        exact = same_points(results[PEER], wanted) if name == PEER else close(results[name], wanted)
        size = f"{config.points} x {config.points}, {len(hidden)} layers of {hidden[0]}, {examples} examples"
        yield {**row(f"plane {size}", name, times, LITERAL, config), "exact": exact, "note": notes[name]}


def by_example(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return unreduced losses."""
    return cross_entropy(outputs, targets, reduction="none")


def literal(
    model: nn.Module, start: Params, axes: tuple[Params, Params], at: tuple[Tensor, Tensor], x: Tensor, y: Tensor
) -> Tensor:
    """Return the plane, point by point: weights written into a copy, one forward pass each."""
    moved = copy.deepcopy(model)
    found = torch.zeros(len(at[0]), len(at[1]))
    with torch.no_grad():
        for i, a in enumerate(at[0].tolist()):
            for j, b in enumerate(at[1].tolist()):
                moved.load_state_dict(add_scaled(add_scaled(start, a, axes[0]), b, axes[1]))
                found[i, j] = cross_entropy(moved(x), y)
    return found


def ours(model: nn.Module, axes: tuple[Params, Params], at: tuple[Tensor, Tensor], x: Tensor, y: Tensor, chunk: int) -> Tensor:
    """Return the plane by mechlearn."""
    surface = surface_of_model(model, by_example, [(x, y, y * 0)])
    return plane(surface.mean, surface.parameters, *axes, at, chunk)


def peer(models: list[nn.Sequential], points: int, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
    """Return what makes the plane by loss-landscapes.

    Raises:
        NotRunError: it is not installed.
    """
    landscapes: Any = installed("loss_landscapes", "pip install loss-landscapes")
    metrics: Any = installed("loss_landscapes.metrics", "pip install loss-landscapes")
    metric = metrics.Loss(cross_entropy, x, y)

    def make() -> Tensor:
        with torch.no_grad():
            found: Any = landscapes.planar_interpolation(*models, metric, points, deepcopy_model=True)
        return torch.from_numpy(np.asarray(found)).float()

    return make


def same_points(found: Tensor, wanted: Tensor) -> bool:
    """Return whether the peer's values are the loop's at the points it evaluates."""
    even, odd = wanted[0::2, 1:], wanted[1::2, :-1]
    return close(found[0::2], even) and close(found[1::2], odd)


def close(found: Tensor, wanted: Tensor) -> bool:
    """Return whether values agree to 1e-6, relative to the largest."""
    return bool(((found - wanted).abs().max() <= 1e-6 * wanted.abs().max().clamp(min=1.0)).item())


def convolutions(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure a forward and backward pass of a convolution with coordinates and without."""
    generator = Generator().manual_seed(config.seed)
    layer = CoordConv2d(config.channels, config.channels, 3, generator, padding=1)
    plain = nn.Conv2d(config.channels, config.channels, 3, padding=1)
    x = torch.randn(config.batch, config.channels, config.side, config.side, generator=generator).requires_grad_()
    calls: dict[str, Callable[[Tensor], Tensor]] = {
        CONV: plain,
        CONCATENATED: lambda x: layer.conv(add_coordinates(x)),
        FOLDED: layer,
    }
    weights = torch.randn(config.batch, config.channels, config.side, config.side, generator=generator)
    announce(f"surfaces: convolutions, {config.repeats} rounds")
    times = measured({name: (lambda call=call: call(x).backward(weights)) for name, call in calls.items()}, config)
    exact = close(layer(x).detach(), layer.conv(add_coordinates(x)).detach())
    size = f"{config.batch} x {config.channels} x {config.side} x {config.side}, kernel 3"
    for name in calls:
        yield {**row(f"convolution {size}", name, times, CONV, config), "exact": exact if name == FOLDED else None, "note": ""}


def measured(steps: dict[str, Step], config: Config) -> dict[str, list[float]]:
    """Return the seconds of each step in each round."""
    for step in steps.values():
        step()
    clean = dict.fromkeys(steps, lambda: None)
    rounds = dict.fromkeys(steps, config.repeats)
    return interleaved(steps, clean, rounds, config.turn, Generator().manual_seed(config.seed), config.clock)


def row(workload: str, name: str, times: dict[str, list[float]], base: str, config: Config) -> Row:
    """Return what every row holds."""
    over = [one / other for one, other in zip(times[name], times[base], strict=True)]
    peers = [one / other for one, other in zip(times[name], times[PEER], strict=True)] if PEER in times else []
    spread = {"ratio": statistics.median(over), "low": min(over), "high": max(over)}
    seconds = statistics.median(times[name])
    over_peer = statistics.median(peers) if peers else None
    rest: Row = {"over_peer": over_peer, "seconds": seconds, "clock": config.clock}
    rest |= {"threads": config.threads, "seed": config.seed}
    return {"workload": workload, "method": name, **spread, "memory_ratio": None, **rest}

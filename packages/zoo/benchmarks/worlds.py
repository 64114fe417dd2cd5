"""Worlds: a population's evaluation in one batched loop, a mixture's density over torch's, plans of all pairs over networkx.

`ratio` is over the literal baseline that the workload names, below 1 is faster, each formed within a round; `exact` says that
both gave the same numbers (1e-5). The populations act in a dream and in our Take Cover; nobody dies, so that all take as many
steps. The loop's episodes are batched; the loop over candidates and episodes, one at a time, is what replications of World
Models run. "closure" is V* of all pairs of a grid's states, whose neighbours are reached with random probabilities: the best
products, which the peers find as shortest ways of -log v; Dijkstra's algorithm profits from how few neighbours a state has.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from mechlearn_zoo_benchmarks.measuring.peers import installed
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, threads
from torch import Generator, Tensor
from torch.distributions import Categorical, MixtureSameFamily, Normal

from claimlab import Row
from mechlearn_zoo.experiments.worlds.take_cover.take_cover import TakeCover
from mechlearn_zoo.methods.worlds.acting import LinearController, Watched, World, population_returns
from mechlearn_zoo.methods.worlds.dividing import closure
from mechlearn_zoo.methods.worlds.dreaming import DreamWorld
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN
from mechlearn_zoo.nn.autoencoders import ConvVAE
from mechlearn_zoo.nn.mixtures import mixture_log_prob

Announce = Callable[[str], None]

WORKLOADS = ("dream", "take-cover", "mixture", "closure")
OURS, LOOP, SINGLE = "mechlearn, one loop", "loop over candidates", "loop over candidates and episodes"
DENSITY, TORCH = "mechlearn mixture_log_prob", "torch.distributions.MixtureSameFamily"
CLOSURE, WARSHALL = "mechlearn closure", "networkx floyd_warshall"


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = WORKLOADS
    """Which workloads to run: dream, take-cover, mixture, closure."""
    population: int = 24
    """Candidates."""
    episodes: int = 8
    """Episodes of each."""
    steps: int = 30
    """Steps of an episode."""
    repeats: int = 5
    """How many interleaved rounds."""
    turn: float = 0.2
    """Seconds over which a turn repeats a step."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of networks, candidates and the order within rounds."""
    small: bool = False
    """Shrink the workloads to the size of a test; their ratios mean nothing."""


PRESETS = {"full": Config(), "quick": Config(population=4, episodes=2, steps=2, repeats=2, turn=0.01, small=True)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure each workload."""
    with threads(config.threads):
        for name in config.workloads:
            announce(f"{name}: {config.repeats} rounds")
            made = {"mixture": _mixture, "closure": _closure}
            steps, base, exact = made[name](config) if name in made else _population(config, name)
            clean: dict[str, Step] = dict.fromkeys(steps, _nothing)
            rounds = dict.fromkeys(steps, config.repeats)
            times = interleaved(steps, clean, rounds, config.turn, Generator().manual_seed(config.seed), config.clock)
            for method in steps:
                ratios = [one / other for one, other in zip(times[method], times[base], strict=True)]
                yield {
                    "workload": f"{name}, over {base}",
                    "method": method,
                    "ratio": statistics.median(ratios),
                    "low": min(ratios),
                    "high": max(ratios),
                    "memory_ratio": None,
                    "exact": exact,
                    "seconds": statistics.median(times[method]),
                    "clock": config.clock,
                    "threads": config.threads,
                    "seed": config.seed,
                    "small": config.small,
                }


def _nothing() -> None:
    pass


def _population(config: Config, name: str) -> tuple[dict[str, Step], str, bool]:
    world = _world(config, name)
    features = world.features(world.start(1, 1, Generator())).shape[-1]
    controller = LinearController(features, 1, "thirds")
    candidates = 0.1 * torch.randn(config.population, controller.parameters, generator=Generator().manual_seed(config.seed))

    def evaluate(some: Tensor, episodes: int) -> Tensor:
        return population_returns(controller, some, world, episodes, config.steps, Generator().manual_seed(config.seed))

    steps: dict[str, Step] = {
        LOOP: lambda: [evaluate(one, config.episodes) for one in candidates.split(1)],
        SINGLE: lambda: [evaluate(one, 1) for one in candidates.split(1) for _ in range(config.episodes)],
        OURS: lambda: evaluate(candidates, config.episodes),
    }
    alone = torch.cat([evaluate(one, config.episodes) for one in candidates.split(1)])
    return steps, SINGLE, torch.allclose(evaluate(candidates, config.episodes), alone, atol=1e-5)


def _world(config: Config, name: str) -> World:
    generator = Generator().manual_seed(config.seed)
    latent, hidden = (3, 4) if config.small else (12, 96)
    memory = MixtureRNN(latent, 1, hidden, 5, False, generator).requires_grad_(False)
    if name == "dream":
        return DreamWorld(memory, torch.randn(100, latent, generator=generator))
    vision = ConvVAE(2, 20, latent, generator, (2, 2) if config.small else (32, 64)).requires_grad_(False)
    return Watched(TakeCover(reach=1e-9), vision, memory)


def _mixture(config: Config) -> tuple[dict[str, Step], str, bool]:
    generator = Generator().manual_seed(config.seed)
    rows = 8 if config.small else 32 * 80
    parameters = [torch.randn(rows, 12, 5, generator=generator).requires_grad_() for _ in range(3)]
    y = torch.randn(rows, 12, generator=generator)

    def ours() -> Tensor:
        return mixture_log_prob(*parameters, y)

    def theirs() -> Tensor:
        logits, means, log_scales = parameters
        return MixtureSameFamily(Categorical(logits=logits), Normal(means, log_scales.exp())).log_prob(y)

    def unchecked() -> Tensor:
        logits, means, log_scales = parameters
        normal = Normal(means, log_scales.exp(), validate_args=False)
        return MixtureSameFamily(Categorical(logits=logits, validate_args=False), normal, validate_args=False).log_prob(y)

    def backward(density: Callable[[], Tensor]) -> Step:
        return lambda: torch.autograd.grad(density().sum(), parameters)

    steps = {TORCH: backward(theirs), f"{TORCH}, unchecked": backward(unchecked), DENSITY: backward(ours)}
    return steps, TORCH, torch.allclose(ours(), theirs(), atol=1e-5)


def _closure(config: Config) -> tuple[dict[str, Step], str, bool]:
    networkx = installed("networkx")  # torch brings it
    side = 4 if config.small else 20
    low_level = _grid(side, Generator().manual_seed(config.seed))
    ways = networkx.DiGraph()
    ways.add_nodes_from(range(len(low_level)))
    edges = low_level.nonzero().tolist()
    ways.add_weighted_edges_from((s, t, -float(low_level[s, t].log())) for s, t in edges)
    steps: dict[str, Step] = {
        WARSHALL: lambda: networkx.floyd_warshall(ways),
        "networkx floyd_warshall_numpy": lambda: networkx.floyd_warshall_numpy(ways),
        "networkx Dijkstra": lambda: dict(networkx.all_pairs_dijkstra_path_length(ways)),
        CLOSURE: lambda: closure(low_level),
    }
    expected = (-torch.from_numpy(networkx.floyd_warshall_numpy(ways))).exp().fill_diagonal_(0)
    return steps, WARSHALL, torch.allclose(closure(low_level).fill_diagonal_(0), expected, rtol=1e-10)


def _grid(side: int, generator: Generator) -> Tensor:
    """Return v (S, S) of a grid's S = side x side states: from 0.5 to 1 for the four neighbours, else 0."""
    row, column = (torch.arange(side * side) // side, torch.arange(side * side) % side)
    apart = (row[:, None] - row).abs() + (column[:, None] - column).abs()
    return (0.5 + 0.5 * torch.rand(apart.shape, generator=generator, dtype=torch.float64)) * (apart == 1)

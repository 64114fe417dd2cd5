"""The inconsistency score at scale: time and memory of its Hessian-vector products over plain backpropagation.

The first row is a forward and backward pass of one environment's mean loss, the second one Hessian-vector product, the third
one Gauss-Newton product, the last the whole score of two environments (both ordered pairs, both signs), its time divided by
the number of products it took. `memory_ratio` is the peak level over that of the plain pass, each in a fresh process.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from craik_benchmarks.measuring.memory import in_fresh_process, peak_level, supported
from craik_benchmarks.measuring.timing import Step, interleaved, ratio, threads
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from craik.agreement.consistency import Choices, Landscape, Score, inconsistency, landscape_of_model
from craik.harness.rows import Row
from craik.networks import mlp

Announce = Callable[[str], None]

METHODS = {
    "plain": "plain backpropagation",
    "hessian": "craik: Hessian-vector product",
    "gauss-newton": "craik: Gauss-Newton product",
    "score": "craik: score, a product",
}


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    hidden: int = 640
    """Units in each of three hidden layers; 640 makes 1.16 million parameters."""
    inputs: int = 512
    """Inputs of the network."""
    examples: int = 128
    """Examples of each of two environments."""
    ridge: float = 1e-2
    """Multiple of the identity added to the Gauss-Newton matrices."""
    iterations: int = 40
    """Steps of the subspace method for a pair and a sign, at most."""
    repeats: int = 5
    """How many interleaved rounds."""
    turn: float = 0.25
    """Seconds over which a turn repeats a short step."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of data, weights, random starts and the order within rounds."""
    memory: bool = True
    """Measure peak memory too, in a fresh process for each method."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be."""
        for name in ("hidden", "inputs", "examples", "iterations", "repeats", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, but found {getattr(self, name)}; use 1 or more")


PRESETS = {"full": Config(), "quick": Config(hidden=8, inputs=6, examples=8, iterations=3, repeats=2, turn=0.01)}


def landscape(hidden: int, inputs: int, examples: int, seed: int) -> Landscape:
    """Return a network with He-normal weights over two environments that differ in how their classes look."""
    generator = Generator().manual_seed(seed)
    model = mlp(inputs, 10, generator, hidden)
    y = torch.randint(0, 10, (2 * examples,), generator=generator)
    ids = torch.arange(2).repeat_interleave(examples)
    means = torch.randn(2, 10, inputs, generator=generator)
    x = means[ids, y] + 0.3 * torch.randn(2 * examples, inputs, generator=generator)
    return landscape_of_model(model, lambda output, y: cross_entropy(output, y, reduction="none"), [(x, y, ids)])


def step_of(method: str, losses: Landscape, ridge: float, iterations: int, seed: int) -> Callable[[], Score | Tensor]:
    """Return what is timed."""
    if method == "plain":
        return lambda: losses.gradient(0)[1]
    if method != "score":
        vector = torch.randn(losses.point.shape, generator=Generator().manual_seed(seed))
        return lambda: losses.product(0, vector, "hessian" if method == "hessian" else "gauss-newton")
    choices = Choices(
        epsilon=1e-2,
        ridge=ridge,
        curvature="gauss-newton",
        method="subspace",
        iterations=iterations,
        walk=False,
        not_minimum="ignore",
    )
    return lambda: inconsistency(losses, choices, Generator().manual_seed(seed))


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure the four rows.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads):
        yield from _rows(config, announce)


def _rows(config: Config, announce: Announce) -> Iterator[Row]:
    losses = landscape(config.hidden, config.inputs, config.examples, config.seed)
    parameters = len(losses.point)
    steps = {name: step_of(name, losses, config.ridge, config.iterations, config.seed) for name in METHODS}
    announce("consistency: the score, once, to count its products")
    score = steps["score"]()
    products = score.products if isinstance(score, Score) else 1
    announce(f"consistency: {config.repeats} rounds")
    rounds = {name: 1 if name == "score" else config.repeats for name in METHODS}
    rounds["score"] = min(2, config.repeats)
    timed: dict[str, Step] = dict(steps)
    times = interleaved(timed, dict.fromkeys(METHODS, lambda: None), rounds, config.turn, Generator().manual_seed(config.seed))
    peaks = {name: _peak(name, config, announce) for name in METHODS}
    for name, title in METHODS.items():
        each = [spent / products for spent in times[name]] if name == "score" else times[name]
        found, plain = ratio(each, times["plain"]), peaks["plain"]
        peak = peaks[name]
        yield {
            "workload": f"MLP, {parameters} parameters, 2 environments x {config.examples}",
            "method": title,
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "memory_ratio": peak / plain if peak and plain else None,
            "exact": None,
            "memory_mib": round(peak / 2**20, 1) if peak else None,
            "vectors": round(peak / (4 * parameters), 1) if peak else None,
            "seconds": statistics.median(times[name]),
            "rounds": found.rounds,
            "parameters": parameters,
            **(_found(score) if isinstance(score, Score) and name == "score" else {}),
            "note": f"{products} products, {statistics.median(times[name]):.1f} s in all" if name == "score" else "",
            "threads": config.threads,
            "seed": config.seed,
        }


def _found(score: Score) -> Row:
    return {
        "products": score.products,
        "inconsistency": score.inconsistency,
        "iterations": sum(pair.iterations for pair in score.pairs),
        "converged": all(pair.converged for pair in score.pairs),
    }


def _peak(name: str, config: Config, announce: Announce) -> int | None:
    if not config.memory or not supported():
        return None
    announce(f"consistency: memory of {METHODS[name]}")
    sizes = {"hidden": config.hidden, "inputs": config.inputs, "examples": config.examples}
    arguments = {"method": name, **sizes, "iterations": config.iterations, "ridge": config.ridge, "seed": config.seed}
    return in_fresh_process("consistency", Path(__file__).parent, arguments)


def probe(method: str, hidden: int, inputs: int, examples: int, iterations: int, ridge: float, seed: int) -> int:
    """Return the peak level of one step in bytes; what a fresh process calls."""
    torch.set_num_threads(1)

    def prepare() -> tuple[Step, Step]:
        return step_of(method, landscape(hidden, inputs, examples, seed), ridge, iterations, seed), lambda: None

    return peak_level(step_of(method, landscape(4, 4, 4, seed), ridge, 2, seed), prepare, 0)

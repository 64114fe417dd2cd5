"""The inconsistency score at scale: time and memory of its Hessian-vector products over plain backpropagation.

On a network that was trained on both environments. The first row is a forward and backward pass of one environment's mean
loss, the second one Hessian-vector product, the third one Gauss-Newton product, the last the whole score of two environments
(both ordered pairs, both signs), its time divided by the number of products it took. `memory_ratio` is the peak level over that
of the plain pass, each in a fresh process; `vectors` is that level in vectors as long as the network's parameters, the network
itself and the landscape's copy of it among them. The score is cut at ten steps there: more keep no more.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from mechlearn_zoo_benchmarks.measuring.memory import in_fresh_process, peak_level, supported
from mechlearn_zoo_benchmarks.measuring.settings import check_least
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, threads
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from claimlab import Row
from mechlearn.nn.perceptrons import mlp
from mechlearn.surfaces import Consistency, Landscape, Score, Subspace, inconsistency, landscape_of_model

Announce = Callable[[str], None]

MOST_STEPS = 1000
"""Of training."""

METHODS = {
    "plain": "plain backpropagation",
    "hessian": "mechlearn: Hessian-vector product",
    "gauss-newton": "mechlearn: Gauss-Newton product",
    "score": "mechlearn: score, a product",
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
    loss: float = 0.05
    """Mean loss at which training ends, by Adam over all data with learning rate 1e-3: fitted, but with curvature left."""
    basis: int = 4
    """Vectors that the subspace method keeps, each with two products; 4 is the least."""
    iterations: int = 200
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
        check_least(self, 1, "hidden", "inputs", "examples", "iterations", "repeats", "threads")


PRESETS = {"full": Config(), "quick": Config(hidden=8, inputs=6, examples=8, loss=1.0, iterations=3, repeats=2, turn=0.01)}


def by_example(output: Tensor, y: Tensor) -> Tensor:
    """Return unreduced losses."""
    return cross_entropy(output, y, reduction="none")


def landscape(hidden: int, inputs: int, examples: int, loss: float, seed: int) -> Landscape:
    """Return a network that is trained to a mean loss, over two environments that differ in how their classes look."""
    generator = Generator().manual_seed(seed)
    model = mlp(inputs, 10, generator, hidden)
    y = torch.randint(0, 10, (2 * examples,), generator=generator)
    ids = torch.arange(2).repeat_interleave(examples)
    means = torch.randn(2, 10, inputs, generator=generator)
    x = means[ids, y] + 0.3 * torch.randn(2 * examples, inputs, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(MOST_STEPS):
        optimizer.zero_grad()
        mean = by_example(model(x), y).mean()
        if float(mean.detach()) <= loss:
            break
        mean.backward()
        optimizer.step()
    model.zero_grad(set_to_none=True)  # gradients are no part of what is measured
    return landscape_of_model(model, by_example, [(x, y, ids)])


def step_of(method: str, losses: Landscape, ridge: float, basis: int, iterations: int, seed: int) -> Callable[[], Any]:
    """Return what is timed."""
    if method == "plain":
        return lambda: losses.gradient(0)[1]
    if method != "score":
        vector = torch.randn(losses.point.shape, generator=Generator().manual_seed(seed))
        return lambda: losses.product(0, vector, "hessian" if method == "hessian" else "gauss-newton")
    consistency = Consistency(
        epsilon=1e-2,
        ridge=ridge,
        curvature="gauss-newton",
        search=Subspace(iterations, basis=basis),
        walk=False,
        not_minimum="ignore",
    )
    return lambda: inconsistency(losses, consistency, Generator().manual_seed(seed))


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure the four rows.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads):
        yield from _rows(config, announce)


def _rows(config: Config, announce: Announce) -> Iterator[Row]:
    announce(f"consistency: training to a loss of {config.loss}")
    losses = landscape(config.hidden, config.inputs, config.examples, config.loss, config.seed)
    parameters = len(losses.point)
    chosen = (config.ridge, config.basis, config.iterations, config.seed)
    steps = {name: step_of(name, losses, *chosen) for name in METHODS}
    scores: list[Score] = []
    announce(f"consistency: {config.repeats} rounds, and the score in the first")
    rounds = {name: 1 if name == "score" else config.repeats for name in METHODS}
    timed: dict[str, Step] = {**steps, "score": lambda: scores.append(steps["score"]())}
    times = interleaved(timed, dict.fromkeys(METHODS, lambda: None), rounds, config.turn, Generator().manual_seed(config.seed))
    peaks = {name: _peak(name, config, announce) for name in METHODS}
    for name in METHODS:
        yield {
            "workload": f"trained MLP, {parameters} parameters, 2 environments x {config.examples}",
            **_measured(name, times, scores[0].products),
            **_memory(peaks[name], peaks["plain"], parameters),
            "exact": None,
            "parameters": parameters,
            **(_found(scores[0]) if name == "score" else {}),
            "note": f"{scores[0].products} products, {times[name][0]:.1f} s in all" if name == "score" else "",
            "threads": config.threads,
            "seed": config.seed,
        }


def _measured(name: str, times: dict[str, list[float]], products: int) -> Row:
    each = [spent / products for spent in times[name]] if name == "score" else times[name]
    found = ratio(each, times["plain"])
    return {
        "method": METHODS[name],
        "ratio": found.median,
        "low": found.low,
        "high": found.high,
        "seconds": statistics.median(times[name]),
        "rounds": found.rounds,
    }


def _memory(peak: int | None, plain: int | None, parameters: int) -> Row:
    return {
        "memory_ratio": peak / plain if peak and plain else None,
        "memory_mib": round(peak / 2**20, 1) if peak else None,
        "vectors": round(peak / (4 * parameters), 1) if peak else None,
    }


def _found(score: Score) -> Row:
    return {
        "products": score.products,
        "inconsistency": score.inconsistency,
        "iterations": sum(pair.iterations for pair in score.pairs),
        "converged": all(pair.converged for pair in score.pairs),
        "residual": max(pair.residual for pair in score.pairs),
        "loss": max(score.losses),
        "gradient_norm": score.gradient_norm,
    }


def _peak(name: str, config: Config, announce: Announce) -> int | None:
    if not config.memory or not supported():
        return None
    announce(f"consistency: memory of {METHODS[name]}")
    names = ("hidden", "inputs", "examples", "loss", "basis", "ridge", "seed")
    arguments = {"method": name, "iterations": min(10, config.iterations), **{key: getattr(config, key) for key in names}}
    return in_fresh_process("consistency", arguments)


def probe(
    method: str, hidden: int, inputs: int, examples: int, loss: float, basis: int, iterations: int, ridge: float, seed: int
) -> int:
    """Return the peak level of one step in bytes; what a fresh process calls."""
    torch.set_num_threads(1)

    def prepare() -> tuple[Step, Step]:
        losses = landscape(hidden, inputs, examples, loss, seed)
        return step_of(method, losses, ridge, basis, iterations, seed), lambda: None

    return peak_level(step_of(method, landscape(4, 4, 4, loss, seed), ridge, basis, 2, seed), prepare, 0)

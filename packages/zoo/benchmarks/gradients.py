"""Gradient statistics: a call of `mechlearn.agreement.statistics` over plain backpropagation, next to other ways to have them.

A ratio is (forward + backward + norms and cosines) / (forward + backward of the mean loss), formed within a round of
interleaved turns. The others form every environment's gradient, hold all of them, and multiply: a loop over environments, and
`torch.func.vmap` of `torch.func.grad`. `memory_ratio` is the peak level of a step over that of the plain step, each in a fresh
process. `exact` says that the cosines are the loop's to 1e-3, in float32.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from mechlearn_zoo_benchmarks.entrants.traced import WORKLOADS, Traced
from mechlearn_zoo_benchmarks.measuring.memory import in_fresh_process, peak_level, supported
from mechlearn_zoo_benchmarks.measuring.settings import check_known, check_least
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, threads
from torch import Generator, Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from claimlab import Row
from mechlearn.agreement.statistics import gradient_statistics

Announce = Callable[[str], None]

PLAIN = "plain"
"""The denominator."""

CHOSEN = ("mlp-34", "mlp-34 single rows", "weight norm", "gpt2 8x1")


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = CHOSEN
    """Which workloads to run, see benchmarks/entrants/traced.py."""
    repeats: int = 15
    """How many interleaved rounds."""
    turn: float = 0.0
    """Seconds over which a turn repeats a short step."""
    memory: bool = True
    """Measure peak memory too, in a fresh process for each method."""
    clock: Literal["wall", "cpu"] = "cpu"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    seed: int = 0
    """Of data, weights and the order within rounds."""
    small: bool = False
    """Shrink the workloads to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        check_known("workload", self.workloads, WORKLOADS)
        check_least(self, 1, "repeats")
        check_least(self, 0, "turn")


PRESETS = {"full": Config(), "quick": Config(repeats=1, memory=False, small=True)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every method on every workload; rows come workload by workload, the denominator first.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(1):
        for name in config.workloads:
            announce(f"{name}: {config.repeats} rounds")
            yield from _workload(name, config)


def _workload(name: str, config: Config) -> Iterator[Row]:
    problem = WORKLOADS[name](config.small, config.seed)
    steps = {key: method(problem) for key, method in METHODS.items()}
    expected = _cosines(steps["loop"]())
    exact = {key: torch.allclose(_cosines(step()), expected, atol=1e-3) for key, step in steps.items() if key != PLAIN}
    clean: dict[str, Step] = dict.fromkeys(steps, problem.clean)
    generator = Generator().manual_seed(config.seed)
    times = interleaved(steps, clean, dict.fromkeys(steps, config.repeats), config.turn, generator, config.clock)
    peaks = {key: _peak(name, key, config) for key in steps} if config.memory and supported() else {}
    for key, own in times.items():
        found = ratio(own, times[PLAIN])
        yield {
            "workload": name,
            "method": key,
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "memory_ratio": peaks[key] / peaks[PLAIN] if peaks else None,
            "exact": exact.get(key),
            "seconds": statistics.median(own),
            "rounds": found.rounds,
            "environments": problem.count,
            "examples": len(problem.batch[0]),
            "note": "the denominator" if key == PLAIN else "",
            "clock": config.clock,
            "seed": config.seed,
            "small": config.small,
        }


def _cosines(gram: Tensor) -> Tensor:
    norms = gram.diagonal().sqrt()
    return gram / torch.outer(norms, norms)


def _plain(problem: Traced) -> Callable[[], Tensor]:
    def step() -> Tensor:
        problem.losses_of(*problem.batch).mean().backward()
        return torch.empty(0)

    return step


def _ours(problem: Traced, *, examples: bool = False) -> Callable[[], Tensor]:
    def step() -> Tensor:
        losses = problem.losses_of(*problem.batch)
        found = gradient_statistics(problem.model, losses, problem.environments, examples=examples)
        return torch.stack([one.gram for one in found.parameters.values() if one.gram is not None]).sum(0)

    return step


def _loop(problem: Traced) -> Callable[[], Tensor]:
    """One forward and backward pass for each environment, whose gradients are held."""
    parameters, parts = list(problem.model.parameters()), problem.parts()

    def step() -> Tensor:
        rows = [torch.autograd.grad(problem.losses_of(*part).mean(), parameters) for part in parts]
        stack = torch.stack([torch.cat([g.flatten() for g in row]) for row in rows])
        return (stack @ stack.T).double()

    return step


class _Losses(nn.Module):
    """The mean loss of a batch as a module, for `torch.func.functional_call`."""

    def __init__(self, problem: Traced) -> None:
        super().__init__()
        self.model, self._losses_of = problem.model, problem.losses_of

    def forward(self, *batch: Tensor) -> Tensor:
        return self._losses_of(*batch).mean()


def _vmap(problem: Traced) -> Callable[[], Tensor]:
    """`vmap(grad)` over environments, in which fused attention has no rule and is written out."""
    losses = _Losses(problem)
    named = {name: p.detach() for name, p in losses.named_parameters()}

    def loss(parameters: dict[str, Tensor], *part: Tensor) -> Tensor:
        return torch.func.functional_call(losses, parameters, part)

    gradient = torch.func.vmap(torch.func.grad(loss), in_dims=(None, *(0 for _ in problem.batch)))

    def step() -> Tensor:
        parts = [tensor.unflatten(0, (problem.count, -1)) for tensor in problem.batch]
        with sdpa_kernel(SDPBackend.MATH):
            found = gradient(named, *parts)
        stack = torch.cat([one.flatten(1) for one in found.values()], 1)
        return (stack @ stack.T).double()

    return step


METHODS: dict[str, Callable[[Traced], Callable[[], Tensor]]] = {
    PLAIN: _plain,
    "mechlearn": _ours,
    "mechlearn, with rows": lambda problem: _ours(problem, examples=True),
    "loop": _loop,
    "vmap(grad)": _vmap,
}
"""From a method's name to its step, which returns the (E, E) products between environments' gradients."""


def _peak(workload: str, method: str, config: Config) -> int:
    asked = {"workload": workload, "method": method, "seed": config.seed, "small": config.small}
    return in_fresh_process("gradients", asked)


def probe(workload: str, method: str, seed: int, small: bool) -> int:
    """Return the peak level of one step in bytes; what a fresh process calls."""
    torch.set_num_threads(1)

    def prepare(small: bool) -> tuple[Step, Step]:
        problem = WORKLOADS[workload](small, seed)
        return METHODS[method](problem), problem.clean

    def rehearse() -> None:
        step, clean = prepare(small=True)
        step()
        clean()

    return peak_level(rehearse, lambda: prepare(small), 1)

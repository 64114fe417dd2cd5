"""The AND-mask under the compiler: a step of `Agreement.compile` over compiled plain backpropagation.

A ratio is (forward + backward + rule) / (forward + backward of the mean loss, compiled), formed within a round of interleaved
turns. Beside it: plain backpropagation without a compiler, the eager engine, and a loop over environments, also with a
compiled function of their losses, which is the rival. `exact` says that in float64 the gradients are the loop's, but for
components of which an environment's gradient is 0 within rounding, so that its sign is not known. `memory_ratio` compares what
one step adds at its peak, each in a fresh process. `fastest_ratio` compares both methods' fastest rounds: other work on a
shared machine only ever adds time. `compile_seconds` is a first step's time in a fresh process with empty caches, where one
core compiles: the median of some processes, each for one method, in turn.
"""

import copy
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Literal

import torch
from mechlearn_zoo_benchmarks.entrants.masks.rule import masked
from mechlearn_zoo_benchmarks.entrants.traced import WORKLOADS, Traced
from mechlearn_zoo_benchmarks.measuring.devices import awaited, check_device
from mechlearn_zoo_benchmarks.measuring.memory import added_peak, in_fresh_process, supported
from mechlearn_zoo_benchmarks.measuring.settings import check_known, check_least
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, threads
from torch import Generator, Tensor

from claimlab import Row
from mechlearn.agreement import Agreement, AndMask

Announce = Callable[[str], None]

PLAIN = "plain, compiled"
"""The denominator."""

COMPILED = (PLAIN, "mechlearn, compiled", "loop, compiled")
"""The methods that compile."""

NOISE = 1e-10
"""Share of a parameter's largest gradient that rounding in float64 may add. Float32 cannot tell: another order of sums puts a
unit on the other side of a ReLU."""


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    """Which workloads to run, see benchmarks/entrants/traced.py."""
    repeats: int = 15
    """How many interleaved rounds."""
    turn: float = 0.0
    """Seconds over which a turn repeats a short step."""
    backend: Literal["inductor", "aot_eager"] = "inductor"
    """What compiles; "aot_eager" runs the traced graphs without a compiler."""
    memory: bool = True
    """Measure peak memory too, in a fresh process for each method."""
    compiling: int = 0
    """In how many fresh processes to measure each compiled method's first step, with empty caches; 0 for none."""
    clock: Literal["wall", "cpu"] = "cpu"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    device: str = "cpu"
    """Where to compute; on "cuda" take the clock "wall", and a step is over when the GPU is done."""
    seed: int = 0
    """Of data, weights and the order within rounds."""
    small: bool = False
    """Shrink the workloads to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        check_known("workload", self.workloads, WORKLOADS)
        check_least(self, 1, "repeats")
        check_least(self, 0, "turn", "compiling")
        check_device(self.device, self.clock)


PRESETS = {"full": Config(), "quick": Config(repeats=1, backend="aot_eager", memory=False, small=True)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every way on every workload; rows come workload by workload, the denominator first.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(1):
        for name in config.workloads:
            announce(f"{name}: compiles")
            yield from _workload(name, config, announce)


def _workload(name: str, config: Config, announce: Announce) -> Iterator[Row]:
    problem = WORKLOADS[name](config.small, config.seed).to(config.device)
    steps, notes = _steps(problem, config.backend)
    steps = {key: awaited(step, config.device) for key, step in steps.items()}
    memory, compiling = _memory(name, config), _compiling(name, config, announce)
    exact = _exact(WORKLOADS[name](config.small, config.seed).double().to(config.device), config.backend)
    for step in steps.values():
        for _ in range(2):  # what a first step does once
            step()
            problem.clean()
    announce(f"{name}: {config.repeats} rounds")
    clean: dict[str, Step] = dict.fromkeys(steps, problem.clean)
    generator = Generator().manual_seed(config.seed)
    times = interleaved(steps, clean, dict.fromkeys(steps, config.repeats), config.turn, generator, config.clock)
    for key, own in times.items():
        found = ratio(own, times[PLAIN])
        yield {
            "workload": name,
            "method": key,
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "fastest_ratio": min(own) / min(times[PLAIN]),
            "memory_ratio": memory.get(key),
            "exact": exact if key == "mechlearn, compiled" else None,
            "seconds": statistics.median(own),
            "compile_seconds": compiling.get(key),
            "rounds": found.rounds,
            "environments": problem.count,
            "examples": len(problem.batch[0]),
            "note": notes(key),
            "backend": config.backend,
            "clock": config.clock,
            "device": config.device,
            "seed": config.seed,
            "small": config.small,
        }


def _memory(name: str, config: Config) -> dict[str, float]:
    """Return what the compiled step adds at its peak over what the plain one adds; empty where that cannot be known."""
    if not config.memory or config.device != "cpu" or not supported():
        return {}
    asked = {"name": name, "backend": config.backend, "seed": config.seed, "small": config.small}
    ours, plain = (in_fresh_process("compiled", {**asked, "method": key}) for key in ("mechlearn, compiled", PLAIN))
    return {"mechlearn, compiled": ours / plain} if plain else {}


def _compiling(name: str, config: Config, announce: Announce) -> dict[str, float]:
    """Return the median time of a first step, by method; empty where that is not asked for."""
    if not config.compiling or config.device != "cpu":
        return {}
    asked = {"name": name, "backend": config.backend, "seed": config.seed, "small": config.small, "clock": config.clock}
    found: dict[str, list[float]] = {key: [] for key in COMPILED}
    for number in range(config.compiling):
        for key in COMPILED if number % 2 == 0 else reversed(COMPILED):
            announce(f"{name}: {key} compiles with empty caches, {number + 1} of {config.compiling}")
            with TemporaryDirectory() as caches:
                variables = {"TORCHINDUCTOR_CACHE_DIR": caches, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
                found[key].append(in_fresh_process("compiled", {**asked, "method": key}, variables))
    return {key: statistics.median(times) for key, times in found.items()}


def probe(name: str, method: str, backend: str, seed: int, small: bool, clock: str | None = None) -> float:
    """Return the bytes that one step adds at its peak, in a process of its own; with a clock the time of the first step."""
    if clock is not None:
        with threads(1):
            return _first(name, method, backend, seed, small, clock)

    def prepare() -> Step:
        problem = WORKLOADS[name](small, seed)
        step = _steps(problem, backend)[0][method]

        def clean_step() -> None:
            problem.clean()
            step()

        return clean_step

    with threads(1):
        return added_peak(prepare, warm_ups=2)


def _first(name: str, method: str, backend: str, seed: int, small: bool, clock: str) -> float:
    """Return the seconds of a first step, with the processor time of the compilers that it starts."""
    step = _steps(WORKLOADS[name](small, seed), backend)[0][method]

    def now() -> float:
        return sum(os.times()[:4]) if clock == "cpu" else time.perf_counter()

    started = now()
    step()
    return now() - started


def _steps(problem: Traced, backend: str) -> tuple[dict[str, Step], Callable[[str], str]]:
    """Return the steps by their methods' names, and what to say of one."""
    whole, part = (torch.compile(_fresh(problem.losses_of), backend=backend, fullgraph=True) for _ in range(2))
    rule = AndMask(problem.threshold)
    ids, parts = problem.environments, problem.parts()
    eager = Agreement(problem.model, rule, kernel="compiled")
    step = Agreement(problem.model, rule).compile(problem.losses_of, backend=backend)

    steps: dict[str, Step] = {
        PLAIN: lambda: whole(*problem.batch).mean().backward(),
        "mechlearn, compiled": lambda: step(*problem.batch, environments=ids),
        "loop, compiled": lambda: _loop(problem, part, parts),
        "loop": lambda: _loop(problem, problem.losses_of, parts),
        "plain": lambda: problem.losses_of(*problem.batch).mean().backward(),
        "mechlearn": lambda: eager.backward(problem.losses_of(*problem.batch), ids),
    }

    def notes(key: str) -> str:
        if key == PLAIN:
            return "the denominator"
        return f"by the eager engine: {step.reason}" if key == "mechlearn, compiled" and step.reason else ""

    return steps, notes


def _fresh(losses_of: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function of its own code: two compiled ones share no traces."""

    def fresh(*batch: Tensor) -> Tensor:
        return losses_of(*batch)

    fresh.__code__ = fresh.__code__.replace()
    return fresh


def _loop(problem: Traced, losses_of: Callable[..., Tensor], parts: list[tuple[Tensor, ...]]) -> None:
    """Run a forward and backward pass for each environment, with running sums."""
    parameters = list(problem.model.parameters())
    total, sign = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    for part in parts:
        gradients = torch.autograd.grad(losses_of(*part).mean(), parameters)
        for t, s, gradient in zip(total, sign, gradients, strict=True):
            t.add_(gradient)
            s.add_(gradient.sign())
    for parameter, t, s in zip(parameters, total, sign, strict=True):
        parameter.grad = masked(t.div_(problem.count), s, problem.count, problem.threshold)


def _exact(problem: Traced, backend: str) -> bool:
    """Tell whether the compiled step leaves the loop's gradients where the sign of each environment's is known."""
    found: list[list[Tensor]] = []
    steps, _ = _steps(problem, backend)
    for one in ("mechlearn, compiled", "loop"):
        steps[one]()
        found.append([copy.copy(p.grad) for p in problem.model.parameters() if p.grad is not None])
        problem.clean()
    parameters = list(problem.model.parameters())
    smallest = [torch.full_like(p, torch.inf) for p in parameters]
    noise = [p.new_zeros(()) for p in parameters]
    for part in problem.parts():
        for place, gradient in enumerate(torch.autograd.grad(problem.losses_of(*part).mean(), parameters)):
            smallest[place] = torch.minimum(smallest[place], gradient.abs())
            noise[place] = torch.maximum(noise[place], NOISE * gradient.abs().max())
    same = [((a - b).abs() <= n) | (s <= n) for a, b, s, n in zip(*found, smallest, noise, strict=True)]
    return all(bool(one.all()) for one in same)

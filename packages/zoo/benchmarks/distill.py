"""The meta-gradient: time and added memory of differentiating through an unroll, over plain autograd and beside its peers.

The thesis's MuJoCo configuration on random data (`unrolls/problem.py`). A workload is a number n of inner steps, with the
teacher ("mujoco") or by signals that are given ("student"). A ratio is formed within a round of interleaved turns; `low` and
`high` are its range over rounds. `over_higher` is how many times faster than `higher`, formed likewise. `memory_mib` is the
peak that one meta-gradient adds to what a fresh process holds before it, after a warm-up of two steps. `error` is the largest
difference from plain autograd over the largest component, both in float64; `exact` says that it is below 1e-10. The error of
an approximation (the teacher in bfloat16: autocast leaves float64 alone) is that of float32 beside plain autograd in float64,
and it is never `exact`.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from mechlearn_zoo_benchmarks.entrants.unrolls import populations
from mechlearn_zoo_benchmarks.entrants.unrolls.methods import PLAIN, Compute, Method, methods
from mechlearn_zoo_benchmarks.entrants.unrolls.problem import Unrolling, unrolling
from mechlearn_zoo_benchmarks.measuring.memory import added_peak, in_fresh_process, supported
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError
from mechlearn_zoo_benchmarks.measuring.timing import interleaved, ratio, seconds, threads
from torch import Generator, Tensor

from claimlab import Row
from claimlab.errors import LabError, suggestion

Announce = Callable[[str], None]

EXACT = 1e-10
"""The largest error in float64 of a method that is called exact."""

PROBLEMS = ("mujoco", "student", "population")

HIGHER = "higher"
"""The key of the peer that the texts used."""


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    problems: tuple[str, ...] = PROBLEMS
    """What to differentiate: mujoco (with the teacher) and student (by given signals); population: rounds of 8 students."""
    lengths: tuple[int, ...] = (16, 96, 384)
    """Numbers n of inner steps; the thesis has 96."""
    thorough: int = 96
    """Longest n at which all methods run, in all rounds and in float64 too; beyond it some run, in two rounds."""
    methods: tuple[str, ...] = ()
    """Which methods to run beside plain autograd: names of files in benchmarks/entrants/unrolls/methods/; empty for all."""
    repeats: int = 5
    """How many interleaved rounds."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of data, weights and the order within rounds."""
    memory: bool = True
    """Measure added memory with the teacher too, in a fresh process for each method and length."""
    exact: bool = True
    """Compare with plain autograd in float64, too."""
    small: bool = False
    """Shrink the networks to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        for kind, given, known in (("problem", self.problems, PROBLEMS), ("method", self.methods, methods())):
            for name in given:
                if name not in known:
                    raise ValueError(f"A {kind} should be one that exists. Found {name!r}. {suggestion(name, known)}")
        for name, least in (("repeats", self.repeats), ("threads", self.threads), ("lengths", min(self.lengths, default=0))):
            if least < 1:
                raise ValueError(f"{name} should be at least 1. Found {least}. Use 1 or more.")


PRESETS = {"full": Config(), "quick": Config(lengths=(3,), repeats=2, small=True)}


@dataclass
class Entry:
    """A method at work: its own copy of the problem, and what was found."""

    method: Method
    compute: Compute
    error: float | None
    warm_up: float
    times: list[float] = field(default_factory=list)


class Copies(NamedTuple):
    """A problem of the greatest length, and one more in either precision that all of our methods share.

    Compiled steps are kept for a student: with one student they are compiled once for all methods and lengths.
    """

    given: Unrolling
    ours: Unrolling
    double: Unrolling

    def of(self, key: str, dtype: torch.dtype, n: int) -> Unrolling:
        """Return what a method is prepared with."""
        if key.startswith("mechlearn"):
            return (self.double if dtype == torch.float64 else self.ours).first(n)
        return self.given.first(n).copy(dtype)


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every method; rows come workload by workload, the denominator first.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads):
        for problem in config.problems:
            if problem == "population":
                yield from populations.rows(config.repeats, small=config.small, seed=config.seed, announce=announce)
                continue
            given = unrolling(max(config.lengths), alone=problem == "student", small=config.small, seed=config.seed)
            copies = Copies(given, given.copy(), given.copy(torch.float64))
            for n in config.lengths:
                yield from _workload(problem, n, copies, config, announce)


def _chosen(problem: str, n: int, config: Config) -> dict[str, Method]:
    """Return the methods of a workload."""
    return {
        key: method
        for key, method in methods().items()
        if (not config.methods or key in (PLAIN, *config.methods))
        and (problem == "mujoco" or method.alone)
        and (n <= config.thorough or method.long)
    }


def _workload(problem: str, n: int, copies: Copies, config: Config, announce: Announce) -> Iterator[Row]:
    workload = f"{problem}, n = {n}"
    chosen = _chosen(problem, n, config)
    entries: dict[str, Entry] = {}
    refused: dict[str, str] = {}
    expected: list[Tensor] = []
    for key, method in chosen.items():
        announce(f"{workload}: {method.name} warms up")
        try:
            entries[key] = _warm_up(key, method, n, copies, config, expected)
        except NotRunError as reason:
            refused[key] = str(reason)
        except Exception as error:
            if key == PLAIN or key.startswith("mechlearn"):
                raise
            # A peer that breaks is a finding about that peer, no reason to lose the other rows.
            refused[key] = f"failed: {type(error).__name__}: {error}".splitlines()[0]
    rounds = config.repeats if n <= config.thorough else min(2, config.repeats)
    announce(f"{workload}: {rounds} rounds")
    _time(entries, rounds, config)
    memory = config.memory and problem == "mujoco"
    levels = {key: _level(problem, n, key, config, announce) if memory else None for key in entries}
    for key, method in chosen.items():
        found = _measured(entries, levels, key) if key in entries else _unmeasured(refused[key])
        yield {"workload": workload, "method": method.name, **found, **_setting(config, method, n)}


def _time(entries: dict[str, Entry], rounds: int, config: Config) -> None:
    generator = Generator().manual_seed(config.seed)
    computes = {key: entry.compute for key, entry in entries.items()}
    nothing = dict.fromkeys(entries, _nothing)
    for key, times in interleaved(computes, nothing, dict.fromkeys(entries, rounds), 0.0, generator).items():
        entries[key].times = times


def _nothing() -> None:
    """Clean up nothing: no method leaves gradients behind."""


def _warm_up(key: str, method: Method, n: int, copies: Copies, config: Config, expected: list[Tensor]) -> Entry:
    """Run a method on two steps, and against the first method's result in float64, which is put into `expected`."""
    error = None
    if config.exact and n <= config.thorough:
        found = method.prepare(copies.of(key, torch.float64 if method.exact else torch.float32, n))()
        if not expected:
            expected += found
        scale = max(float(tensor.abs().max()) for tensor in expected)
        error = max(float((a.double() - b).abs().max()) for a, b in zip(found, expected, strict=True)) / scale
    warm_up = seconds(method.prepare(copies.of(key, torch.float32, min(2, n))), _nothing)
    return Entry(method, method.prepare(copies.of(key, torch.float32, n)), error, warm_up)


def _level(problem: str, n: int, key: str, config: Config, announce: Announce) -> int | None:
    if not supported():
        return None
    announce(f"{problem}, n = {n}: memory of {key}")
    arguments = {"problem": problem, "n": n, "method": key}
    arguments |= {name: getattr(config, name) for name in ("threads", "seed", "small")}
    try:
        found: int = in_fresh_process("distill", arguments)
    except LabError:
        return None
    return found


def probe(problem: str, n: int, method: str, threads: int, seed: int, small: bool) -> int:
    """Return the bytes that one meta-gradient adds; what a fresh process calls."""
    torch.set_num_threads(threads)
    chosen = methods()[method]

    def prepare() -> Compute:
        given = unrolling(n, alone=problem == "student", small=small, seed=seed)
        chosen.prepare(given.first(min(2, n)))()  # loads and compiles what is loaded and compiled on first use
        return chosen.prepare(given)

    return added_peak(prepare, warm_ups=0)


def _measured(entries: dict[str, Entry], levels: dict[str, int | None], key: str) -> Row:
    entry, plain, higher = entries[key], entries[PLAIN], entries.get(HIGHER)
    level, plain_level, higher_level = levels[key], levels[PLAIN], levels.get(HIGHER)
    found = ratio(entry.times, plain.times)
    over = ratio(higher.times, entry.times) if higher else None
    return {
        "ratio": found.median,
        "low": found.low,
        "high": found.high,
        "memory_ratio": level / plain_level if level and plain_level else None,
        "exact": None if entry.error is None or entry is plain else entry.method.exact and entry.error < EXACT,
        "error": entry.error,
        "over_higher": over.median if over else None,
        "over_higher_low": over.low if over else None,
        "over_higher_high": over.high if over else None,
        "memory_over_higher": level / higher_level if level and higher_level else None,
        "memory_mib": round(level / 2**20, 1) if level else None,
        "seconds": statistics.median(entry.times),
        "warm_up_seconds": entry.warm_up,
        "rounds": found.rounds,
        "note": entry.method.note,
    }


def _unmeasured(reason: str) -> Row:
    return {"ratio": None, "low": None, "high": None, "memory_ratio": None, "exact": None, "note": reason}


def _setting(config: Config, method: Method, n: int) -> dict[str, Any]:
    return {"version": method.version, "n": n, "threads": config.threads, "seed": config.seed, "small": config.small}

"""The meta-gradient: time and added memory of differentiating through an unroll, over plain autograd and beside its peers.

The thesis's MuJoCo configuration on random data (`unrolls/problem.py`). A workload is a number n of inner steps, with the
teacher ("mujoco") or by signals that are given ("student"). A ratio is formed within a round of interleaved turns; `low` and
`high` are its range over rounds. `over_higher` is how many times faster than `higher`, formed likewise. `memory_mib` is the
peak that one meta-gradient adds to what a fresh process holds before it, after a warm-up. `error` is the largest difference
from plain autograd over the largest component, both in float64; `exact` says that it is below 1e-10.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from craik_benchmarks.measuring.memory import added_peak, in_fresh_process, supported
from craik_benchmarks.measuring.timing import interleaved, ratio, seconds, threads
from craik_benchmarks.unrolls.methods import PLAIN, Compute, Method, NotRunError, methods
from craik_benchmarks.unrolls.problem import unrolling
from torch import Generator, Tensor

from craik.harness.errors import HarnessError, suggestion
from craik.harness.rows import Row

Announce = Callable[[str], None]

EXACT = 1e-10
"""The largest error in float64 of a method that is called exact."""

HIGHER = "higher"
"""The key of the peer that the texts used."""


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    problems: tuple[str, ...] = ("mujoco", "student")
    """What to differentiate: mujoco (with the teacher) and student (by given signals)."""
    lengths: tuple[int, ...] = (96,)
    """Numbers n of inner steps."""
    methods: tuple[str, ...] = ()
    """Which methods to run beside plain autograd: names of files in benchmarks/unrolls/methods/; empty for all."""
    repeats: int = 7
    """How many interleaved rounds."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of data, weights and the order within rounds."""
    memory: bool = True
    """Measure added memory too, in a fresh process for each method."""
    exact: bool = True
    """Compare with plain autograd in float64, too."""
    small: bool = False
    """Shrink the networks to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        for kind, given, known in (("problem", self.problems, ("mujoco", "student")), ("method", self.methods, methods())):
            for name in given:
                if name not in known:
                    raise ValueError(f"a {kind} must be one there is, but found {name!r}; {suggestion(name, known)}")
        for name, least in (("repeats", self.repeats), ("threads", self.threads), ("lengths", min(self.lengths, default=0))):
            if least < 1:
                raise ValueError(f"{name} must be at least 1, but found {least}; use 1 or more")


PRESETS = {"full": Config(), "quick": Config(lengths=(3,), repeats=2, small=True)}


@dataclass
class Entry:
    """A method at work: its own copy of the problem, and what was found."""

    method: Method
    compute: Compute
    error: float | None
    warm_up: float
    times: list[float] = field(default_factory=list)


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every method; rows come workload by workload, the denominator first.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads):
        for problem in config.problems:
            for n in config.lengths:
                yield from _workload(problem, n, config, announce)


def _workload(problem: str, n: int, config: Config, announce: Announce) -> Iterator[Row]:
    workload = f"{problem}, n = {n}"
    chosen = {key: m for key, m in methods().items() if not config.methods or key in (PLAIN, *config.methods)}
    chosen = {key: m for key, m in chosen.items() if problem == "mujoco" or m.alone}
    entries: dict[str, Entry] = {}
    refused: dict[str, str] = {}
    expected: list[Tensor] = []
    for key, method in chosen.items():
        announce(f"{workload}: {method.name} warms up")
        try:
            entries[key] = _warm_up(method, problem, n, config, expected)
        except NotRunError as reason:
            refused[key] = str(reason)
        except Exception as error:
            if key == PLAIN or key.startswith("craik"):
                raise
            # A peer that breaks is a finding about that peer, no reason to lose the other rows.
            refused[key] = f"failed: {type(error).__name__}: {error}".splitlines()[0]
    announce(f"{workload}: {config.repeats} rounds")
    generator = Generator().manual_seed(config.seed)
    computes = {key: entry.compute for key, entry in entries.items()}
    rounds = dict.fromkeys(entries, config.repeats)
    for key, times in interleaved(computes, dict.fromkeys(entries, _nothing), rounds, 0.0, generator).items():
        entries[key].times = times
    levels = {key: _level(problem, n, key, config, announce) for key in entries}
    for key, method in chosen.items():
        found = _measured(entries, levels, key) if key in entries else _unmeasured(refused[key])
        yield {"workload": workload, "method": method.name, **found, **_setting(config, method, n)}


def _nothing() -> None:
    """Clean up nothing: no method leaves gradients behind."""


def _warm_up(method: Method, problem: str, n: int, config: Config, expected: list[Tensor]) -> Entry:
    """Run a method once, and once in float64 against the first method's result, which is put into `expected`."""
    given = unrolling(n, alone=problem == "student", small=config.small, seed=config.seed)
    error = None
    if config.exact:
        found = method.prepare(given.copy(torch.float64))()
        if not expected:
            expected += found
        scale = max(float(tensor.abs().max()) for tensor in expected)
        error = max(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True)) / scale
    compute = method.prepare(given.copy())
    return Entry(method, compute, error, seconds(compute, _nothing))


def _level(problem: str, n: int, key: str, config: Config, announce: Announce) -> int | None:
    if not config.memory or not supported():
        return None
    announce(f"{problem}, n = {n}: memory of {key}")
    arguments = {"problem": problem, "n": n, "method": key}
    arguments |= {name: getattr(config, name) for name in ("threads", "seed", "small")}
    try:
        found: int = in_fresh_process("distill", Path(__file__).parent, arguments)
    except HarnessError:
        return None
    return found


def probe(problem: str, n: int, method: str, threads: int, seed: int, small: bool) -> int:
    """Return the bytes that one meta-gradient adds; what a fresh process calls."""
    torch.set_num_threads(threads)
    return added_peak(
        lambda: methods()[method].prepare(unrolling(n, alone=problem == "student", small=small, seed=seed)), warm_ups=1
    )


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
        "exact": None if entry.error is None or entry is plain else entry.error < EXACT,
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

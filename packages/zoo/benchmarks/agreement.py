"""The AND-mask: time and memory over plain backpropagation, beside every other way to compute it.

A ratio is (forward + backward + rule) / (forward + backward of the mean loss), formed within a round of interleaved turns;
`low` and `high` are its range over rounds. `memory_ratio` is the peak level of a step over that of the plain step, each in
a fresh process (see `measuring/memory.py`). `exact` says that every component whose mask float32 can decide has the mask of
the literal float64 reference; `mismatches` counts all that differ (see `masks/reference.py`). Our own rows say which targets
they meet and which peer is nearest (`masks/targets.py`); the targets are a CPU's. On a GPU a step is over when the device is
done, and its level is what torch's allocator handed out (see `measuring/devices.py`).
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from mechlearn_zoo_benchmarks.entrants.masks.methods import PLAIN, Method, methods
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.entrants.masks.reference import Reference, Score, reference, score
from mechlearn_zoo_benchmarks.entrants.masks.targets import judged
from mechlearn_zoo_benchmarks.entrants.masks.workloads import WORKLOADS
from mechlearn_zoo_benchmarks.measuring.devices import awaited, check_device, gpu_peak_level, on_gpu, rounding
from mechlearn_zoo_benchmarks.measuring.memory import in_fresh_process, peak_level, supported
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError
from mechlearn_zoo_benchmarks.measuring.settings import check_known, check_least
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, seconds, threads, turn
from torch import Generator

from claimlab import Row, Rows
from claimlab.errors import LabError, suggestion

Announce = Callable[[str], None]

OURS = (PLAIN, "mechlearn")
"""The methods whose failure is the benchmark's."""


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    """Which workloads to run, see benchmarks/entrants/masks/workloads.py."""
    methods: tuple[str, ...] = ()
    """Which methods to run beside plain backpropagation: files in benchmarks/entrants/masks/methods/; empty for all."""
    repeats: int = 7
    """How many interleaved rounds."""
    budget: float = 30.0
    """Seconds of rounds for one method on one workload; a slow one gets two rounds at least, or none if a step takes longer:
    then its step of the warm-up is what counts."""
    turn: float = 0.25
    """Seconds over which a turn repeats a short step: a clock tick and a cold cache must not decide a round."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of data, weights and the order within rounds."""
    memory: bool = True
    """Measure peak memory too, in a fresh process for each method."""
    device: str = "cpu"
    """Where to compute: cpu, cuda, cuda:1, ..."""
    tf32: bool = False
    """Let cuDNN round convolutions' factors to 10 bits, torch's default on a GPU: no method has then the reference's masks."""
    small: bool = False
    """Shrink the workloads to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        if not self.workloads:
            raise ValueError(f"workloads should name at least one. Found none. {suggestion('', WORKLOADS)}")
        check_known("workload", self.workloads, WORKLOADS)
        check_known("method", self.methods, methods())
        if self.clock == "cpu" and self.threads != 1:
            raise ValueError(f"clock cpu should have one thread: it adds up all. Found {self.threads}. Use 1, or clock wall.")
        check_device(self.device, self.clock)
        check_least(self, 1, "repeats", "threads")
        check_least(self, 0, "budget", "turn")


PRESETS = {"full": Config(), "quick": Config(repeats=2, budget=5.0, turn=0.01, small=True)}


class Level(NamedTuple):
    """A method's peak level in bytes, or why there is none."""

    peak: int | None
    why: str = ""


@dataclass
class Entry:
    """A method at work on a workload: its own copy of the problem, and what the warm-up found."""

    method: Method
    problem: Problem
    step: Step
    chunk: int
    seconds: float
    score: Score
    remark: str
    times: list[float] = field(default_factory=list)


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every method on every workload; rows come workload by workload, the denominator first.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads), rounding(config.tf32):
        for name in config.workloads:
            yield from _workload(name, config, announce)


def _workload(name: str, config: Config, announce: Announce) -> Iterator[Row]:
    announce(f"{name}: the reference, environment by environment in float64")
    problem = WORKLOADS[name](config.small, config.seed).to(config.device)
    expected = reference(problem)
    entries: dict[str, Entry] = {}
    refused: dict[str, str] = {}
    chosen = {key: method for key, method in methods().items() if not config.methods or key in (PLAIN, *config.methods)}
    for key, method in chosen.items():
        announce(f"{name}: {method.name} warms up")
        try:
            entries[key] = _warm_up(method, problem.copy(), expected, config)
        except NotRunError as reason:
            refused[key] = str(reason)
        except Exception as error:
            if key in OURS:
                raise
            # A peer that breaks on a workload is a finding about that peer, no reason to lose the other rows.
            refused[key] = f"failed: {type(error).__name__}: {error}".splitlines()[0]
    _time(entries, config, announce, name)
    levels = {key: _level(name, key, entry, config, announce) for key, entry in entries.items()}
    rows: Rows = []
    for key, method in chosen.items():
        found = _measured(entries, levels, key, expected) if key in entries else _unmeasured(refused[key])
        rows.append({"workload": name, "method": method.name, **found, **_setting(config, method)})
    yield from rows if config.small else judged(rows, on_cpu=not on_gpu(config.device))


def _warm_up(method: Method, problem: Problem, expected: Reference, config: Config) -> Entry:
    """Run a method for the first time with each of its chunk sizes, until the budget is spent; keep the fastest."""
    best: Entry | None = None
    spent = 0.0
    for chunk in method.chunks(problem):
        step = awaited(method.prepare(problem, chunk), config.device)
        results: list[object] = []
        first = seconds(lambda step=step, results=results: results.append(step()), lambda: None, config.clock)
        found = score([p.grad for p in problem.parameters if p.grad is not None], expected)
        problem.clean()
        # A first step may do what no later one does (mechlearn's checks its formulas): time another, unless it takes too long.
        # On a GPU it compiles: seconds that say nothing of the next.
        again = first < config.budget / 2 or on_gpu(config.device)
        usual = turn(step, problem.clean, config.turn, config.clock) if again else first
        if best is None or usual < best.seconds:
            best = Entry(method, problem, step, chunk, usual, found, method.remark(results[0]))
        spent += first + usual
        if spent > config.budget:
            break
    if best is None:
        raise NotRunError("not run: no chunk of environments fits into memory")
    return best


def _time(entries: dict[str, Entry], config: Config, announce: Announce, name: str) -> None:
    rounds = {key: _rounds(config, entry.seconds) for key, entry in entries.items()}
    rounds[PLAIN] = config.repeats
    total = sum(rounds[key] * entry.seconds for key, entry in entries.items())
    announce(f"{name}: {config.repeats} rounds, about {total:.0f} s")
    steps = {key: entry.step for key, entry in entries.items()}
    clean = {key: entry.problem.clean for key, entry in entries.items()}
    generator = Generator().manual_seed(config.seed)
    for key, times in interleaved(steps, clean, rounds, config.turn, generator, config.clock).items():
        entries[key].times = times or [entries[key].seconds]


def _rounds(config: Config, seconds: float) -> int:
    """Return in how many rounds a method takes part: in none if its step of the warm-up has spent the budget."""
    return 0 if seconds > config.budget else min(config.repeats, max(2, int(config.budget / seconds)))


def _level(name: str, key: str, entry: Entry, config: Config, announce: Announce) -> Level:
    if config.memory and on_gpu(config.device):
        return _gpu_level(name, entry, config)
    if not config.memory or not supported():
        return Level(None, "memory not measured: this system has no high-water mark to reset" if config.memory else "")
    announce(f"{name}: memory of {entry.method.name}")
    warm_ups = 1 if entry.seconds < config.budget / 2 else 0  # what a first step does once is small beside a slow one
    arguments = {"workload": name, "method": key, "chunk": entry.chunk, "warm_ups": warm_ups}
    arguments |= {"threads": config.threads, "seed": config.seed, "small": config.small}
    try:
        return Level(in_fresh_process("agreement", arguments))
    except LabError as error:
        return Level(None, f"memory not measured: {error}")


def _gpu_level(name: str, entry: Entry, config: Config) -> Level:
    def prepare() -> tuple[Step, Step]:
        problem = WORKLOADS[name](config.small, config.seed).to(config.device)
        return entry.method.prepare(problem, entry.chunk), problem.clean

    return Level(gpu_peak_level(prepare, 1, config.device))


def probe(workload: str, method: str, chunk: int, warm_ups: int, threads: int, seed: int, small: bool) -> int:
    """Return the peak level of one step in bytes; what a fresh process calls."""
    torch.set_num_threads(threads)
    chosen = methods()[method]

    def prepare(small: bool, chunk: int) -> tuple[Step, Step]:
        problem = WORKLOADS[workload](small, seed)
        return chosen.prepare(problem, chunk), problem.clean

    def rehearse() -> None:
        step, clean = prepare(small=True, chunk=min(chunk, 2))
        step()
        clean()

    return peak_level(rehearse, lambda: prepare(small, chunk), warm_ups)


def _measured(entries: dict[str, Entry], levels: dict[str, Level], key: str, expected: Reference) -> Row:
    entry, plain = entries[key], entries[PLAIN]
    peak, plain_peak = levels[key].peak, levels[PLAIN].peak
    found = ratio(entry.times, plain.times)
    masks = entry.score if entry is not plain and entry.method.literal else None  # the denominator has no mask
    return {
        "ratio": found.median,
        "low": found.low,
        "high": found.high,
        "memory_ratio": peak / plain_peak if peak and plain_peak else None,
        "exact": masks.exact if masks else None,
        "mismatches": masks.mismatches if masks else None,
        "error": masks.error if masks else None,
        "components": expected.components,
        "decided": expected.share_decided,
        "memory_mib": round(peak / 2**20, 1) if peak else None,
        "seconds": statistics.median(entry.times),
        "seconds_plain": statistics.median(plain.times),
        "rounds": found.rounds,
        "chunk": entry.chunk or None,
        "note": _sentence(entry, levels[key]),
    }


def _unmeasured(reason: str) -> Row:
    return {"ratio": None, "low": None, "high": None, "memory_ratio": None, "exact": None, "note": reason}


def _sentence(entry: Entry, level: Level) -> str:
    chunks = f"chunks of {entry.chunk}" if entry.chunk else ""
    once = "one step, in the warm-up" if len(entry.times) == 1 else ""
    parts = (entry.method.note, chunks, once, entry.remark, level.why)
    return "; ".join(part for part in parts if part)


def _setting(config: Config, method: Method) -> Row:
    return {
        "version": method.version,
        "clock": config.clock,
        "threads": config.threads,
        "device": config.device,
        "tf32": config.tf32,
        "seed": config.seed,
        "small": config.small,
    }

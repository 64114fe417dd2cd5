"""Adaptive skip intervals: what matching and a training step cost, beside gathering every window.

"matching" is the way from predictions to the matched frames of whole trajectories; "training step" is forward, matching and
backward through a network of five convolutions with 16 kernels at half resolution. A ratio is over the literal gather on
floats: copy the windows, evaluate the loss on each frame, take the least. Beside it: the loop over frames that algorithm 1
writes, the published code's style (trajectories stay in the batch until the last has ended, windows are put together frame by
frame), and the network alone, which no way to match can save. `memory_ratio` is the peak of a process that holds a data set
and takes a step. `exact`: the matched frames are those of the literal gather. A training step on larger batches shows what is
left to save where the network takes most of our step: its share is the network's time over ours.

"vectors" is a training step on states of four numbers, a ratio of times by evaluation of the model over a fixed step of 1;
"alignment" one that aligns whole trajectories, hard, soft, and by tslearn's soft-DTW, whose values are others; "roll-out" the
time a frame of longer roll-outs over the shortest's.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
from mechlearn_zoo_benchmarks.entrants.following.states import Spent, alignments, rollouts, vectors
from mechlearn_zoo_benchmarks.entrants.following.ways import ALONE, BASE, BYTES, Way, matching, one_step, stepping
from mechlearn_zoo_benchmarks.entrants.following.worlds import SIZES, SMALL, Size, with_floats, world
from mechlearn_zoo_benchmarks.measuring.memory import in_fresh_process, peak_level, supported
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, seconds, threads
from torch import Generator

from claimlab import Row
from claimlab.errors import LabError, suggestion

Announce = Callable[[str], None]

LARGER = 16
"""Trajectories of a larger batch."""


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    sizes: tuple[str, ...] = tuple(SIZES)
    """Which frames: 36x40, 64x64 RGB, 126x75 RGB."""
    states: bool = True
    """Measure steps on vectors and roll-outs by length, too."""
    batch: int = 2
    """Trajectories of a batch; the thesis trains with 2."""
    larger: tuple[str, ...] = ("64x64 RGB",)
    """Frames whose training step is measured on batches of 16, too; without memory."""
    horizon: int = 20
    """H, how many frames ahead a match may lie."""
    repeats: int = 7
    """How many interleaved rounds."""
    turn: float = 0.2
    """Seconds over which a turn repeats a short step."""
    budget: float = 20.0
    """Seconds of rounds for one method on one workload; a slow one gets fewer rounds, but two at least."""
    dataset: int = 40
    """Trajectories of the data set whose memory is measured."""
    memory: bool = True
    """Measure peak memory too, in a fresh process for each method."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of worlds, weights and the order within rounds."""
    small: bool = False
    """Shrink the workloads to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        for name in (*self.sizes, *self.larger):
            if name not in SIZES:
                raise ValueError(f"A size should be one that exists. Found {name!r}. {suggestion(name, SIZES)}")
        for name in ("batch", "horizon", "repeats", "dataset", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} should be at least 1. Found {getattr(self, name)}. Use 1 or more.")


PRESETS = {"full": Config(), "quick": Config(repeats=2, turn=0.005, budget=2.0, dataset=2, small=True)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every method at every size; the denominator's row comes first.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads):
        for name in config.sizes:
            size = SIZES[name]._replace(time=SMALL) if config.small else SIZES[name]
            for kind, prepare in (("matching", matching), ("training step", stepping)):
                announce(f"{kind}, {name}")
                yield from _rows(
                    f"{kind}, {name}", kind, name, prepare(size, config.batch, config.horizon, config.seed), config, announce
                )
        for name in config.larger:
            yield from _larger(name, replace(config, batch=2 if config.small else LARGER, memory=False), announce)
        if config.states:
            yield from _states(config, announce)


def _larger(name: str, config: Config, announce: Announce) -> Iterator[Row]:
    """Measure a training step on a batch of 16."""
    workload = f"training step, {name}, batch {LARGER}"
    announce(workload)
    size = SIZES[name]._replace(time=SMALL) if config.small else SIZES[name]
    ways = stepping(size, config.batch, config.horizon, config.seed)
    yield from _rows(workload, "training step", name, ways, config, announce)


def _states(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure steps by evaluation and roll-outs by frame; the first of each is the denominator."""
    workloads = {"vectors": vectors, "alignment": alignments, "roll-out": partial(rollouts, small=config.small)}
    for workload, prepare in workloads.items():
        ways = prepare(config.seed)
        announce(workload)
        rounds = dict.fromkeys(ways, config.repeats)
        steps = {name: way.step for name, way in ways.items()}
        times = interleaved(steps, dict.fromkeys(ways, _nothing), rounds, config.turn, Generator().manual_seed(config.seed))
        yield from _each(workload, ways, times, config)


def _each(workload: str, ways: dict[str, Spent], times: dict[str, list[float]], config: Config) -> Iterator[Row]:
    each = {name: [seconds / ways[name].count for seconds in found] for name, found in times.items()}
    base = next(iter(ways))
    for name, way in ways.items():
        found = ratio(each[name], each[base])
        yield {
            "workload": workload,
            "method": name,
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "memory_ratio": None,
            "exact": None,
            "times_cheaper": 1 / found.median,
            "seconds": statistics.median(times[name]),
            "rounds": found.rounds,
            "steps": way.count,
            "threads": config.threads,
            "seed": config.seed,
            "small": config.small,
            "note": "the denominator" if name == base else "",
        }


def _rows(workload: str, kind: str, size: str, ways: dict[str, Way], config: Config, announce: Announce) -> Iterator[Row]:
    once = {name: seconds(way.step, _nothing) for name, way in ways.items()}
    rounds = {name: min(config.repeats, max(2, int(config.budget / once[name]))) for name in ways}
    rounds[BASE] = config.repeats
    generator = Generator().manual_seed(config.seed)
    steps = {name: way.step for name, way in ways.items()}
    times = interleaved(steps, dict.fromkeys(ways, _nothing), rounds, config.turn, generator)
    peaks = _peaks(size, config, announce) if kind == "training step" and config.memory and supported() else {}
    for name, way in ways.items():
        found = ratio(times[name], times[BASE])
        peak, base = peaks.get(name), peaks.get(BASE)
        yield {
            "workload": workload,
            "method": name,
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "memory_ratio": peak / base if peak and base else None,
            "exact": None if name in (ALONE, BASE) else way.found == ways[BASE].found,
            "times_cheaper": 1 / found.median,
            "seconds": statistics.median(times[name]),
            "memory_mib": round(peak / 2**20, 1) if peak else None,
            "rounds": found.rounds,
            "batch": config.batch,
            "horizon": config.horizon,
            "steps": sum(map(len, way.found)),
            "threads": config.threads,
            "seed": config.seed,
            "small": config.small,
            "note": "the denominator" if name == BASE else "",
        }


def _nothing() -> None:
    pass


def _peaks(size: str, config: Config, announce: Announce) -> dict[str, int]:
    """Return the peak level of each method that holds a data set and takes a step on a batch of it."""
    found: dict[str, int] = {}
    for method in (BASE, "mechlearn", BYTES):
        announce(f"memory of {method}, {size}")
        arguments = {
            "size": size,
            "method": method,
            **{name: getattr(config, name) for name in ("batch", "horizon", "dataset", "threads", "seed", "small")},
        }
        try:
            found[method] = in_fresh_process("skips", arguments)
        except LabError as error:
            announce(str(error))
    return found


def probe(size: str, method: str, batch: int, horizon: int, dataset: int, threads: int, seed: int, small: bool) -> int:
    """Return the peak level of a process with a data set and one step, in bytes; what a fresh process calls."""
    torch.set_num_threads(threads)

    def prepare(chosen: Size, count: int) -> tuple[Step, Step]:
        stored = world(chosen, count, seed)
        data = stored if method == BYTES else with_floats(stored)
        del stored
        step = one_step(method, chosen, data[:batch], horizon, seed)

        def step_beside_data(data: object = data) -> None:  # the data set is in memory with the step
            step()

        return step_beside_data, _nothing

    wanted = SIZES[size]._replace(time=SMALL) if small else SIZES[size]
    rehearsal = prepare(wanted._replace(time=3), 2)[0]
    return peak_level(rehearsal, lambda: prepare(wanted, dataset), 1)

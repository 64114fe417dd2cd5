"""Interleaved timing: every round times every step once, in a new order, so that a slow minute of the machine hits them all.

A ratio is formed within a round. Medians and ranges are over rounds.
"""

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

import torch
from torch import Generator

Step = Callable[[], object]
"""What is timed; its result is nobody's business here."""


class Ratio(NamedTuple):
    """A ratio's median over rounds, its smallest and its largest value, and the number of rounds."""

    median: float
    low: float
    high: float
    rounds: int


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Compute with so many threads inside the block, and with as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


Clock = Literal["wall", "cpu"]
"""Elapsed time, or the processor time of this process, from which what other processes take is left out."""


def read(clock: Clock) -> float:
    """Return what a clock shows, in seconds."""
    return time.process_time() if clock == "cpu" else time.perf_counter()


def seconds(step: Step, clean: Step, clock: Clock = "wall") -> float:
    """Time one call of a step, then clean up outside the clock."""
    start = read(clock)
    step()
    passed = read(clock) - start
    clean()
    return passed


def turn(step: Step, clean: Step, least: float, clock: Clock = "wall") -> float:
    """Time one turn: the median of a step's times over at least `least` seconds, or the one time of a longer step.

    A short step is called once before the clock starts, as the step before it has left caches and memory in a state of its own.
    """
    first = seconds(step, clean, clock)
    if first >= least:
        return first
    times: list[float] = []
    while sum(times) < least:
        times.append(seconds(step, clean, clock))
    return statistics.median(times)


def interleaved(
    steps: Mapping[str, Step],
    clean: Mapping[str, Step],
    rounds: Mapping[str, int],
    least: float,
    generator: Generator,
    clock: Clock = "wall",
) -> dict[str, list[float]]:
    """Time steps round-robin, each round in a new random order.

    Args:
        steps: what to time, by name.
        clean: what to do after each call of a step, outside the clock.
        rounds: in how many rounds each step takes part, from the first on.
        least: seconds of a turn, see `turn`.
        generator: of the orders.
        clock: what to time with.

    Returns:
        The seconds of each step in the rounds that it took part in.
    """
    names = list(steps)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(max(rounds.values())):
        for index in torch.randperm(len(names), generator=generator).tolist():
            name = names[index]
            if number < rounds[name]:
                times[name].append(turn(steps[name], clean[name], least, clock))
    return times


def ratio(times: list[float], base: list[float]) -> Ratio:
    """Return the ratio of two steps' seconds, formed round by round; the base takes part in every round.

    >>> ratio([2.0, 30.0], [1.0, 10.0, 10.0])
    Ratio(median=2.5, low=2.0, high=3.0, rounds=2)
    """
    ratios = [ours / theirs for ours, theirs in zip(times, base, strict=False)]  # a slow step sits out the last rounds
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), len(ratios))

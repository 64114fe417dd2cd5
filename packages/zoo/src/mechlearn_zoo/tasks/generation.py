"""Drawing many trajectories in parallel, the same ones whatever the number of processes.

Every trajectory has a seed of its own, the i-th child of the data set's seed, and is drawn until one is accepted. Which
process draws it therefore changes nothing.
"""

import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from mechlearn.arguments import check_seed, check_whole

T = TypeVar("T")

OnProgress = Callable[[int, int], None]
"""Told after every trajectory: how many are done, of how many."""


class Rejected(NamedTuple):
    """A draw that may not be used, with the reason in a few words ("timed out")."""

    reason: str


@dataclass(frozen=True)
class Drawn(Generic[T]):
    """What was accepted, in order, and how often a draw was rejected for which reason."""

    items: list[T]
    rejections: Mapping[str, int]


def draw_many(
    sample: Callable[[np.random.Generator], T | Rejected],
    count: int,
    seed: int,
    *,
    max_rejections: int = 200,
    processes: int | None = 1,
    on_progress: OnProgress | None = None,
) -> Drawn[T]:
    """Draw a number of accepted samples.

    Args:
        sample: draws one from a generator, or says why it may not be used; picklable if there is more than one process.
        count: how many to draw.
        seed: of the whole; each sample is drawn with a child of its own.
        max_rejections: how often in a row a sample may be rejected before that is an error.
        processes: how many draw at once; one a processor core if None.
        on_progress: told after every sample.

    Raises:
        TypeError: numbers that are not whole.
        ValueError: count, processes or max_rejections below 1, or a seed below 0.
        RuntimeError: a sample was rejected more than max_rejections times; a process that draws ended.
    """
    wanted = _cores() if processes is None else processes
    for name, value in {"count": count, "processes": wanted, "max_rejections": max_rejections}.items():
        check_whole(name, value, 1)
    check_seed(seed)
    workers = min(wanted, count)
    children = np.random.SeedSequence(seed).spawn(count)
    task = partial(_accepted, sample, max_rejections=max_rejections)
    items: list[T] = []
    rejections: Counter[str] = Counter()
    for item, reasons in _map(task, children, workers):
        items.append(item)
        rejections.update(reasons)
        if on_progress is not None:
            on_progress(len(items), count)
    return Drawn(items, dict(rejections))


def progress_bar(title: str) -> OnProgress:
    """Return a callback that keeps one line of the error stream up to date: title, bar, count."""

    def show(done: int, total: int) -> None:
        if done * 100 // total != (done - 1) * 100 // total:
            filled = "#" * (done * 30 // total)
            end = "\n" if done == total else ""
            sys.stderr.write(f"\r{title} [{filled:<30}] {done}/{total}{end}")
            sys.stderr.flush()

    return show


def _accepted(
    sample: Callable[[np.random.Generator], T | Rejected], child: np.random.SeedSequence, max_rejections: int
) -> tuple[T, Counter[str]]:
    generator = np.random.default_rng(child)
    reasons: Counter[str] = Counter()
    while True:
        drawn = sample(generator)
        if not isinstance(drawn, Rejected):
            return drawn, reasons
        reasons[drawn.reason] += 1
        if reasons.total() > max_rejections:
            found = ", ".join(f"{reason} ({number})" for reason, number in reasons.most_common())
            raise RuntimeError(
                f"A trajectory should be accepted within {max_rejections} rejections. Found {found}. "
                "Change the settings so that fewer are rejected, or raise `max_rejections`."
            )


def _map(
    task: Callable[[np.random.SeedSequence], tuple[T, Counter[str]]], children: list[np.random.SeedSequence], workers: int
) -> Iterator[tuple[T, Counter[str]]]:
    if workers == 1:
        yield from map(task, children)
        return
    # Spawned, not forked: a fork of a process with running threads (torch's) may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        try:
            yield from pool.map(task, children, chunksize=max(1, len(children) // (8 * workers)))
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"The {workers} processes that draw should go on to their end. Found one that ended. In a script the call "
                'should be below `if __name__ == "__main__":`; else what it wrote says more, or memory ran out.'
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

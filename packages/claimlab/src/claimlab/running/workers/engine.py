"""Where seeds and trials are computed: what a worker is to its parent, and how many there are at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from claimlab.running.workers.stopping import stop_if_asked
from claimlab.running.workers.worker import Event, Job

LOOK = 0.5
"""Seconds between two looks for a signal whose exception was lost."""

Main = Callable[[Job, Connection], None]
"""What a worker does with its job; every worker can import it."""


class Worker(Protocol):
    """A process that does a job, here or on another machine, as its parent sees it.

    Its connection is ready when it has something to say: `next_event`, which of one that died without a word is what is to be
    said of it. `kill` ends it at once, and the rows that it has written are whole. `end` waits for its end, not for ever.
    """

    @property
    def job(self) -> Job: ...  # noqa: D102
    @property
    def connection(self) -> Any: ...  # noqa: ANN401, D102  # what `multiprocessing.connection.wait` takes
    def next_event(self) -> Event: ...  # noqa: D102
    def kill(self) -> None: ...  # noqa: D102
    def end(self) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class Engine:
    """Where work is done.

    Args:
        start: starts a worker for a job.
        width: how many workers at once.
    """

    start: Callable[[Job, Main], Worker]
    width: int

    def at_once(self, jobs: int | None) -> Engine:
        """Return the same with so many workers at once; with its own number if None."""
        return self if jobs is None else replace(self, width=jobs)


W = TypeVar("W", bound=Worker)


def ready(running: Sequence[W], end: float | None = None) -> list[W]:
    """Return the workers that have something to say, as soon as one has; none where time is up."""
    found = list[object]()
    while not found and (end is None or time.monotonic() <= end):
        stop_if_asked()
        seconds = LOOK if end is None else min(LOOK, max(0.0, end - time.monotonic()))
        found = list(wait([worker.connection for worker in running], seconds))
    return [worker for worker in running if worker.connection in found]

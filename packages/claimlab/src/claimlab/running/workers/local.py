"""Seeds and trials in processes of their own: how they are started, listened to and ended, and how many there are at once.

A worker ends when its parent does, and its parent alone answers for signals.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol, TypeVar

from claimlab.errors import LabError
from claimlab.running.provenance.machine import cores
from claimlab.running.provenance.made import Made
from claimlab.running.workers.descendants import descendants, kill
from claimlab.running.workers.stopping import deaf, stop_if_asked
from claimlab.running.workers.worker import Event, Job, OnEvent, work

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""The environment of every worker: numbers must not depend on how many share a machine."""

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
    """Where work is done: what starts a worker for a job, and how many there are at once."""

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


def run_jobs(
    jobs: Sequence[Job], engine: Engine, on_event: OnEvent, limit: float | None = None
) -> Generator[tuple[Job, Made], None, None]:
    """Run each job in a process of its own, as many at once as there is room for; yield each when its partial file is whole.

    When one fails, those that run come to their end and no further one starts. Nor does one that still waits when time is up,
    and those that were kept as far as they are yield nothing. After `limit` seconds whatever still runs is ended; its partial
    file stays as far as it has come.
    """
    waiting, running, failures = deque(jobs), list[Worker](), list[Event]()
    end = None if limit is None else time.monotonic() + limit
    try:
        while (waiting and not failures) or running:
            while waiting and not failures and len(running) < engine.width:
                running.append(engine.start(waiting.popleft(), work))
                on_event(Event("started", running[-1].job.seed))
            for worker in ready(running, end):
                event = worker.next_event()
                on_event(event)
                if event.kind in ("advanced", "again", "notice"):
                    continue
                running.remove(worker)
                worker.end()
                if event.made is not None:
                    yield worker.job, event.made
                elif event.kind != "kept":
                    failures.append(event)
            if end is not None and time.monotonic() > end:
                return
            waiting = deque(job for job in waiting if not job.late)
    finally:
        for worker in running:
            worker.kill()
        for worker in running:
            worker.end()
    if failures:
        raise LabError(failures[0].text, failures[0].detail)


@dataclass(frozen=True)
class Child:
    """A process of this machine that does a job, and the end of the pipe that it speaks into."""

    job: Job
    process: BaseProcess
    connection: Connection

    def next_event(self) -> Event:
        """Return what it says next; what is to be said of it where it died without a word."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):  # the worker's end closed without a last word
            self.process.join()
            return Event("failed", self.job.seed, text=_obituary(self.job, self.process.exitcode))

    def kill(self) -> None:
        """End it with all that it has started: it hears nothing else, and what it has written is whole."""
        started = [] if self.process.pid is None else descendants(self.process.pid)
        self.process.kill()
        kill(started)

    def end(self) -> None:
        """Wait for its end, not for ever, and let go of it."""
        self.process.join(timeout=10)
        if self.process.is_alive():  # a thread or a C call that does not end: its rows are written all the same
            self.kill()
            self.process.join()
        self.connection.close()


def _obituary(job: Job, status: int | None) -> str:
    who = f"A worker should end with a result. Found that {job.experiment} with seed {job.seed}"
    if status is not None and status < 0:
        name = signal.Signals(-status).name
        hint = "Memory may have run out: try --jobs 1" if name == "SIGKILL" else "Run it again with --jobs 1"
        return f"{who} was ended by {name}. {hint}."
    return f"{who} left with exit status {status}. Let `run` raise an error instead."


def here(seeds: int = 0) -> Engine:
    """Return this machine: a process per core, or as many as end so many seeds soonest."""
    return Engine(start, width_for(seeds, cores()))


def width_for(seeds: int, room: int) -> int:
    """Return how many processes end seeds of equal length soonest: one a core, or up to half as many more.

    Three seeds on two cores take twice one's time two at a time, for a core is idle in the end, and one and a half times three
    at a time. More than that many processes would cost memory for less.
    """

    def time_taken(processes: int) -> float:
        rounds, left = divmod(seeds, processes)
        return rounds * processes / room + (max(1.0, left / room) if left else 0.0)

    return min(range(room, room + room // 2 + 1), key=lambda processes: (time_taken(processes), processes))


def start(job: Job, main: Main = work) -> Child:
    """Start a process for a job."""
    context = multiprocessing.get_context("spawn")  # forking a process that has torch's threads can hang
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=main, args=(job, sender), name=f"{job.experiment} seed {job.seed}")
    try:
        with _worker_environment(), deaf():
            process.start()
    except BaseException:  # a signal that came meanwhile; Python's own end would wait for a child that nobody ends
        if process.pid is not None:
            process.kill()
            process.join()
        raise
    sender.close()  # so that the worker's death closes the pipe's last sending end
    return Child(job, process, receiver)  # pyright: ignore[reportArgumentType] # the stubs' union holds Windows' too


@contextlib.contextmanager
def _worker_environment() -> Generator[None, None, None]:
    """Give a child started in here one thread in every library: they read these when they are imported, once."""
    previous = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in previous.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})

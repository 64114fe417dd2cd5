"""Seeds in processes of their own: what a worker does, and how its parent listens.

A worker writes its rows to a partial file and tells its parent how far it is. It computes with one thread, so that
numbers do not depend on how many workers share the machine, and it ends when its parent does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

from craik.lab.errors import LabError
from craik.lab.experiment import load
from craik.lab.running.provenance.made import Made, made_here
from craik.lab.running.provenance.source_tree import Code, source_digest
from craik.lab.running.rowfiles import complete_row, encode


@dataclass(frozen=True)
class Event:
    """Something that happened in a run, for whoever shows its progress.

    Args:
        kind: a seed was "reused", "started", "advanced", "finished" or "failed", or there is a "notice" to read.
        seed: which seed, None for a notice.
        fraction: the share of the seed's work that is done, None where the experiment does not tell.
        text: where the seed is, or the sentence of a failure or notice.
        rows: rows recorded so far.
        seconds: since the seed started.
        detail: the traceback of a failure.
        made: where a finished seed's rows come from.
    """

    kind: Literal["reused", "started", "advanced", "finished", "failed", "notice"]
    seed: int | None = None
    fraction: float | int | None = None
    text: str = ""
    rows: int = 0
    seconds: float = 0.0
    detail: str = ""
    made: Made | None = None


OnEvent = Callable[[Event], None]
"""Whoever is told of what happens."""


@dataclass(frozen=True)
class Job:
    """One seed's work: which experiment of which package, with which field values, written to which partial file.

    `source` is the digest of the source tree that the rows will be recorded under.
    """

    experiment: str
    package: str
    values: dict[str, Any]
    seed: int
    partial: Path
    source: str


def run_jobs(
    jobs: Sequence[Job], processes: int, on_event: OnEvent, limit: float | None = None
) -> Generator[tuple[Job, Made], None, None]:
    """Runs each job in a process of its own, at most `processes` at once, and yields each when its partial file is whole.

    When one fails, those that run come to their end and no further one starts.

    Args:
        jobs: what is to be done.
        processes: at most so many at once.
        on_event: told of everything that happens.
        limit: seconds after which whatever still runs is ended; its partial file stays as far as it has come.

    Raises:
        LabError: a job raised an error or its process died; raised after the others have ended.
    """
    waiting, running, failures = deque(jobs), list[_Running](), list[Event]()
    end = None if limit is None else time.monotonic() + limit
    try:
        while (waiting and not failures) or running:
            while waiting and not failures and len(running) < processes:
                running.append(_start(waiting.popleft()))
                on_event(Event("started", running[-1].job.seed))
            for worker, event in _heard(running, end):
                on_event(event)
                if event.kind == "advanced":
                    continue
                running.remove(worker)
                worker.end()
                if event.made is None:
                    failures.append(event)
                else:
                    yield worker.job, event.made
            if end is not None and time.monotonic() > end:
                return
    finally:
        for worker in running:
            worker.process.terminate()
        for worker in running:
            worker.end()
    if failures:
        raise LabError(failures[0].text, failures[0].detail)


def _heard(running: Sequence[_Running], end: float | None) -> Iterator[tuple[_Running, Event]]:
    """What the workers say next, one event of each that has something to say; nothing where time is up."""
    left = None if end is None else max(0.0, end - time.monotonic())
    ready = wait([worker.connection for worker in running], left)
    for worker in [worker for worker in running if worker.connection in ready]:
        yield worker, worker.next_event()


@dataclass(frozen=True)
class _Running:
    job: Job
    process: BaseProcess
    connection: Connection

    def next_event(self) -> Event:
        try:
            return self.connection.recv()
        except (EOFError, OSError):  # the worker's end closed without a last word
            self.process.join()
            return Event("failed", self.job.seed, text=_obituary(self.job, self.process.exitcode))

    def end(self) -> None:
        self.process.join(timeout=10)
        if self.process.is_alive():  # a thread or a C call that does not end: its rows are written all the same
            self.process.kill()
            self.process.join()
        self.connection.close()


def _obituary(job: Job, status: int | None) -> str:
    who = f"a worker must end with a result, but {job.experiment} with seed {job.seed}"
    if status is not None and status < 0:
        name = signal.Signals(-status).name
        hint = "memory may have run out: try --jobs 1" if name == "SIGKILL" else "run it again with --jobs 1"
        return f"{who} was ended by {name}; {hint}"
    return f"{who} left with exit status {status}; let run raise an error instead of leaving"


def _start(job: Job) -> _Running:
    context = multiprocessing.get_context("spawn")  # forking a process that has torch's threads can hang
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, sender), name=f"{job.experiment} seed {job.seed}")
    with _worker_environment(), _deaf_to_interrupts():
        process.start()
    sender.close()  # so that the worker's death closes the pipe's last sending end
    return _Running(job, process, receiver)  # pyright: ignore[reportArgumentType] # the stubs' union holds Windows' too


@contextlib.contextmanager
def _deaf_to_interrupts() -> Generator[None, None, None]:
    """A child started in here is deaf to Ctrl-C from its first instruction on: its parent alone answers for it.

    The parent itself hears a Ctrl-C that comes meanwhile when the child has all it needs, not halfway through: a child
    that waits for the rest of its instructions would end with a traceback of its own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    # Two guards. The mask is what the child inherits, but in the parent another thread may still take the signal, and
    # Python then runs the handler in this one: so the handler itself must wait as well.
    handler = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
        if heard:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _worker_environment() -> Generator[None, None, None]:
    """A child started in here has one thread in every library: they read these when they are imported, once."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    previous = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in previous.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _work(job: Job, connection: Connection) -> None:
    """The worker's main function."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)  # stdout belongs to the parent's verdicts or JSON
    try:
        connection.send(_record(job, connection))
    except BrokenPipeError:
        os._exit(1)  # the parent is gone
    except LabError as error:
        connection.send(_failure(job, str(error)))
    except Exception as error:
        last = traceback.format_exception_only(error)[-1].strip()
        connection.send(_failure(job, f"run must not raise, but found {last}; --traceback shows where"))


def _failure(job: Job, sentence: str) -> Event:
    return Event("failed", job.seed, text=f"{job.experiment}, seed {job.seed}: {sentence}", detail=traceback.format_exc())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _record(job: Job, connection: Connection) -> Event:
    experiment = load(job.experiment, job.package)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    if source_digest(job.package) != job.source:
        raise LabError("the source must stay as it is while a run goes on, but it was edited; run the command again")
    config = experiment.config(**job.values)
    count, seconds, start = 0, 0.0, time.perf_counter()
    with job.partial.open("w", encoding="utf-8") as file:
        for row in experiment.run(config):
            seconds = time.perf_counter() - start
            completed = complete_row(row, job.seed, seconds)
            file.write(encode(completed))
            file.flush()
            count += 1
            fraction, text = experiment.progress(config, completed) if experiment.progress else (None, f"{count} rows")
            connection.send(Event("advanced", job.seed, fraction, text, count, seconds))
    if not count:
        raise LabError("run must yield at least one row, but found none; without rows there is nothing to judge")
    made = made_here([job.seed], job.package, Code(None, False, job.source))  # the parent knows the commit
    return Event("finished", job.seed, 1.0, "", count, seconds, made=made)

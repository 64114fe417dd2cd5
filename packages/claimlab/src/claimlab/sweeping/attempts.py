"""Trials in processes of their own: each is watched row by row, and ended where it is not to go on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from claimlab.decoding import parse_object
from claimlab.errors import LabError
from claimlab.rows import Row
from claimlab.running.storage import Tail
from claimlab.running.workers.local import Engine, Worker, ready
from claimlab.running.workers.worker import Event, Job, work
from claimlab.sweeping.plan import single

T = TypeVar("T")


@dataclass
class Attempt(Generic[T]):
    """One training under way, or at its end."""

    what: T
    job: Job
    rows: list[Row] = field(default_factory=list[Row])
    state: Literal["running", "complete", "pruned", "failed"] = "running"
    why: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin at the first row, as does another worker where one died."""
        self.rows, self._tail = [], Tail(self.job.partial)

    def catch_up(self) -> bool:
        """Read the rows that its worker has written since; whether there were any."""
        new = self._tail.new()
        self.rows += [parse_object(line) for line in new.decode().splitlines()]
        return bool(new)


def attempts(
    waiting: Iterator[tuple[T, Job]],
    engine: Engine,
    preset: str,
    goes_on: Callable[[Attempt[T]], bool],
    said: Callable[[str], None],
) -> Generator[Attempt[T], None, None]:
    """Try one after the other, as many at once as the engine has room for, and yield each at its end.

    The next one is asked for when a process is free, after the last one's end was heard of.
    """
    running: list[tuple[Worker, Attempt[T]]] = []
    main, left = functools.partial(work, seen=functools.partial(single, preset=preset)), True
    try:
        while True:
            while left and len(running) < engine.width:
                found = next(waiting, None)
                left = found is not None
                if found is not None:
                    found[1].partial.unlink(missing_ok=True)
                    running.append((engine.start(found[1], main), Attempt(*found)))
            if not running:
                return
            speaking = ready([worker for worker, _ in running])
            for worker, attempt in [one for one in running if one[0] in speaking]:
                event = worker.next_event()
                if event.kind in ("again", "notice"):
                    said(event.text)
                    if event.kind == "again":
                        attempt.begin()
                    continue
                _move(attempt, event, goes_on)
                if attempt.state == "running":
                    continue
                running.remove((worker, attempt))
                if attempt.state == "pruned":
                    worker.kill()
                worker.end()
                attempt.job.partial.unlink(missing_ok=True)
                yield attempt
    finally:
        for worker, _ in running:  # all of them before the first is waited for
            worker.kill()
        for worker, attempt in running:
            worker.end()
            attempt.job.partial.unlink(missing_ok=True)


def _move(attempt: Attempt[T], event: Event, goes_on: Callable[[Attempt[T]], bool]) -> None:
    """Change an attempt as an event says."""
    attempt.seconds = event.seconds or attempt.seconds
    if event.kind == "failed" and not event.raised:
        raise LabError(event.text, event.detail)
    if event.kind == "failed":
        attempt.state, attempt.why = "failed", event.text
        return
    more = attempt.catch_up()
    if event.kind == "finished":
        attempt.state = "complete"
    elif more and not goes_on(attempt):
        attempt.state = "pruned"

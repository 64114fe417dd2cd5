"""The tasks of a command on a cluster: how they are started, listened to and ended."""

from __future__ import annotations

import contextlib
import threading
import uuid
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from typing import Any, cast

from claimlab.running.workers.clusters.messages import Letter, work_there
from claimlab.running.workers.engine import Main
from claimlab.running.workers.worker import Event, Job

RETRIES = 3
"""How often a task is begun again whose worker or machine died."""


class Tasks:
    """The tasks of a command, and a thread that hands each worker's letters to whoever waits for them.

    Args:
        ray: the module.
        office: the actor that keeps letters.
        wish: what a task is to have, in Ray's words.
    """

    def __init__(self, ray: Any, office: Any, wish: dict[str, float]) -> None:  # noqa: ANN401
        self._ray, self._office = ray, office
        # A worker ends with its task, so that each seed has a process of its own.
        self._work = ray.remote(max_calls=1)(work_there)
        self._wish = {**wish, "max_retries": RETRIES, "retry_exceptions": False}
        self._open, self._ending = dict[str, Remote](), list[Any]()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._deliver, daemon=True)
        self._thread.start()

    def start(self, job: Job, main: Main) -> Remote:
        """Hand a job to the cluster; it waits there until there is room."""
        key = uuid.uuid4().hex
        job.partial.touch()  # a machine that sees it shares the folder
        work = self._work.options(name=f"{job.experiment} seed {job.seed}", **self._wish)
        task = work.remote(job, main, self._office, key)
        receiver, sender = Pipe(duplex=False)
        worker = Remote(job, receiver, sender, task, self)
        with self._lock:
            self._open[key] = worker
        return worker

    def leave(self, worker: Remote, kill: bool) -> None:
        """Hand it no more letters; end it, if that is asked for."""
        with self._lock:
            self._open = {key: one for key, one in self._open.items() if one is not worker}
        if kill:
            self._ray.cancel(worker.task, force=True)
        else:
            self._ending.append(worker.task)

    def _deliver(self) -> None:
        while not self._closed.is_set():
            try:
                self._deliver_once()
            except Exception as error:  # the cluster is gone: nothing will come any more
                self._fail_all(f"The cluster should stay while a run goes on. Found {_first_line(error)}")
                return

    def _deliver_once(self) -> None:
        tasks = {worker.task: key for key, worker in list(self._open.items())}
        ended = self._ray.wait(list(tasks), num_returns=len(tasks), timeout=0)[0] if tasks else []
        for letter in self._ray.get(self._office.take.remote(0.5)):
            self._send(letter.key, letter)
        for task in ended:  # its last letters are delivered: asked before they were taken
            try:
                self._ray.get(task)
            except Exception as error:
                self._send(tasks[task], f"its task failed: {_first_line(error)}")

    def _send(self, key: str, said: Letter | str) -> None:
        worker = self._open.get(key)
        if worker is not None:  # no lock is held: who listens may be busy, and the pipe full
            with contextlib.suppress(OSError):  # its parent has let go of it
                worker.sender.send(said)

    def _fail_all(self, sentence: str) -> None:
        for key in list(self._open):
            self._send(key, sentence)

    def close(self) -> None:
        """Let workers that have said their last word tidy up."""
        self._closed.set()
        self._thread.join(timeout=10)
        if self._ending:
            with contextlib.suppress(Exception):  # a cluster that is gone has said so
                self._ray.wait(self._ending, num_returns=len(self._ending), timeout=5)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'it says no more'}"


@dataclass(eq=False)
class Remote:
    """A worker on a cluster, as its parent sees it.

    Args:
        job: what it does.
        connection: where what it says comes in.
        sender: the other end of that; it is closed with the last that holds it, which may be the thread that delivers.
        task: Ray's.
        tasks: whose it is one of.
    """

    job: Job
    connection: Any
    sender: Any
    task: Any
    tasks: Tasks
    _attempt: str = ""

    def next_event(self) -> Event:
        """Return what it says next, when its rows are in the job's partial file."""
        said = cast("Letter | str", self.connection.recv())
        if isinstance(said, str):
            found = f"{self.job.experiment} with seed {self.job.seed}: {said}"
            return Event("failed", self.job.seed, text=f"A worker should end with a result. Found {found}")
        if said.event.kind == "started":
            return self._begun(said)
        if said.attempt != self._attempt:  # the last words of one that died
            return Event("advanced", self.job.seed, 0.0, "begins again")
        if said.lines:
            with self.job.partial.open("ab") as file:
                file.write(said.lines)
        return said.event

    def _begun(self, said: Letter) -> Event:
        first, self._attempt = not self._attempt, said.attempt
        self.job.partial.write_bytes(b"")
        if first:
            return replace(said.event, kind="advanced")
        text = f"{self.job.experiment} seed {self.job.seed}: its worker died, and another one {said.event.text}"
        return Event("again", self.job.seed, 0.0, text)

    def kill(self) -> None:
        """End it at once."""
        self.tasks.leave(self, kill=True)

    def end(self) -> None:
        """Let go of it."""
        self.tasks.leave(self, kill=False)
        self.connection.close()

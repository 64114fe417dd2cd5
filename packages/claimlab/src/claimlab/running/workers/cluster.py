"""Seeds and trials on a Ray cluster: each is a task with its wish for cores and GPUs, begun again where its worker died.

A run's folder, and whatever reads it, knows nothing of clusters: the command writes what comes in as if its own processes
had written it. What a worker says comes by a post office, an actor beside the command, in letters that hold events and the rows
that came with them. A seed that is begun again goes on from its checkpoint where the new worker finds it: on the same machine,
or where the machines share the folder of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Generator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, cast

from claimlab.errors import LabError, UsageError
from claimlab.running.checkpoints.files import files_of
from claimlab.running.provenance.source_tree import source_digest
from claimlab.running.storage import Tail
from claimlab.running.workers.local import ONE_THREAD, Engine, Main
from claimlab.running.workers.stopping import STOPS
from claimlab.running.workers.worker import Event, Job


@dataclass(frozen=True)
class Letter:
    """What a worker says: to whom, which of the tries it is, and the lines that its partial file has got since."""

    key: str
    attempt: str
    event: Event
    lines: bytes = b""


class PostOffice:
    """Keeps letters until they are taken: an actor of Ray."""

    def __init__(self) -> None:
        self._letters, self._news = list[Letter](), asyncio.Event()

    async def put(self, letter: Letter) -> None:
        """Adds one."""
        self._letters.append(letter)
        self._news.set()

    async def take(self, seconds: float) -> list[Letter]:
        """All there are, as soon as there is one; none after so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)
        self._news.clear()
        letters, self._letters = self._letters, []
        return letters


def work_there(job: Job, main: Main, office: Any, key: str) -> None:  # noqa: ANN401  # an actor's handle
    """Do a job on a machine of the cluster, as a task, and post what its worker says."""
    with tempfile.TemporaryDirectory(prefix="claimlab-") as folder:
        shared = job.partial.exists()
        mine = replace(job, partial=Path(folder, job.partial.name), checkpoint=_checkpoint(job.checkpoint, shared))
        post = Post(office, key, mine.partial)
        post.send(Event("started", job.seed, 0.0, f"runs on {socket.gethostname()}, process {os.getpid()}"))
        if strange := _strange_source(job):
            post.send(Event("failed", job.seed, text=f"{job.experiment}, seed {job.seed}: {strange}"))
            return
        main(mine, cast("Any", post))
        if not shared and mine.checkpoint is not None and post.last != "kept":
            for path in files_of(mine.checkpoint):
                path.unlink(missing_ok=True)


def _strange_source(job: Job) -> str:
    """Return what is wrong with this machine's source, if anything is."""
    top = job.package.partition(".")[0]
    found = "none" if find_spec(top) is None else "another" if source_digest(job.package, job.experiment) != job.source else ""
    rule = "Every machine of a cluster should have the source that the command has"
    return f"{rule}. Found {found} of {top} on {socket.gethostname()}. Install it there." if found else ""


def _checkpoint(path: Path | None, shared: bool) -> Path | None:
    """Return where a seed's state is kept here: in the run's folder if that is shared, else where a next try finds it."""
    if path is None or shared:
        return path
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    place = Path(tempfile.gettempdir(), f"claimlab-checkpoints-{os.getuid()}", name)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place / path.name


class Post:
    """A worker's connection to its parent, by way of the office; new lines of its file go along. `last` is the last kind."""

    def __init__(self, office: Any, key: str, partial: Path) -> None:  # noqa: ANN401
        self._office, self._key, self._tail, self._attempt = office, key, Tail(partial), uuid.uuid4().hex
        self.last = ""

    def send(self, event: Event) -> None:
        """Post an event and wait until it has arrived, so that none is lost with its worker."""
        import ray  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        self.last = event.kind
        try:
            ray.get(self._office.put.remote(Letter(self._key, self._attempt, event, self._tail.new())))
        except ray.exceptions.RayError as error:
            raise BrokenPipeError("the command is gone") from error


@dataclass(frozen=True)
class Wish:
    """What a seed or trial is to have of a cluster: cores, and GPUs, of which a fraction shares one.

    The address is HOST:PORT of the cluster's head; the environment's RAY_ADDRESS, or this machine's cluster, if empty.
    """

    address: str = ""
    cpus: float | int = 1.0
    gpus: float | int = 0.0

    def __post_init__(self) -> None:
        if not (self.cpus >= 0 and self.gpus >= 0 and self.cpus + self.gpus > 0):
            found = f"Found --cpus {self.cpus:g} --gpus {self.gpus:g}"
            raise UsageError(f"A seed should have a share of a core or of a GPU. {found}. Leave them out for one core.")


@contextlib.contextmanager
def cluster(wish: Wish) -> Generator[Engine, None, None]:
    """Compute seeds and trials on a Ray cluster, as many at once as it has room for."""
    import ray  # noqa: PLC0415  # pyright: ignore[reportMissingImports] # of the extra `cluster`
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with contextlib.redirect_stdout(sys.stderr):  # Ray prints what happens to workers; stdout is for verdicts or JSON
        _connect(ray, wish.address)
        try:
            width = _room(ray, wish)
            beside = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            office = ray.remote(PostOffice).options(num_cpus=0, scheduling_strategy=beside).remote()
            with contextlib.closing(Tasks(ray, office, {"num_cpus": wish.cpus, "num_gpus": wish.gpus})) as tasks:
                yield Engine(tasks.start, width)
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:  # noqa: ANN401  # the module
    """Join the cluster and keep the signals' handlers, which Ray replaces."""
    wanted = address or os.environ.get("RAY_ADDRESS", "auto")
    way_out = "Start one with `ray start --head`, or name it: --on ray:HOST:PORT"
    host, _, port = wanted.rpartition(":")
    if wanted != "auto":
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except (OSError, ValueError, OverflowError) as error:
            raise LabError(f"--on ray should find a cluster. Found none at {wanted} ({error}). {way_out}.") from error
    ours = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in STOPS} if ours else {}
    try:
        ray.init(address=wanted, runtime_env={"env_vars": ONE_THREAD}, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        found = str(error).strip().partition("\n")[0]
        raise LabError(f"--on ray should find a cluster. Found none on this machine ({found}). {way_out}.") from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _room(ray: Any, wish: Wish) -> int:  # noqa: ANN401
    """Return how many tasks the cluster has room for at once."""
    nodes = [one["Resources"] for one in ray.nodes() if one["Alive"]]
    wanted = {name: float(value) for name, value in (("CPU", wish.cpus), ("GPU", wish.gpus)) if value}
    for name, option, words in (("GPU", "gpus", "GPUs"), ("CPU", "cpus", "cores")):
        most = max((one.get(name, 0.0) for one in nodes), default=0.0)
        if wanted.get(name, 0.0) > most:
            has = f"at most {most:g} {words} on a machine of the cluster" if most else f"no {words} in the cluster"
            raise UsageError(f"A seed should fit on one machine. Found --{option} {wanted[name]:g}, and {has}. Lower it.")
    room = sum(min(int(one.get(name, 0.0) / value + 1e-9) for name, value in wanted.items()) for one in nodes)
    if not room:
        found = f"--cpus {wish.cpus:g} --gpus {wish.gpus:g}"
        raise UsageError(f"A seed should fit on one machine. Found none in the cluster that has both of {found}. Lower one.")
    return room


RETRIES = 3
"""How often a task is begun again whose worker or machine died."""


class Tasks:
    """The tasks of a command, and a thread that hands each worker's letters to whoever waits for them."""

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
                for key in list(self._open):
                    self._send(key, f"The cluster should stay while a run goes on. Found {_first_line(error)}")
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
    """A worker on a cluster, as its parent sees it."""

    job: Job
    connection: Any
    sender: Any  # the last that holds it closes it, which may be the thread that delivers
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
            first, self._attempt = not self._attempt, said.attempt
            self.job.partial.write_bytes(b"")
            if first:
                return replace(said.event, kind="advanced")
            text = f"{self.job.experiment} seed {self.job.seed}: its worker died, and another one {said.event.text}"
            return Event("again", self.job.seed, 0.0, text)
        if said.attempt != self._attempt:  # the last words of one that died
            return Event("advanced", self.job.seed, 0.0, "begins again")
        if said.lines:
            with self.job.partial.open("ab") as file:
                file.write(said.lines)
        return said.event

    def kill(self) -> None:
        """End it at once."""
        self.tasks.leave(self, kill=True)

    def end(self) -> None:
        """Let go of it."""
        self.tasks.leave(self, kill=False)
        self.connection.close()

"""Seeds and trials on a Ray cluster: each is a task with its wish for cores and GPUs, begun again where its worker died.

What a worker says travels by a post office, an actor beside the command: events, and the rows that came with them, which the
command writes into the same partial files that its own processes would have written. So a run's folder, and whatever reads
it, knows nothing of clusters. A seed that is begun again goes on from its checkpoint where the new worker finds it: on the
same machine, or where the machines share the folder of the run.
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

from craik.lab.errors import LabError, UsageError
from craik.lab.running.provenance.source_tree import source_digest
from craik.lab.running.workers.engine import Engine, Main
from craik.lab.running.workers.stopping import STOPS
from craik.lab.running.workers.worker import Event, Job

RETRIES = 3
"""How often a task is begun again whose worker or machine died."""

THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""The environment of every worker: numbers must not depend on how many share a machine."""


@dataclass(frozen=True)
class Wish:
    """What a seed or trial is to have of a cluster.

    Args:
        address: HOST:PORT of the cluster's head; the environment's RAY_ADDRESS, or this machine's cluster, if empty.
        cpus: cores of each.
        gpus: of each; a fraction shares one.

    Raises:
        UsageError: no core and no GPU, or less than none of one.
    """

    address: str = ""
    cpus: float | int = 1.0
    gpus: float | int = 0.0

    def __post_init__(self) -> None:
        if not (self.cpus >= 0 and self.gpus >= 0 and self.cpus + self.gpus > 0):
            found = f"found --cpus {self.cpus:g} --gpus {self.gpus:g}"
            raise UsageError(f"a seed needs some of a core or of a GPU, but {found}; leave them out for one core")


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


@contextlib.contextmanager
def cluster(wish: Wish) -> Generator[Engine, None, None]:
    """Seeds and trials on a Ray cluster, as many at once as it has room for.

    Args:
        wish: what each is to have; where the cluster is.

    Raises:
        UsageError: no machine of the cluster has as much.
        LabError: there is no such cluster.
        ModuleNotFoundError: Ray is not installed.
    """
    import ray  # noqa: PLC0415  # pyright: ignore[reportMissingImports] # of the extra `cluster`
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with contextlib.redirect_stdout(sys.stderr):  # Ray prints what happens to workers; stdout is for verdicts or JSON
        _connect(ray, wish.address)
        try:
            width = _room(ray, wish)
            beside = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            office = ray.remote(PostOffice).options(num_cpus=0, scheduling_strategy=beside).remote()
            with contextlib.closing(_Tasks(ray, office, wish)) as tasks:
                yield Engine(tasks.start, width)
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:  # noqa: ANN401  # the module
    """Joins the cluster, and keeps the signals' handlers, which Ray replaces.

    Raises:
        LabError: there is none.
    """
    wanted = address or os.environ.get("RAY_ADDRESS", "auto")
    way_out = "start one with `ray start --head`, or name it: --on ray:HOST:PORT"
    host, _, port = wanted.rpartition(":")
    if wanted != "auto":
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except (OSError, ValueError, OverflowError) as error:
            raise LabError(f"--on ray needs a cluster, but found none at {wanted} ({error}); {way_out}") from error
    handlers = {number: signal.getsignal(number) for number in STOPS} if _in_main_thread() else {}
    try:
        ray.init(address=wanted, runtime_env={"env_vars": THREADS}, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        found = str(error).strip().partition("\n")[0]
        raise LabError(f"--on ray needs a cluster, but found none on this machine ({found}); {way_out}") from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _room(ray: Any, wish: Wish) -> int:  # noqa: ANN401
    """How many tasks the cluster has room for at once.

    Raises:
        UsageError: not for one.
    """
    nodes = [one["Resources"] for one in ray.nodes() if one["Alive"]]
    wanted = {name: float(value) for name, value in (("CPU", wish.cpus), ("GPU", wish.gpus)) if value}
    for name, option, words in (("GPU", "gpus", "GPUs"), ("CPU", "cpus", "cores")):
        most = max((one.get(name, 0.0) for one in nodes), default=0.0)
        if wanted.get(name, 0.0) > most:
            has = f"of {words} the most that one of this cluster has is {most:g}" if most else f"this cluster has no {words}"
            raise UsageError(f"a seed must fit on a machine, but {has}, and found --{option} {wanted[name]:g}; lower it")
    room = sum(min(int(one.get(name, 0.0) / value + 1e-9) for name, value in wanted.items()) for one in nodes)
    if not room:
        found = f"--cpus {wish.cpus:g} --gpus {wish.gpus:g}"
        raise UsageError(f"a seed must fit on a machine, but none of this cluster has both of {found}; lower one")
    return room


class _Tasks:
    """The tasks of a command, and a thread that hands each worker's letters to whoever waits for them."""

    def __init__(self, ray: Any, office: Any, wish: Wish) -> None:  # noqa: ANN401
        self._ray, self._office = ray, office
        # A worker ends with its task, so that each seed has a process of its own.
        self._work = ray.remote(max_calls=1)(work_there)
        self._wish = {"num_cpus": wish.cpus, "num_gpus": wish.gpus, "max_retries": RETRIES, "retry_exceptions": False}
        self._open, self._ending = dict[str, Remote](), list[Any]()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._deliver, daemon=True)
        self._thread.start()

    def start(self, job: Job, main: Main) -> Remote:
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
        """Hands it no more letters; ends it, if that is asked for."""
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
                self._fail_all(f"the cluster must stay while a run goes on, but {_first_line(error)}")
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
        """Lets workers that have said their last word tidy up."""
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
    """

    job: Job
    connection: Any
    sender: Any
    task: Any
    _tasks: Any
    _attempt: str = ""

    def next_event(self) -> Event:
        """What it says next, when its rows are in the job's partial file."""
        said = cast("Letter | str", self.connection.recv())
        if isinstance(said, str):
            who = f"a worker must end with a result, but of {self.job.experiment} with seed {self.job.seed}"
            return Event("failed", self.job.seed, text=f"{who} {said}")
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
        """Ends it at once."""
        self._tasks.leave(self, kill=True)

    def end(self) -> None:
        """Lets go of it."""
        self._tasks.leave(self, kill=False)
        self.connection.close()


def work_there(job: Job, main: Main, office: Any, key: str) -> None:  # noqa: ANN401  # an actor's handle
    """A task: does a job on a machine of the cluster, and posts what its worker says."""
    with tempfile.TemporaryDirectory(prefix="craik-") as folder:
        shared = job.partial.exists()
        mine = replace(job, partial=Path(folder, job.partial.name), checkpoint=_checkpoint(job.checkpoint, shared))
        post = Post(office, key, mine.partial)
        post.send(Event("started", job.seed, 0.0, f"runs on {socket.gethostname()}, process {os.getpid()}"))
        if strange := _strange_source(job):
            post.send(Event("failed", job.seed, text=f"{job.experiment}, seed {job.seed}: {strange}"))
            return
        main(mine, cast("Any", post))
        if not shared and mine.checkpoint is not None:
            for path in mine.checkpoint.parent.glob(f"{mine.checkpoint.name}*"):
                path.unlink()


def _strange_source(job: Job) -> str:
    """What is wrong with this machine's source, if anything is."""
    top = job.package.partition(".")[0]
    found = "none" if find_spec(top) is None else "another" if source_digest(job.package) != job.source else ""
    rule = "every machine of a cluster needs the source that the command has"
    return f"{rule}, but {socket.gethostname()} has {found} of {top}; install it there" if found else ""


def _checkpoint(path: Path | None, shared: bool) -> Path | None:
    """Where a seed's state is kept on this machine: in the run's folder if that is shared, else where a next try finds it."""
    if path is None or shared:
        return path
    place = Path(tempfile.gettempdir(), f"craik-checkpoints-{os.getuid()}", hashlib.sha256(str(path).encode()).hexdigest()[:16])
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place / path.name


class Post:
    """A worker's connection to its parent.

    Args:
        office: the actor that keeps letters.
        key: whose letters they are.
        partial: the worker's file, whose new lines go along.
    """

    def __init__(self, office: Any, key: str, partial: Path) -> None:  # noqa: ANN401
        self._office, self._key, self._partial = office, key, partial
        self._attempt, self._sent = uuid.uuid4().hex, 0

    def send(self, event: Event) -> None:
        """Posts an event and waits until it has arrived, so that none is lost with its worker.

        Raises:
            BrokenPipeError: nobody is there any more.
        """
        import ray  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        lines = b""
        with contextlib.suppress(FileNotFoundError), self._partial.open("rb") as file:
            file.seek(self._sent)
            lines = file.read()
            self._sent += len(lines)
        try:
            ray.get(self._office.put.remote(Letter(self._key, self._attempt, event, lines)))
        except ray.exceptions.RayError as error:
            raise BrokenPipeError("the command is gone") from error

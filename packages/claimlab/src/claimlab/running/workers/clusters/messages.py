"""What a worker on another machine says, and how it gets there: by a post office, an actor beside the command.

Letters hold events, and the rows that came with them. A seed that is begun again goes on from its checkpoint where the new
worker finds it: on the same machine, or where the machines share the folder of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
import tempfile
import uuid
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from claimlab.running.checkpoints.files import files_of
from claimlab.running.provenance.source_tree import source_digest
from claimlab.running.workers.local import Main
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
    """A worker's connection to its parent.

    Args:
        office: the actor that keeps letters.
        key: whose letters they are.
        partial: the worker's file, whose new lines go along.

    Attributes:
        last: the kind of what was posted last.
    """

    def __init__(self, office: Any, key: str, partial: Path) -> None:  # noqa: ANN401
        self._office, self._key, self._partial = office, key, partial
        self._attempt, self._sent = uuid.uuid4().hex, 0
        self.last = ""

    def send(self, event: Event) -> None:
        """Post an event and wait until it has arrived, so that none is lost with its worker."""
        import ray  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        lines, self.last = b"", event.kind
        with contextlib.suppress(FileNotFoundError), self._partial.open("rb") as file:
            file.seek(self._sent)
            lines = file.read()
            self._sent += len(lines)
        try:
            ray.get(self._office.put.remote(Letter(self._key, self._attempt, event, lines)))
        except ray.exceptions.RayError as error:
            raise BrokenPipeError("the command is gone") from error

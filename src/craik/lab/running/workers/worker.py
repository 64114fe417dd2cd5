"""One seed's work: a job, what its worker does, and the events by which its parent learns of it.

A worker writes its rows to a partial file. It computes with one thread, so that numbers do not depend on how many workers
share the machine.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from craik.lab.errors import LabError
from craik.lab.experiment import load
from craik.lab.running.provenance.made import Made, made_here
from craik.lab.running.provenance.source_tree import Code, source_digest
from craik.lab.running.rowfiles import complete_row, encode
from craik.lab.running.workers.stopping import hear_nothing


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


def work(job: Job, connection: Connection) -> None:
    """The worker's main function."""
    hear_nothing()
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

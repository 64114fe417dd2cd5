"""One seed's work: a job, what its worker does, and the events by which its parent learns of it.

A worker writes its rows to a partial file. It computes with one thread, so that numbers do not depend on how many workers
share the machine.
"""

from __future__ import annotations

import hashlib
import json
import math
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

from claimlab.errors import LabError, TimeIsUp
from claimlab.experiment import Experiment, load
from claimlab.rows import Row
from claimlab.running.checkpoints.files import Identity
from claimlab.running.checkpoints.loops import EVERY, Keeper, use
from claimlab.running.provenance.machine import Machine, machine
from claimlab.running.provenance.made import Made, made_here, versions
from claimlab.running.provenance.source_tree import Code, source_digest, sources
from claimlab.running.rowfiles import complete_row, encode
from claimlab.running.storage import words_of
from claimlab.running.workers.descendants import descendants, kill
from claimlab.running.workers.stopping import hear_nothing

RAISED = "run must not raise, but found"
"""What a failure says where the experiment's own code raised an error."""

LATE = "keeps nothing here, so it goes on though its time is up; Ctrl-C ends it"
"""What is said of a seed that has no state to stop with."""


_EDITED = "the source must stay as it is while a run goes on, but it was edited; run the command again"


@dataclass(frozen=True)
class Event:
    """Something that happened in a run, for whoever shows its progress.

    Args:
        kind: a seed was "reused", "started", "advanced", "finished" or "failed", it was "kept" as far as it is since time is
            up, its worker died and another began "again", from the first row on, or there is a "notice" to read.
        seed: which seed, None for a notice.
        fraction: the share of the seed's work that is done, None where the experiment does not tell.
        text: where the seed is, or the sentence of a failure or notice.
        rows: rows recorded so far.
        seconds: since the seed started.
        detail: the traceback of a failure.
        made: where a finished seed's rows come from.
        machine: where they are made, as the worker sees it; with its first row.
    """

    kind: Literal["reused", "started", "advanced", "again", "kept", "finished", "failed", "notice"]
    seed: int | None = None
    fraction: float | int | None = None
    text: str = ""
    rows: int = 0
    seconds: float = 0.0
    detail: str = ""
    made: Made | None = None
    machine: Machine | None = None

    @property
    def raised(self) -> bool:
        """Whether the experiment's own code failed, rather than the lab or the machine."""
        return self.kind == "failed" and RAISED in self.text


OnEvent = Callable[[Event], None]
"""Whoever is told of what happens."""


@dataclass(frozen=True)
class Job:
    """One seed's work: which experiment of which package, from which preset, with which field values, to which partial file.

    `source` is the digest of the source tree that the rows will be recorded under. `checkpoint` is where the seed's state is
    kept, every so many seconds; None keeps none. `until` is when it is kept for the last time, by `time.time`, so that machines
    whose clocks agree can share it.
    """

    experiment: str
    package: str
    preset: str
    values: dict[str, Any]
    seed: int
    partial: Path
    source: str
    checkpoint: Path | None = None
    every: float | int = EVERY
    until: float | int = math.inf

    @property
    def late(self) -> bool:
        """Whether its time is up."""
        return time.time() >= self.until


def work(
    job: Job, connection: Connection, seen: Callable[[Experiment[Any]], Experiment[Any]] = lambda experiment: experiment
) -> None:
    """Do a job: the worker's main function."""
    hear_nothing()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)  # stdout belongs to the parent's verdicts or JSON
    try:
        connection.send(_record(job, connection, seen))
    except BrokenPipeError:
        os._exit(1)  # the parent is gone
    except TimeIsUp:
        connection.send(Event("kept", job.seed, text="its state is kept"))
    except LabError as error:
        connection.send(_failure(job, str(error)))
    except OSError as error:
        connection.send(_failure(job, words_of(error, job.partial)))
    except Exception as error:
        last = traceback.format_exception_only(error)[-1].strip()
        connection.send(_failure(job, f"{RAISED} {last}; --traceback shows where"))


def _failure(job: Job, sentence: str) -> Event:
    return Event("failed", job.seed, text=f"{job.experiment}, seed {job.seed}: {sentence}", detail=traceback.format_exc())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        kill(descendants(os.getpid()))
        os._exit(1)


def _record(job: Job, connection: Connection, seen: Callable[[Experiment[Any]], Experiment[Any]]) -> Event:
    experiment = seen(load(job.experiment, job.package).part_of(job.preset))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    if source_digest(job.package, job.experiment) != job.source:
        raise LabError(_EDITED)
    loaded = set(sys.modules)
    config = experiment.config(**job.values)
    keeper = _keeper(job, connection)
    recorded, start = (list(keeper.rows), keeper.seconds) if keeper else ([], 0.0)
    count, seconds, start, warned = 0, 0.0, time.perf_counter() - start, False
    with job.partial.open("w", encoding="utf-8") as file:
        for row in experiment.run(config):
            seconds = time.perf_counter() - start
            completed = complete_row(row, job.seed, seconds)
            if count < len(recorded):
                completed = _as_recorded(completed, recorded[count], job, count)
            elif keeper:
                keeper.rows.append(completed)
            file.write(encode(completed))
            file.flush()
            count += 1
            fraction, text = experiment.progress(config, completed) if experiment.progress else (None, f"{count} rows")
            where = machine() if count == 1 else None
            connection.send(Event("advanced", job.seed, fraction, text, count, seconds, machine=where))
            if job.late and not warned and not (keeper and keeper.under_way):
                warned = True
                connection.send(Event("notice", job.seed, text=f"{job.experiment} seed {job.seed}: {LATE}"))
    late = {name.partition(".")[0] for name in sys.modules.keys() - loaded} & {*sources(job.package)}
    if late and source_digest(job.package, job.experiment) != job.source:  # what was imported since may be another source's
        raise LabError(_EDITED)
    if not count:
        raise LabError("`run` should yield at least one row. Found none. Yield what the claims are judged on.")
    if count < len(recorded):
        raise LabError(_not_again(job, f"the seed ended after {count} rows of {len(recorded)}"))
    made = made_here([job.seed], job.package, Code(None, False, job.source))  # the parent knows the commit
    return Event("finished", job.seed, 1.0, "", count, seconds, made=made)


def _keeper(job: Job, connection: Connection) -> Keeper | None:
    """Return what keeps the seed's loops; it has found by now whether it goes on from a checkpoint."""
    if job.checkpoint is None:
        return None
    here = machine()
    identity: Identity = {
        "experiment": f"{job.package}:{job.experiment}",
        "settings": hashlib.sha256(json.dumps(job.values, sort_keys=True).encode()).hexdigest(),
        "seed": job.seed,
        "source": job.source,
        "threads": here.threads or 1,
        "processor": here.processor or "",
        **versions(["torch", "numpy"]),
    }
    who = f"{job.experiment} seed {job.seed}"

    def said(text: str) -> None:
        connection.send(Event("notice", job.seed, text=f"{who}: {text}"))

    keeper = Keeper(job.checkpoint, identity, job.every, said, job.until)
    use(keeper)
    return keeper


def _as_recorded(row: Row, recorded: Row, job: Job, place: int) -> Row:
    """Return the recorded row, with its own time, where the row that was made again is equal to it."""
    if {**row, "seconds": 0} != {**recorded, "seconds": 0}:
        keys = [key for key in {**recorded, **row} if key != "seconds" and row.get(key) != recorded.get(key)]
        what = f"row {place} has {keys[0]} {row.get(keys[0])!r} instead of {recorded.get(keys[0])!r}"
        raise LabError(_not_again(job, what))
    return recorded


def _not_again(job: Job, what: str) -> str:
    rule = "a seed that goes on must yield its earlier rows again"
    return f"{rule}, but {what}; mend what its loop keeps, or delete {job.checkpoint} to begin anew"

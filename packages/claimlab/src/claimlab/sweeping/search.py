"""Sweeps: from a plan to a study with the same number of trials for every method, and the best settings on fresh seeds.

The same command goes on where it was stopped. Of a trial's rows only what the objective may see is looked at, and its value
is all that is kept: nothing in the folder tells what a trial did on test data. The best settings are run anew on seeds that
no trial had, and those rows are kept whole.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import itertools
import json
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from claimlab.decoding import parse_object
from claimlab.errors import Interrupted, LabError, Stop, UsageError
from claimlab.rows import Row
from claimlab.running.checkpoints.files import files_of
from claimlab.running.plan import LAST_SEED
from claimlab.running.provenance.source_tree import code_of
from claimlab.running.rowfiles import packed
from claimlab.running.storage import ensure_writable, locked, write_atomically
from claimlab.running.workers.local import Engine, here
from claimlab.running.workers.worker import Job
from claimlab.sweeping.attempts import Attempt, attempts
from claimlab.sweeping.plan import FRESH, Sweep
from claimlab.sweeping.studies import Studies, Trial, open_storage

OWNER = "owner"
"""The file in a sweep's folder with the name by which it owns trials in a storage that others share."""


@dataclass(frozen=True)
class Fresh:
    """A method's best setting on a fresh seed, one from 100 on, and all of its rows."""

    trial: Trial
    seed: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class News:
    """Where a sweep is, for whoever shows it: its trials, the values so far of those that run, how many fresh seeds."""

    trials: tuple[Trial, ...]
    running: dict[tuple[str, int], float | None]
    fresh: tuple[int, int] = (0, 0)
    notice: str = ""


OnNews = Callable[[News], None]
"""Whoever is told where a sweep is."""


@dataclass(frozen=True)
class Done:
    """A sweep whose budget is spent, as far as this process may spend it: `waiting` are trials that another one computes.

    While there are some, no best setting is run on fresh seeds.
    """

    sweep: Sweep
    folder: Path
    studies: Studies
    fresh: tuple[Fresh, ...]
    waiting: tuple[Trial, ...]

    def best(self, method: str) -> Trial | None:
        """Return a method's best trial; None where none has a value."""
        return best_of(self.sweep, self.studies.trials(method))


@dataclass(frozen=True)
class Means:
    """By what a sweep is made.

    Args:
        jobs: how many trials at once, each in a process of its own; as many as the engine has room for if None.
        seeds: how many fresh ones; the preset's own number if None.
        storage: a URL that Optuna knows; a journal in the sweep's folder if None.
        take_over: compute what other owners have claimed and not told.
        engine: where trials are computed; on this machine if None.
    """

    jobs: int | None = None
    seeds: int | None = None
    storage: str | None = None
    take_over: bool = False
    engine: Engine | None = None

    def __post_init__(self) -> None:
        for name, value in (("jobs", self.jobs), ("seeds", self.seeds)):
            if value is not None and value < 1:
                raise UsageError(f"--{name} should be at least 1. Found {value}. Leave it out.")

    @property
    def where(self) -> Engine:
        """The engine, with as many workers at once as were asked for."""
        return (self.engine or here()).at_once(self.jobs)


def best_of(sweep: Sweep, trials: list[Trial]) -> Trial | None:
    """Return the trial with the best value, the earliest of equal ones; pruned ones have not come to their end."""
    whole = [one for one in trials if one.state == "complete" and one.value is not None]
    sign = -1 if sweep.ranges.objective.maximise else 1
    return min(whole, key=lambda one: (sign * (one.value or 0.0), one.number), default=None)


def search(sweep: Sweep, folder: Path, means: Means | None = None, on_news: OnNews = lambda news: None) -> Done:
    """Compute the trials that are missing, then the best settings on fresh seeds."""
    means = means or Means()
    ensure_writable(folder)
    with locked(folder):
        source = code_of(sweep.package, sweep.experiment.name).source or ""
        owner = folder / OWNER
        if not owner.exists():
            write_atomically(owner, uuid.uuid4().hex)
        studies = Studies(sweep, open_storage(means.storage, folder), source, owner.read_text(encoding="utf-8"))
        going = _Going(sweep, folder, studies, source, on_news)
        try:
            going.try_all(means)
            running = tuple(one for one in studies.every_trial() if one.state == "running")
            fresh = () if running else going.run_best(means)
        except KeyboardInterrupt as error:
            stop = error if isinstance(error, Stop) else Stop()
            told = sum(one.state != "running" for one in studies.every_trial())
            done = f"{told} of {sweep.trials * len(sweep.methods)} trials are recorded in {folder}"
            raise Interrupted(
                f"stopped by {stop.words}; {done}, and the same command goes on from there", stop.number
            ) from None
        return Done(sweep, folder, studies, fresh, running)


class _Going:
    """A sweep under way."""

    def __init__(self, sweep: Sweep, folder: Path, studies: Studies, source: str, on_news: OnNews) -> None:
        self.sweep, self.folder, self.studies, self.source, self.on_news = sweep, folder, studies, source, on_news
        self.running: dict[tuple[str, int], float | None] = {}
        self.fresh = (0, 0)

    def tell(self, notice: str = "") -> None:
        self.on_news(News(tuple(self.studies.every_trial()), dict(self.running), self.fresh, notice))

    def try_all(self, means: Means) -> None:
        """Compute trials until the budget is spent."""
        self.tell()
        trying = attempts(self._trials(means.take_over), means.where, self.sweep.preset, self._goes_on, self.tell)
        with contextlib.closing(trying) as ended:
            for attempt in ended:
                self._record(attempt)
                self.tell()

    def _trials(self, take_over: bool) -> Iterator[tuple[Trial, Job]]:
        """Yield trials and their jobs; none of a setting that the Config refuses, which is a failed trial."""
        for trial in itertools.chain(self.studies.left_behind(take_over), iter(self.studies.claim, None)):
            try:
                job = self._job(trial, f"{_safe(trial.method)}-{trial.number}", self.sweep.config.seed)
            except UsageError as error:
                self.studies.told(trial, "failed", None, 0.0, str(error))
                self.tell()
                continue
            self.running[trial.method, trial.number] = None
            self.tell()
            yield trial, job

    def _job(self, trial: Trial, name: str, seed: int) -> Job:
        values = self.sweep.values(trial.method, trial.chosen, seed)
        kept = self.folder / f"{name}-{self.source[:6]}.checkpoint.safetensors"
        partial = self.folder / f"{name}.partial.jsonl"
        return Job(self.sweep.experiment.name, self.sweep.package, self.sweep.preset, values, seed, partial, self.source, kept)

    def _goes_on(self, attempt: Attempt[Trial]) -> bool:
        objective, trial = self.sweep.ranges.objective, attempt.what
        value = objective.of(attempt.rows)
        if value is None or not objective.seen(attempt.rows[-1:]) or set(objective.seen(attempt.rows[-1:])[0]) <= {"seed"}:
            return True
        self.running[trial.method, trial.number] = value
        if self.sweep.draws[1] == "none":
            return True
        goes_on = self.studies.reported(trial, len(attempt.rows), value)
        self.tell()
        return goes_on

    def _record(self, attempt: Attempt[Trial]) -> None:
        trial, state, why = attempt.what, attempt.state, attempt.why
        value = self.sweep.ranges.objective.of(attempt.rows)
        if state == "complete" and value is None:
            state, why = "failed", f"its rows have no finite {', '.join(self.sweep.ranges.objective.columns)}"
        self.studies.told(trial, state, value, attempt.seconds, why)
        self.running.pop((trial.method, trial.number), None)
        _forget(attempt.job)

    def run_best(self, means: Means) -> tuple[Fresh, ...]:
        """Run each method's best setting on fresh seeds; what was run before is read."""
        number = means.seeds or self.sweep.experiment.presets[self.sweep.preset].seeds
        assert FRESH + number < LAST_SEED  # a number of seeds that nobody waits for
        wanted = [(self._best(method), seed) for method in self.sweep.methods for seed in range(FRESH, FRESH + number)]
        (self.folder / "best").mkdir(exist_ok=True)
        missing = [one for one in wanted if not self._kept(*one).exists()]
        self.fresh = (len(wanted) - len(missing), len(wanted))
        self.tell()
        jobs = (
            ((trial, seed), self._job(trial, f"best-{_safe(trial.method)}-{trial.number}-seed-{seed}", seed))
            for trial, seed in missing
        )
        with contextlib.closing(attempts(jobs, means.where, self.sweep.preset, lambda one: True, self.tell)) as ended:
            for attempt in ended:
                if attempt.state == "failed":
                    raise LabError(attempt.why)
                write_atomically(self._kept(*attempt.what), packed({attempt.what[1]: attempt.rows}))
                _forget(attempt.job)
                self.fresh = (self.fresh[0] + 1, self.fresh[1])
                self.tell()
        return tuple(Fresh(trial, seed, _read(self._kept(trial, seed))) for trial, seed in wanted)

    def _best(self, method: str) -> Trial:
        trials = self.studies.trials(method)
        best = best_of(self.sweep, trials)
        if best is None:
            why = next((one.why for one in trials if one.why), "all were pruned")
            raise LabError(f"Some trial of a sweep should come to its end. Found none of {method} ({why}). Change its ranges.")
        return best

    def _kept(self, trial: Trial, seed: int) -> Path:
        what = [self.sweep.identity(self.source), trial.method, trial.chosen]  # a storage elsewhere can begin a study anew
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:6]
        return self.folder / "best" / f"{_safe(trial.method)}-{digest}-seed-{seed}.jsonl.gz"


def _read(path: Path) -> tuple[Row, ...]:
    try:
        return tuple(parse_object(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines())
    except (OSError, EOFError, ValueError) as error:
        raise LabError(f"Rows of a best setting should be readable. Found that {path} is not ({error}). Delete it.") from error


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def _forget(job: Job) -> None:
    """Remove what a training needed while it was under way."""
    if job.checkpoint is not None:
        for path in files_of(job.checkpoint):
            path.unlink(missing_ok=True)

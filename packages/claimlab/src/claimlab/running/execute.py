"""Runs: from a plan to a folder with everything that was computed, once.

Rows are evidence of the source that made them. The same command again reuses the seeds that the present source made; those
of another one are kept apart and made again, or kept where they are and shown as such. The number of seeds is not part of a
run's name: `--seeds 10` after `--seeds 5` computes five more. Only whole seeds are recorded; what a killed run left
half-written is discarded with a notice and computed again.
"""

from __future__ import annotations

import contextlib
import math
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

from claimlab.claims import judge
from claimlab.errors import Interrupted, Stop, UsageError
from claimlab.fields import values_of
from claimlab.rows import Row, Rows
from claimlab.running.checkpoints.files import checkpoint_path, checkpoints
from claimlab.running.checkpoints.loops import EVERY
from claimlab.running.plan import Plan
from claimlab.running.provenance.source_tree import Code, code_of
from claimlab.running.recovering import of_other_sources, older_ones, recover, store
from claimlab.running.rowfiles import read_rows
from claimlab.running.run import Judged, Run, seconds_of
from claimlab.running.runfiles import keep
from claimlab.running.storage import ensure_writable, locked
from claimlab.running.watching.status import told
from claimlab.running.workers.local import Engine, here, run_jobs
from claimlab.running.workers.worker import Event, Job, OnEvent


@dataclass
class _Growing:
    """A run while it grows: its rows so far, and where they come from."""

    plan: Plan
    run: Run
    seeds: dict[int, list[Row]]
    code: Code
    on_event: OnEvent

    @property
    def whole(self) -> list[int]:
        """The planned seeds that are recorded."""
        return [seed for seed in self.plan.seeds if seed in self.seeds]

    def interrupted(self, by: str, number: int = signal.SIGTERM) -> Interrupted:
        """Return what is said of a run that something stopped."""
        done = f"{len(self.whole)} of {len(self.plan.seeds)} seeds are recorded in {self.run.folder}"
        return Interrupted(f"stopped by {by}; {done}, and the same command goes on from there", number)


def execute(
    plan: Plan,
    folder: Path,
    jobs: int | None = None,
    on_event: OnEvent = lambda event: None,
    keep_older: bool = False,
    every: float = EVERY,
    engine: Engine | None = None,
    minutes: float | int | None = None,
) -> Run:
    """Compute the seeds of a plan that the present source has not made yet, then draw the figures and judge the claims.

    Args:
        plan: what is to be computed.
        folder: the run's, such as `plan.folder(out)`.
        jobs: how many seeds run at once, each in a process of its own; as many as the engine has room for if None, on this
            machine as many as end them soonest.
        on_event: told of everything that happens.
        keep_older: take the seeds of another source as they are instead of making them again.
        every: seconds between two checkpoints inside a seed.
        engine: where seeds are computed; on this machine if None.
        minutes: after which no seed begins, and those that run stop where they are kept next; without end if None.
    """
    until = math.inf if minutes is None else time.time() + 60 * minutes
    if jobs is not None and jobs < 1:
        raise UsageError(f"A run should have at least one process. Found --jobs {jobs}. Leave it out for about one per core.")
    if not 0 <= every < math.inf:
        raise UsageError(f"--checkpoint-seconds should be at least 0 and finite. Found {every:g}. Leave it out for 20.")
    if minutes is not None and minutes <= 0:
        raise UsageError(f"--max-minutes should be above 0. Found {minutes:g}. Leave it out for as long as it takes.")
    ensure_writable(folder)
    with locked(folder), told(plan, folder, on_event) as hear:
        code = code_of(plan.package, plan.experiment.name)
        run, seeds = recover(plan, folder, code.source or "", hear)
        growing = _Growing(plan, run, seeds, code, hear)
        growing.run = older_ones(growing.run, seeds, growing.code, keep_older, hear)
        room = engine or here(len(plan.seeds) - len(growing.whole))
        _compute(growing, room.at_once(jobs), every, until)
        if len(growing.whole) < len(plan.seeds):
            raise growing.interrupted(f"--max-minutes {minutes:g}")
        return _conclude(growing)


def _compute(growing: _Growing, engine: Engine, every: float, until: float) -> None:
    """Add the missing seeds to the folder as they finish."""
    plan, seeds, folder = growing.plan, growing.seeds, growing.run.folder
    missing = [seed for seed in plan.seeds if seed not in seeds]
    for seed in growing.whole:
        growing.on_event(Event("reused", seed, 1.0, rows=len(seeds[seed]), seconds=seconds_of(seeds[seed])))
    jobs, start = [_job(plan, folder, seed, growing.code.source or "", (every, until)) for seed in missing], time.perf_counter()
    try:
        with contextlib.closing(run_jobs(jobs, engine, growing.on_event)) as finished:
            for job, made in finished:
                seeds[job.seed] = read_rows(job.partial).seeds[job.seed]
                wall = round(time.perf_counter() - start, 3)
                run = replace(growing.run.with_seed(replace(made, code=growing.code)), wall_seconds=wall)
                growing.run = store(run, seeds)
                for path in (job.partial, *checkpoints(folder, job.seed)):  # what it needed while it was not whole
                    path.unlink()
    except KeyboardInterrupt as error:
        stop = error if isinstance(error, Stop) else Stop()
        raise growing.interrupted(stop.words, stop.number) from None
    finally:
        for job in jobs:  # whatever is still here was ended by us: that needs no notice next time
            job.partial.unlink(missing_ok=True)


def _job(plan: Plan, folder: Path, seed: int, source: str, kept: tuple[float, float]) -> Job:
    values, partial = {**values_of(plan.config), "seed": seed}, folder / f"seed-{seed}.partial.jsonl"
    path = checkpoint_path(folder, seed, source)
    return Job(plan.experiment.name, plan.package, plan.preset, values, seed, partial, source, path, *kept)


def _conclude(growing: _Growing) -> Run:
    """Judge and draw from the recorded rows of the planned seeds and write both down."""
    from claimlab.running.pictures import draw  # noqa: PLC0415  # matplotlib: the command line must start without it

    plan, seeds, run = growing.plan, growing.seeds, growing.run
    rows = Rows(row for seed in plan.seeds for row in seeds[seed])
    claims = tuple(judge(claim, rows, plan.preset) for claim in plan.experiment.claims)
    figures = tuple(draw(plan.experiment, rows, run.folder))
    older = tuple(seed for seed in of_other_sources(run, growing.code) if seed in plan.seeds)
    seconds = round(sum(seconds_of(seeds[seed]) for seed in plan.seeds), 3)
    finished = replace(run, judged=Judged(plan.seeds, older, seconds, claims, figures))
    keep(finished)
    return finished

"""Runs: from a plan to a folder with everything that was computed, once.

The folder is `OUT/NAME/<id>/`, its id a hash of the experiment's name, its config (with the first seed) and its source.
The number of seeds is not part of the id: `--seeds 10` after `--seeds 5` computes five more. Only whole seeds are
recorded; what a killed run left half-written is discarded with a notice and computed again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from craik.lab.claims import JudgedClaim, judge
from craik.lab.errors import Interrupted, UsageError
from craik.lab.fields import values_of
from craik.lab.running.history import History, as_json
from craik.lab.running.local import Event, Job, run_jobs
from craik.lab.running.plan import Plan, plan
from craik.lab.running.provenance import cores
from craik.lab.running.rowfiles import Row, read_rows, write_rows
from craik.lab.running.storage import ensure_writable, locked, write_atomically
from craik.lab.showing.wording import counted

__all__ = ["Event", "Plan", "RunResult", "execute", "plan"]

OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class RunResult:
    """What a run left: its folder, all rows of its seeds, its verdicts, and the files it consists of.

    `seconds` is computing time summed over the seeds, whenever they were computed; `computed` lists the seeds that were
    not there before.
    """

    plan: Plan
    folder: Path
    rows: list[Row]
    claims: list[JudgedClaim]
    seconds: float
    computed: tuple[int, ...]
    artifacts: list[Path]


def execute(plan: Plan, out: Path, jobs: int | None = None, on_event: OnEvent = lambda event: None) -> RunResult:
    """Computes the seeds of a plan that are not recorded yet, then draws the figures and judges the claims.

    Args:
        plan: what is to be computed.
        out: the folder that holds all runs.
        jobs: how many seeds run at once, each in a process of its own; one a processor core if None.
        on_event: told of everything that happens.

    Raises:
        UsageError: the output folder cannot be written, or fewer than one job.
        LabError: another process writes the same run, a seed failed, or a claim cannot be measured.
        Interrupted: Ctrl-C; the seeds that were whole are recorded.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"a run needs at least one process, but found --jobs {jobs}; leave it out for one a core")
    folder = plan.folder(out)
    ensure_writable(folder)
    with _removed_if_empty(folder), locked(folder):
        seeds = _recover(plan, folder, on_event)
        known, history = set(seeds), History.open(folder, seeds)
        history = _compute(plan, folder, seeds, history, jobs or cores(), on_event)
        return _conclude(plan, folder, seeds, history, tuple(seed for seed in plan.seeds if seed not in known))


@contextlib.contextmanager
def _removed_if_empty(folder: Path) -> Generator[None, None, None]:
    """A run that failed before its first seed was whole leaves no folder."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _recover(plan: Plan, folder: Path, on_event: OnEvent) -> dict[int, list[Row]]:
    """The whole seeds that are recorded; says what is discarded."""
    recorded = read_rows(folder / "rows.jsonl")
    if recorded.damaged:
        text = f"discarded {_seeds(recorded.damaged)} of {folder}, whose recorded rows had unreadable lines"
        on_event(Event("notice", text=f"{text}; {_fate(recorded.damaged, plan.seeds)}"))
    elif recorded.unreadable:
        text = f"discarded {counted(recorded.unreadable, 'unreadable line')} of {folder}, which told no seed"
        on_event(Event("notice", text=f"{text}; computing what is missing"))
    if recorded.unreadable:
        write_rows(folder / "rows.jsonl", recorded.seeds)
    partials = {path: int(path.name.split(".")[0].removeprefix("seed-")) for path in folder.glob("seed-*.partial.jsonl")}
    half = sorted(seed for seed in partials.values() if seed not in recorded.seeds)
    if half:
        text = f"discarded {_seeds(half)}, half-written in {folder} by a run that was killed"
        on_event(Event("notice", text=f"{text}; {_fate(half, plan.seeds)}"))
    for path in partials:
        path.unlink()
    return recorded.seeds


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def _fate(discarded: Sequence[int], wanted: Sequence[int]) -> str:
    return "computing again" if set(discarded) & set(wanted) else "run with more seeds to compute again"


def _compute(
    plan: Plan, folder: Path, seeds: dict[int, list[Row]], history: History, processes: int, on_event: OnEvent
) -> History:
    """Adds the missing seeds to `seeds`, to the folder and to its history as they finish."""
    missing = [seed for seed in plan.seeds if seed not in seeds]
    for seed in sorted(set(plan.seeds) - set(missing)):
        on_event(Event("reused", seed, 1.0, rows=len(seeds[seed]), seconds=seconds_of(seeds[seed])))
    jobs, start = [_job(plan, folder, seed) for seed in missing], time.perf_counter()
    try:
        with contextlib.closing(run_jobs(jobs, processes, on_event)) as finished:
            for job in finished:
                seeds[job.seed] = read_rows(job.partial).seeds[job.seed]
                write_rows(folder / "rows.jsonl", seeds)
                history = history.with_seed(job.seed).with_wall(time.perf_counter() - start)
                history.write(plan, folder)
                job.partial.unlink()
    except KeyboardInterrupt:
        done = f"{sum(seed in seeds for seed in plan.seeds)} of {len(plan.seeds)} seeds are recorded in {folder}"
        raise Interrupted(f"stopped by Ctrl-C; {done}, and the same command goes on from there") from None
    finally:
        for job in jobs:  # whatever is still here was ended by us: that needs no notice next time
            job.partial.unlink(missing_ok=True)
    return history


def _job(plan: Plan, folder: Path, seed: int) -> Job:
    values = {**values_of(plan.config), "seed": seed}
    partial = folder / f"seed-{seed}.partial.jsonl"
    return Job(plan.experiment.name, plan.experiment.module, values, seed, partial, plan.source)


def seconds_of(rows: Sequence[Row]) -> float:
    """How long one seed took: its last row knows."""
    seconds = rows[-1]["seconds"]
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def _conclude(
    plan: Plan, folder: Path, seeds: Mapping[int, list[Row]], history: History, computed: tuple[int, ...]
) -> RunResult:
    """Judges and draws from the recorded rows of the planned seeds, and writes both down."""
    from craik.lab.drawing import draw  # noqa: PLC0415  # matplotlib: the command line must start without it

    rows = [row for seed in plan.seeds for row in seeds[seed]]
    claims = [judge(claim, rows, plan.preset) for claim in plan.experiment.claims]
    pictures = draw(plan.experiment, rows, folder)
    seconds = round(sum(seconds_of(seeds[seed]) for seed in plan.seeds), 3)
    summary = {
        "name": plan.experiment.name,
        "preset": plan.preset,
        "overrides": plan.overrides,
        "seeds": plan.seeds,
        "seconds": seconds,
        "wall_seconds": history.wall_seconds,
        "hardware": history.hardware,
        "commit": history.commit,
        "time": history.time,
        "command": plan.command,
        "claims": [asdict(claim) for claim in claims],
        "figures": [asdict(picture) for picture in pictures],
    }
    history.write(plan, folder)
    write_atomically(folder / "claims.json", as_json(summary))
    files = ["config.json", "rows.jsonl", *(picture.file for picture in pictures), "claims.json"]
    return RunResult(plan, folder, rows, claims, seconds, computed, [folder / file for file in files])

"""Witnesses: whether the present source still makes a record.

A witness makes a record's first seed again, in a fresh process with one thread, and compares its rows with those recorded,
all but `seconds`: bit for bit on the same kind of processor, within the preset's tolerance on another. What it finds joins
the record.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from craik.lab.errors import LabError, UsageError
from craik.lab.experiment import load
from craik.lab.rows import Row
from craik.lab.running.provenance.machine import machine
from craik.lab.running.provenance.made import Made, now
from craik.lab.running.provenance.source_tree import Code, code_of
from craik.lab.running.rowfiles import read_partial
from craik.lab.running.run import Run, Witness
from craik.lab.running.runfiles import find_runs, keep, read_run
from craik.lab.running.storage import locked
from craik.lab.running.witness.comparing import compare
from craik.lab.running.workers.local import here, run_jobs
from craik.lab.running.workers.worker import Job, OnEvent


@dataclass(frozen=True)
class Found:
    """What a witness found of a record.

    Args:
        run: the record, with the witness where there is one.
        witness: the outcome; None where the rows could not be made.
        fault: why they could not.
        before: whether the witness was one of the present source already.
    """

    run: Run
    witness: Witness | None
    fault: str = ""
    before: bool = False


def verify(
    directory: Path, seeds: int = 1, minutes: float | None = None, on_event: OnEvent = lambda event: None
) -> Iterator[Found]:
    """Makes the first seeds of every record below a folder again, one record after the other, and writes down what comes of it.

    Args:
        directory: the folder of records.
        seeds: how many seeds of each.
        minutes: of each record; what was made by then is compared. Without end if None.
        on_event: told of everything that happens.

    Raises:
        UsageError: the directory does not exist, or fewer than one seed or no time is asked for.
        LabError: a record's files cannot be read.
    """
    if seeds < 1:
        raise UsageError(f"a witness makes at least one seed, but found --seeds {seeds}; leave it out for one")
    if minutes is not None and minutes <= 0:
        raise UsageError(f"a witness needs time, but found --minutes {minutes:g}; leave it out for as long as it takes")
    code = cache(code_of)
    for run in [run for run in find_runs(directory) if not run.is_older]:
        try:
            yield _verified(run, code(run.recipe.package), seeds, minutes, on_event)
        except LabError as error:
            yield Found(run, None, str(error))


def _verified(run: Run, code: Code, seeds: int, minutes: float | None, on_event: OnEvent) -> Found:
    wanted = run.seeds[:seeds]
    before = [one for one in run.confirmed if one.code.source == code.source and set(wanted) <= set(one.seeds)]
    if before:
        return Found(run, before[-1], before=True)
    experiment = load(run.recipe.name, run.recipe.package)
    rows, finished = _made_again(run, code, wanted, minutes, on_event)
    here = next(iter(finished.values())).machine if finished else replace(machine(), threads=1)
    if not any(rows.values()):
        raise LabError(f"a witness needs a row to compare, but none was made in {minutes:g} minutes; give it more --minutes")
    preset = experiment.presets.get(run.recipe.preset)
    same = {one.machine.processor for one in run.made if set(one.seeds) & set(wanted)} == {here.processor}
    comparison = compare(run.recorded(), rows, finished)
    outcome = comparison.outcome(0.0 if same or preset is None else preset.tolerance)
    seen = tuple(seed for seed, made in rows.items() if made)
    counts = (comparison.compared, comparison.recorded)
    witness = Witness(code, here, seen, counts, outcome, comparison.difference, comparison.where, now())
    with locked(run.folder):
        kept = read_run(run.folder)
        kept = replace(kept, confirmed=(*kept.confirmed, witness))
        keep(kept)
    return Found(kept, witness)


def _made_again(
    run: Run, code: Code, seeds: Sequence[int], minutes: float | None, on_event: OnEvent
) -> tuple[dict[int, list[Row]], dict[int, Made]]:
    """The rows of some seeds, made now, and where those come from that were made whole before time ran out.

    Raises:
        LabError: a seed failed.
    """
    recipe, finished = run.recipe, dict[int, Made]()
    config = {name: tuple(value) if isinstance(value, list) else value for name, value in recipe.config.items()}
    with tempfile.TemporaryDirectory() as folder:
        partials = {seed: Path(folder, f"{seed}.jsonl") for seed in seeds}
        jobs = [
            Job(recipe.name, recipe.package, {**config, "seed": seed}, seed, path, code.source or "")
            for seed, path in partials.items()
        ]
        with contextlib.closing(run_jobs(jobs, here().at_once(1), on_event, None if minutes is None else 60 * minutes)) as done:
            for job, made in done:
                finished[job.seed] = made
        return {seed: read_partial(path) for seed, path in partials.items()}, finished

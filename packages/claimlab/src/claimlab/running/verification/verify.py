"""Witnesses: whether the present source still makes a record.

A witness makes a record's first seed again, in a fresh process with one thread, and compares its rows with those recorded,
all but `seconds`: bit for bit on the same kind of processor, within the preset's tolerance on another. Where they differ, it
can compare with what the recording source makes on the same machine. What it finds joins the record.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from claimlab.errors import LabError, UsageError
from claimlab.experiment import load
from claimlab.rows import Row
from claimlab.running.provenance.machine import machine
from claimlab.running.provenance.made import Made, now
from claimlab.running.provenance.source_tree import Code, code_of
from claimlab.running.rowfiles import read_partial
from claimlab.running.run import Outcome, Run, Witness
from claimlab.running.runfiles import check_package, find_runs, keep, read_run
from claimlab.running.storage import locked, words_of
from claimlab.running.verification.beside import made_beside
from claimlab.running.workers.local import here, run_jobs
from claimlab.running.workers.worker import Event, Job, OnEvent


@dataclass(frozen=True)
class Found:
    """What a witness found of a record: None, and a fault, where no row could be made; `before` if it had found it earlier."""

    run: Run
    witness: Witness | None
    fault: str = ""
    before: bool = False


def verify(
    directory: Path, package: str | None, seeds: int = 1, minutes: float | None = None, both: bool = False
) -> Iterator[Found]:
    """Make the first seeds of every record below a folder again, one record after the other, and write down what comes of it.

    Args:
        directory: the folder of records.
        package: of experiments, the only one that is imported; records of others are named, and not made again.
        seeds: how many seeds of each.
        minutes: of each record; what was made by then is compared. Without end if None.
        both: whether rows that differ from those recorded are compared with what the recording source makes here, too: training
            amplifies how another kind of processor rounds.
    """
    if seeds < 1:
        raise UsageError(f"--seeds should be at least 1. Found {seeds}. Leave it out for one.")
    if minutes is not None and minutes <= 0:
        raise UsageError(f"--minutes should be above 0. Found {minutes:g}. Leave it out for as long as it takes.")
    way_out = "Name theirs: results, unless the command run --record had another --out"
    if not directory.is_dir():
        raise UsageError(f"Records to verify should be in a folder. Found no folder {directory}. {way_out}.")
    runs = [run for run in find_runs(directory) if not run.is_older]
    if not runs:
        raise UsageError(f"Records to verify should be below the folder. Found none in {directory}. {way_out}.")
    code = cache(code_of)
    for run in runs:
        try:
            check_package(run, package)
            yield _verified(run, code(run.recipe.package, run.recipe.name), Asked(seeds, minutes, both))
        except LabError as error:
            yield Found(run, None, str(error))
        except OSError as error:  # of one record, such as a folder that may not be written
            yield Found(run, None, words_of(error, run.folder))


class Asked(NamedTuple):
    """What is asked of a witness: how many seeds, how long, and whether the recording source runs, too, where rows differ."""

    seeds: int
    minutes: float | None
    both: bool


def _verified(run: Run, code: Code, asked: Asked) -> Found:
    wanted = run.seeds[: asked.seeds]
    before = [one for one in run.confirmed if one.code.source == code.source and set(wanted) <= set(one.seeds)]
    if before and not _asks_more(asked, before[-1]):
        return Found(run, before[-1], before=True)
    events = list[Event]()
    preset = load(run.recipe.name, run.recipe.package).part_of(run.recipe.preset).presets.get(run.recipe.preset)
    rows, finished = _made_again(run, code, wanted, asked.minutes, events.append)
    # As the worker saw it: what this process has imported must not decide.
    here = next((event.machine for event in events if event.machine is not None), None)
    if here is None or not any(rows.values()):
        limit = f"{asked.minutes:g} minutes"
        raise LabError(f"Verifying should make a row to compare. Found none after {limit}. Give it more --minutes.")
    same = {one.machine.processor for one in run.made if set(one.seeds) & set(wanted)} == {here.processor}
    recorded = run.recorded()
    comparison = compare(recorded, rows, finished)
    outcome, beside = comparison.outcome(0.0 if same or preset is None else preset.tolerance), None
    if outcome == "differs" and asked.both:
        comparison, beside = _beside(run, rows, finished, asked.minutes)
        outcome = comparison.outcome(0.0)
    seeds, counts = tuple(seed for seed, made in rows.items() if made), sum(len(recorded[seed]) for seed in rows)
    witness = Witness(
        code, here, seeds, (comparison.compared, counts), outcome, comparison.difference, comparison.where,
        time=now(), beside=beside, minutes=asked.minutes,
    )  # fmt: skip
    with locked(run.folder):
        kept = read_run(run.folder)
        kept = replace(kept, confirmed=(*kept.confirmed, witness))
        keep(kept)
    return Found(kept, witness)


def _asks_more(asked: Asked, one: Witness) -> bool:
    """Return whether to make rows again though this source has: on another machine, or with less time, it may differ."""
    if one.outcome == "differs":  # without the instructions that torch uses, which only a process with torch knows
        there, here = ((it.processor or "").partition("), ")[0].rstrip(")") for it in (one.machine, machine()))
        return there != here or (asked.both and one.beside is None)
    compared, recorded = one.rows
    return compared < recorded and (asked.minutes is None or (one.minutes is not None and asked.minutes > one.minutes))


def _beside(
    run: Run, rows: Mapping[int, list[Row]], finished: Collection[int], minutes: float | None
) -> tuple[Comparison, str]:
    """Compare rows with what the sources that recorded their seeds make on this machine; tell their commits."""
    commits = {seed: made.code for made in run.made for seed in made.seeds}
    earlier, ended = dict[int, list[Row]](), set[int]()
    for seed in rows:
        code = commits[seed]
        if code.commit is None or code.changes:
            found = "none" if code.commit is None else f"{code.commit[:10]} with changes"
            rule = "Verifying beside the recording source should find a commit that holds it"
            raise LabError(f"{rule}. Found {found} in the record. Verify without --both.")
        earlier[seed], whole = made_beside(code.commit, run.recipe, seed, minutes)
        ended |= {seed} if whole and seed in finished else set()
    if not any(earlier.values()):
        raise LabError(f"The recording source should make a row. Found none in {minutes or 0:g} minutes. Pass more --minutes.")
    shorter = {seed: some[: len(earlier[seed])] if seed not in ended else some for seed, some in rows.items()}
    return compare(earlier, shorter, ended), ", ".join(dict.fromkeys(str(commits[seed].commit) for seed in rows))


def _made_again(
    run: Run, code: Code, seeds: Sequence[int], minutes: float | None, on_event: OnEvent
) -> tuple[dict[int, list[Row]], dict[int, Made]]:
    """Return the rows of some seeds, made now, and where those come from that were made whole before time ran out."""
    recipe, finished = run.recipe, dict[int, Made]()
    with tempfile.TemporaryDirectory() as folder:
        partials = {seed: Path(folder, f"{seed}.jsonl") for seed in seeds}
        jobs = [
            Job(recipe.name, recipe.package, recipe.preset, {**recipe.config, "seed": seed}, seed, path, code.source or "")
            for seed, path in partials.items()
        ]
        with contextlib.closing(run_jobs(jobs, here().at_once(1), on_event, None if minutes is None else 60 * minutes)) as done:
            for job, made in done:
                finished[job.seed] = made
        return {seed: read_partial(path) for seed, path in partials.items()}, finished


@dataclass(frozen=True)
class Comparison:
    """What lies between recorded rows and those made again: how many are in both, and the greatest difference.

    It is a share of the larger number, None where something else than numbers differs; `where` names the first, with both.
    """

    compared: int
    difference: float | int | None
    where: str

    def outcome(self, tolerance: float) -> Outcome:
        """Return what a witness calls it; with a tolerance of 0 rows are equal or differ."""
        if not self.where:
            return "equal"
        return "within tolerance" if self.difference is not None and self.difference <= tolerance else "differs"


def compare(recorded: Mapping[int, Sequence[Row]], made: Mapping[int, Sequence[Row]], finished: Collection[int]) -> Comparison:
    """Compare rows but for their `seconds`, and for columns that came since: all that is recorded must be found again.

    Seeds that are finished must have as many rows as were recorded.
    """
    differences: list[tuple[float | None, str]] = []
    for seed, rows in made.items():
        for index, (old, new) in enumerate(zip(recorded[seed], rows, strict=False)):
            differences += [(share, f"seed {seed}, row {index}: {words}") for share, words in _differences(old, new)]
        if len(rows) > len(recorded[seed]) or (seed in finished and len(rows) < len(recorded[seed])):
            differences.append((None, f"seed {seed}: {len(rows)} rows, recorded {len(recorded[seed])}"))
    shares = [share for share, _ in differences]
    numbers = [share for share in shares if share is not None]
    return Comparison(
        compared=sum(min(len(rows), len(recorded[seed])) for seed, rows in made.items()),
        difference=max(numbers, default=0.0) if len(numbers) == len(shares) else None,
        where=differences[0][1] if differences else "",
    )


def _differences(old: Row, new: Row) -> list[tuple[float | None, str]]:
    found: list[tuple[float | None, str]] = []
    for key, was in old.items():
        now, share = new.get(key), None
        if key != "seconds" and key not in new:
            found.append((share, f"{key} is only recorded"))
        elif key != "seconds" and (was != now or type(was) is not type(now)):
            if isinstance(was, float) and isinstance(now, float):  # only numbers with a fraction may be close
                share = abs(was - now) / max(abs(was), abs(now))
            found.append((share, f"{key} {now!r}, recorded {was!r}"))
    return found

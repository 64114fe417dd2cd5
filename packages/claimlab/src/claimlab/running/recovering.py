"""What a folder holds before a run goes on in it: whole seeds, half ones, and seeds that another source made."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from claimlab.errors import LabError
from claimlab.rows import Row
from claimlab.running.checkpoints.files import checkpoint_path, checkpoints, files_of
from claimlab.running.plan import Plan, Recipe
from claimlab.running.provenance.source_tree import Code
from claimlab.running.rowfiles import ROWS, Recorded, packed, read_rows, sums_of
from claimlab.running.run import OLDER, Run
from claimlab.running.runfiles import read_run, written
from claimlab.running.storage import current, write_together
from claimlab.running.workers.worker import Event, OnEvent

THEIRS = "the source that made them computes them again"
"""The fate of damaged seeds among those set apart: the present source computes none of them."""


def recover(plan: Plan, folder: Path, source: str, on_event: OnEvent) -> tuple[Run, dict[int, list[Row]]]:
    """Return the run of a folder with its whole seeds; say what is discarded."""
    run = read_run(folder, judged=False) if current(folder, "run.json") else None
    try:
        run = run and read_run(folder)
    except LabError:  # they are judged again anyway
        on_event(Event("notice", text=f"discarded the unreadable {folder / 'claims.json'}; judging again"))
    recorded = run.read() if run else read_rows(folder / ROWS)
    run = replace(run, recipe=Recipe.of(plan)) if run else Run(folder, Recipe.of(plan))
    fate = _fate(recorded.damaged, plan.seeds) if recorded.damaged else "computing what is missing"
    _say_damage(recorded, folder, fate, on_event)
    seeds = {seed: rows for seed, rows in recorded.seeds.items() if seed in run.seeds}
    lost = sorted(set(run.seeds) - recorded.seeds.keys() - set(recorded.damaged))
    if lost:
        text = f"{seed_words(lost)}, which run.json knows of, are not in {folder / ROWS}"
        on_event(Event("notice", text=f"{text}; {_fate(lost, plan.seeds)}"))
    strange = sorted(recorded.seeds.keys() - seeds.keys())
    if strange:
        text = f"discarded {seed_words(strange)} of {folder}, which run.json knows nothing of"
        on_event(Event("notice", text=f"{text}; {_fate(strange, plan.seeds)}"))
    run = run.only(tuple(seeds))
    if recorded.faults or strange or lost:  # a witness of rows that are gone goes with them
        run = store(replace(run, judged=None), seeds)
    _discard_half(plan, folder, seeds, source, on_event)
    return run, seeds


def _say_damage(recorded: Recorded, folder: Path, fate: str, on_event: OnEvent) -> None:
    if recorded.faults:
        where = f"{folder / ROWS}, line {recorded.faults[0].line}: {recorded.faults[0].what}"
        lines = f"{recorded.unreadable} unreadable line{'s' * (recorded.unreadable > 1)} that told no seed"
        what = seed_words(recorded.damaged) if recorded.damaged else lines
        text = f"discarded {what} of {folder}, whose recorded rows were damaged ({where})"
        on_event(Event("notice", text=f"{text}; {fate}"))


def _discard_half(plan: Plan, folder: Path, seeds: Mapping[int, Sequence[Row]], source: str, on_event: OnEvent) -> None:
    """Remove half seeds; those that go on from a checkpoint write their rows again."""
    found = {path: path.name.split(".")[0].removeprefix("seed-") for path in folder.glob("seed-*.partial.jsonl")}
    partials = {path: int(seed) for path, seed in found.items() if seed.isdecimal()}
    ours = {seed: files_of(checkpoint_path(folder, seed, source)) for seed in (*partials.values(), *plan.seeds)}
    half = sorted(seed for seed in partials.values() if seed not in seeds and not any(one.exists() for one in ours[seed][:2]))
    if half:
        text = f"discarded {seed_words(half)}, half-written in {folder} by a run that was killed"
        on_event(Event("notice", text=f"{text}; {_fate(half, plan.seeds)}"))
    for path in partials:
        path.unlink()
    for seed, path in [(one, path) for one in plan.seeds for path in checkpoints(folder, one)]:
        if seed in seeds:
            path.unlink()
        elif path not in ours[seed] and path.suffix == ".safetensors":
            theirs = path.name.split(".")[0].rpartition("-")[2]
            text = f"did not use {path}, a checkpoint that another source ({theirs}) made"
            on_event(Event("notice", text=f"{text}; it goes when seed {seed} is whole"))


def _fate(discarded: Sequence[int], wanted: Sequence[int]) -> str:
    return "computing again" if set(discarded) & set(wanted) else "run with more seeds to compute again"


def seed_words(seeds: Sequence[int]) -> str:
    """Return seeds in words."""
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def of_other_sources(run: Run, code: Code) -> dict[int, str]:
    """Return the seeds that another source made, by what to call it; not those that a witness of this source found whole."""
    ours = [one for one in run.confirmed if one.code.source == code.source and one.outcome == "equal" and one.beside is None]
    whole = {seed for one in ours if one.rows[0] == one.rows[1] for seed in one.seeds}
    others = {seed: made.code for made in run.made if made.code.source != code.source for seed in made.seeds}
    return {seed: (one.source or one.commit or "unknown")[:6] for seed, one in others.items() if seed not in whole}


def older_ones(run: Run, seeds: dict[int, list[Row]], code: Code, keep_older: bool, on_event: OnEvent) -> Run:
    """Move the seeds of each other source to a folder below the run's, or say that they are kept; return the run that is left.

    Those that the present source made, and that were moved when another one's turn came, are moved back.
    """
    others = of_other_sources(run, code)
    for source in sorted(set(others.values())):
        theirs = tuple(sorted(seed for seed, other in others.items() if other == source))
        words = f"{seed_words(theirs)} of {run.folder} came from another source ({source})"
        if keep_older:
            on_event(Event("notice", text=f"{words}; kept, and shown as older"))
            continue
        on_event(Event("notice", text=f"{words}; set apart in {OLDER}/{source} and computed again, --keep-older keeps them"))
        _set_apart(run, {seed: seeds.pop(seed) for seed in theirs}, run.folder / OLDER / source, on_event)
        run = store(replace(run.only(tuple(seeds)), judged=None), seeds)
    return _taken_back(run, seeds, code, on_event)


def _taken_back(run: Run, seeds: dict[int, list[Row]], code: Code, on_event: OnEvent) -> Run:
    """Return the run with the seeds that the present source made before another one did, and that were set apart then."""
    folder = run.folder / OLDER / (code.source or "none")[:6]
    if not current(folder, "run.json"):
        return run
    there = read_run(folder)
    recorded = there.read()
    ours = [seed for one in there.made if one.code.source == code.source for seed in one.seeds]
    back = {seed: recorded.seeds[seed] for seed in ours if seed in recorded.seeds and seed not in seeds}
    if not back:
        return run
    _say_damage(recorded, folder, THEIRS, on_event)
    on_event(Event("notice", text=f"took {seed_words(sorted(back))} of {run.folder} back from {folder}: of the present source"))
    seeds.update(back)
    theirs = there.only(tuple(back))
    run = replace(run, made=(*run.made, *theirs.made), confirmed=(*run.confirmed, *theirs.confirmed), judged=None)
    run = store(run, seeds)
    rest = {seed: rows for seed, rows in recorded.seeds.items() if seed in there.seeds and seed not in back}
    if rest:
        store(replace(there.only(tuple(rest)), judged=None), rest)
    else:
        shutil.rmtree(folder)
    return run


def _set_apart(run: Run, seeds: Mapping[int, list[Row]], folder: Path, on_event: OnEvent) -> None:
    """Add seeds to those that are kept in a folder of older ones already."""
    folder.mkdir(parents=True, exist_ok=True)
    there = read_run(folder) if current(folder, "run.json") else None
    recorded = there.read() if there else Recorded({}, ())
    _say_damage(recorded, folder, THEIRS, on_event)
    earlier = {seed: rows for seed, rows in recorded.seeds.items() if seed not in seeds}
    before = there.only(tuple(earlier)) if there else None
    whole = run.judged is not None and set(run.judged.seeds) <= set(seeds)
    moved = replace(run.only(tuple(seeds)), folder=folder, judged=run.judged if whole else None)
    if before is not None:
        moved = replace(moved, made=(*before.made, *moved.made), confirmed=(*before.confirmed, *moved.confirmed))
    store(moved, {**earlier, **seeds})


def store(run: Run, seeds: Mapping[int, Sequence[Row]]) -> Run:
    """Write a run and its rows as one, or rows would be evidence of nobody; return the run with their sums."""
    stored = replace(run, sums=sums_of(seeds))
    write_together(run.folder, {**written(stored), ROWS: packed(seeds)})
    return stored

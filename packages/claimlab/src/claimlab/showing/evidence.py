"""What stands behind a run, in words: which commits made it, and who has seen it made again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from claimlab.running.run import Run, Witness, commit_words
from claimlab.showing.wording import number, numerals

FEW = 8
"""Words of a label at most."""


def labels(runs: Iterable[Run]) -> dict[Path, str]:
    """Return what each run is called among others, by its folder: its preset, and its settings where they are not the preset's.

    A preset may change after it was recorded. Of runs that would be called alike the one recorded last keeps the name; an
    earlier one is "quick, then ..." with those of its settings that are others now. So is one with changed settings, which says
    what it changed of the preset, where the preset it changed is another one since. What would be more than a few words is the
    preset and the end of the folder's name; the command beside it has the settings.
    """
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.recipe.name, run.recipe.label), []).append(run)
    found = dict[Path, str]()
    for (name, label), some in alike.items():
        found |= {one.folder: label for one in some}
        present = sorted((one for one in some if not one.is_older), key=recorded)
        for one in present[:-1]:
            found[one.folder] = f"{label}, then {_differing(one, present[-1]) or one.folder.name}"
        preset = sorted((one for one in alike.get((name, some[0].recipe.preset), []) if not one.is_older), key=recorded)
        if present and preset and (then := _differing(present[-1], preset[-1], set(present[-1].recipe.changed))):
            found[present[-1].folder] = f"{label}, then {then}"
        for one in some:
            if len(found[one.folder].split()) > FEW:
                found[one.folder] = f"{one.recipe.preset} {one.folder.name.rpartition('-')[2]}"
    return found


def recorded(run: Run) -> tuple[str, str]:
    """Return a key that puts what was recorded last behind: when rows were last added; within one second, the folder's name."""
    return run.time, run.folder.name


_OFF = ("none", "false", "")
# What a setting says that is off.


def _differing(run: Run, last: Run, but: Collection[str] = ()) -> str:
    """Return which of a run's settings are others in the last one, in words; those that have a name in `but` are not looked at.

    Nor are settings that are off, and came after the last one was recorded.
    """
    known = {one.name: one.value for one in last.recipe.settings}
    newer = recorded(run) > recorded(last)
    some = (
        one
        for one in run.recipe.settings
        if one.name not in but and not (newer and one.name not in known and one.value in _OFF)
    )
    return ", ".join(f"{one.name} {one.value}" for one in some if known.get(one.name) != one.value)


def made_words(run: Run) -> str:
    """Return the commits that made a run, each with its seeds where there are several."""
    if len(run.made_at) == 1:
        return run.made_at[0]
    seeds = {
        commit: [seed for one in run.made if commit_words(one.code) == commit for seed in one.seeds] for commit in run.made_at
    }
    return ", ".join(f"{commit} (seeds {numerals(sorted(some))})" for commit, some in seeds.items())


def confirmed_words(run: Run) -> str:
    """Return what the last witness found, "not confirmed since" where there was none."""
    return witness_words(run.confirmed[-1], len(run.seeds)) if run.confirmed else "not confirmed since"


def found_words(witness: Witness) -> str:
    """Return what a witness found, in short: "confirmed in part" where it compared only the first rows of its seeds."""
    if witness.outcome == "differs":
        return "not confirmed"
    return "confirmed" if whole(witness) else "confirmed in part"


def confirmed_cell(run: Run) -> str:
    """Return in a cell's few words whether the last witness found a run's rows again; `report` and `verify` tell which."""
    if not run.confirmed:
        return "not yet"
    last = run.confirmed[-1]
    word = "no" if last.outcome == "differs" else "yes" if whole(last) else "in part"
    return f"{word}, at {commit_words(last.code)}{', beside its own source' if last.beside else ''}"


def whole(witness: Witness) -> bool:
    """Return whether it compared every row that is recorded of the seeds that it made again."""
    compared, recorded = witness.rows
    return compared >= recorded


def witness_words(witness: Witness, seeds: int) -> str:
    """Return what a witness found, of which rows, where."""
    compared, recorded = witness.rows
    counted = f"{len(witness.seeds)} of {seeds} seed{'s' * (seeds != 1)}"
    if not whole(witness):
        counted = f"first {compared} of {recorded} rows of {counted}"
    within = f"within {number(witness.difference)}"
    how = {"differs": f"differs: {witness.where}", "equal": "equal", "within tolerance": within}[witness.outcome]
    if witness.beside:
        how += f", beside the source of {witness.beside[:10]} on one machine"
    return f"{found_words(witness)} at {commit_words(witness.code)} ({counted}, {how})"


def older_words(run: Run) -> str:
    """Return which of the judged seeds another source made than the one that judged, empty where none."""
    return f"seed{'s' * (len(run.older) != 1)} {numerals(run.older)} by an older source" if run.older else ""

"""What stands behind a run, in words: which commits made it, and who has seen it made again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from claimlab.running.run import Run, Witness, commit_words
from claimlab.showing.wording import number, numerals

FEW = 8
"""Words of a label at most."""


def labels(runs: Iterable[Run]) -> dict[Path, str]:
    """Return what each run is called among others, by its folder: its preset, and its settings where they are not the preset's.

    A preset may change after it was recorded: of runs that would be called alike the one recorded last keeps the name. Others,
    and those whose name would be long, are their preset and the end of their folder's name; the command beside it says more.
    """
    runs = list(runs)
    present = sorted((run for run in runs if not run.is_older), key=recorded)
    last = {(run.recipe.name, run.recipe.label): run.folder for run in present}
    found = dict[Path, str]()
    for run in runs:
        recipe = run.recipe
        named = run.is_older or last[recipe.name, recipe.label] == run.folder
        short = f"{recipe.preset} {run.folder.name.rpartition('-')[2]}"
        found[run.folder] = recipe.label if named and len(recipe.label.split()) <= FEW else short
    return found


def recorded(run: Run) -> tuple[str, str]:
    """Return a key that puts what was recorded last behind: when rows were last added; within one second, the folder's name."""
    return run.time, run.folder.name


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
    """Return what a witness found, of which rows, where: "in part" if it compared only the first rows of its seeds."""
    compared, recorded = witness.rows
    counted = f"{len(witness.seeds)} of {seeds} seed{'s' * (seeds != 1)}"
    if not whole(witness):
        counted = f"first {compared} of {recorded} rows of {counted}"
    within = f"within {number(witness.difference)}"
    how = {"differs": f"differs: {witness.where}", "equal": "equal", "within tolerance": within}[witness.outcome]
    if witness.beside:
        how += f", beside the source of {witness.beside[:10]} on one machine"
    found = "not confirmed" if witness.outcome == "differs" else "confirmed" if whole(witness) else "confirmed in part"
    return f"{found} at {commit_words(witness.code)} ({counted}, {how})"


def older_words(run: Run) -> str:
    """Return which of the judged seeds another source made than the one that judged, empty where none."""
    return f"seed{'s' * (len(run.older) != 1)} {numerals(run.older)} by an older source" if run.older else ""

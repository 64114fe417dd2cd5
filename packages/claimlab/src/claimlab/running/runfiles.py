"""Files of runs: how a `Run` is written to its folder, read from it, and found."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import json
import os
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from claimlab.claims import FAILED, HELD, JudgedClaim
from claimlab.decoding import decode, parse_object
from claimlab.errors import LabError, UsageError
from claimlab.running.plan import Recipe
from claimlab.running.provenance.machine import Machine
from claimlab.running.provenance.made import Made
from claimlab.running.provenance.source_tree import Code
from claimlab.running.run import Judged, Run, Witness
from claimlab.running.storage import AGAIN, COMMITTED, PREPARED, read_current, refuse_links, write_together

FORMAT = 2
"""Of `run.json`; the first had no source trees, no witnesses and a folder named by twelve digits."""


def read_run(folder: Path, judged: bool = True) -> Run:
    """Return the run of a folder."""
    refuse_links(folder)
    text, judgement = _texts(folder, judged)
    content = _parsed(folder, "run.json", text)
    claims = None if judgement is None else _parsed(folder, "claims.json", judgement)
    try:
        if content.get("format") != FORMAT:
            raise ValueError(f"format {content.get('format')!r}, not {FORMAT}")
        run = _run(folder, content)
        _check(run)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _unreadable(folder, "run.json", error) from error
    try:
        return run if claims is None else dataclasses.replace(run, judged=_judged(claims, run))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _unreadable(folder, "claims.json", error) from error


def _texts(folder: Path, judged: bool) -> tuple[bytes, bytes | None]:
    """Return what `run.json` and `claims.json` hold at one instant; where others write both meanwhile they are read again."""
    name, claims = "run.json", None
    try:
        run = read_current(folder, name)
        for _ in range(AGAIN):
            name = "claims.json"
            claims = read_current(folder, name) if judged else None
            name = "run.json"
            now = read_current(folder, name)
            if now == run:
                break
            run = now
    except OSError as error:
        raise _unreadable(folder, name, error) from error
    if run is None:
        raise _unreadable(folder, name, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    return run, claims


def _parsed(folder: Path, name: str, text: bytes) -> dict[str, Any]:
    try:
        return parse_object(text.decode())
    except ValueError as error:
        raise _unreadable(folder, name, error) from error


def _unreadable(folder: Path, name: str, error: Exception) -> LabError:
    way_out = "Delete it and run the same command again" if name == "claims.json" else "Delete the folder"
    if isinstance(error, ValueError) and str(error).startswith("format "):
        way_out = "Read it with the release that wrote it, or make the run again in another folder"
    found = error.strerror if isinstance(error, OSError) else f"KeyError: {error}" if isinstance(error, KeyError) else error
    return LabError(f"A run's files should be readable. Found that {folder / name} is not ({found}). {way_out}.")


def _check(run: Run) -> None:
    """Raise an error for what contradicts itself."""
    twice = [one for one, after in itertools.pairwise(run.seeds) if one == after]  # they ascend
    if twice:
        raise ValueError(f"made holds seed {twice[0]} twice")
    if not run.recipe.name or "seed" not in run.recipe.config:
        raise ValueError("name is empty" if not run.recipe.name else "config lacks 'seed'")
    for place, one in enumerate(run.recipe.settings):
        if one.name not in run.recipe.config:
            raise ValueError(f"settings[{place}] names {one.name!r}, which config lacks")


def check_package(run: Run, package: str | None) -> None:
    """Refuse to import what a record names, unless the user names it too."""
    if run.recipe.package != package:
        found = f"Found one of {run.recipe.package}, {run.folder.name}"
        raise LabError(f"A record's package should be the one that you name. {found}. Pass --package if you trust it.")


def keep(run: Run) -> None:
    """Write `run.json` and `claims.json` as one; none of the latter where nothing was judged."""
    write_together(run.folder, written(run))


def written(run: Run) -> dict[str, str | None]:
    """Return the files of a run but its rows, by name; None says that there is to be none."""
    recipe = {"format": FORMAT, **dataclasses.asdict(run.recipe), "changed": run.recipe.changed}
    content = {
        **recipe,
        "wall_seconds": run.wall_seconds,
        "made": [_flat(one) for one in run.made],
        "confirmed": [_flat(one) for one in run.confirmed],
    }
    if run.sums:
        content["rows"] = {str(seed): list(run.sums[seed]) for seed in sorted(run.sums)}
    files: dict[str, str | None] = {"run.json": as_json(content), "claims.json": None}
    if run.judged is not None:
        facts = {"name": run.recipe.name, "preset": run.recipe.preset}
        files["claims.json"] = as_json({**facts, **dataclasses.asdict(run.judged)})
    return files


def find_runs(directory: Path) -> list[Run]:
    """Return all runs below a folder that came to their end, and what was set apart from them.

    They come by name, the paper's preset first, changed ones last, what another source made after what the last one did.
    """
    if not directory.is_dir():
        raise UsageError(f"A report should be of a folder of runs. Found no folder {directory}. Make one with the command run.")
    runs = (read_run(folder) for folder in run_folders(directory))
    return sorted((run for run in runs if run.judged or run.is_older), key=_place)


def run_folders(directory: Path, patterns: Sequence[str] = ("run.json",)) -> list[Path]:
    """Return the folders below a folder that hold a `run.json`, or another file; what a writer removes meanwhile is skipped."""
    walked = ((Path(place), (*folders, *files)) for place, folders, files in os.walk(directory))  # `rglob` fails on such a one
    found = (place for place, names in walked if any(fnmatch(one, pattern) for one in names for pattern in patterns))
    folders = {folder.parent if folder.name == COMMITTED else folder for folder in found if folder.name != PREPARED}
    return sorted(folders)


def _place(run: Run) -> tuple[str, bool, bool, str, bool, str]:
    recipe = run.recipe
    return recipe.name, bool(recipe.changed), recipe.preset != "paper", recipe.label, run.is_older, str(run.folder)


def as_json(content: object) -> str:
    """Return JSON for people and for diffs: indented, with a last line break."""
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _flat(entry: Made | Witness) -> dict[str, Any]:
    """Return an entry of `run.json`: what is nested in memory is not in the file."""
    found = dataclasses.asdict(entry)
    code, machine = found.pop("code"), found.pop("machine")
    return {"seeds": found.pop("seeds"), **code, **machine, **found}


def _nested(entry: dict[str, Any]) -> dict[str, Any]:
    found = dict(entry)
    parts = (("code", Code), ("machine", Machine))
    nested = {name: {f.name: found.pop(f.name) for f in dataclasses.fields(kind)} for name, kind in parts}
    return {**found, **nested}


def _run(folder: Path, content: dict[str, Any]) -> Run:
    recipe = decode(Recipe, {one.name: content[one.name] for one in dataclasses.fields(Recipe)}, "")
    lists = {name: decode(tuple[dict[str, Any], ...], content[name], name) for name in ("made", "confirmed")}
    made = [decode(Made, _nested(one), f"made[{place}]") for place, one in enumerate(lists["made"])]
    confirmed = [decode(Witness, _nested(one), f"confirmed[{place}]") for place, one in enumerate(lists["confirmed"])]
    seconds = decode(float, content["wall_seconds"], "wall_seconds")
    sums = decode(dict[str, tuple[int, str]], content.get("rows", {}), "rows")
    return Run(folder, recipe, tuple(made), seconds, tuple(confirmed), None, {int(seed): one for seed, one in sums.items()})


def _judged(content: dict[str, Any], run: Run) -> Judged:
    facts = {one.name: content[one.name] for one in dataclasses.fields(Judged)}
    judged = decode(Judged, facts, "")
    known = {*run.seeds}
    strange = [seed for seed in judged.seeds if seed not in known]
    if strange:
        raise ValueError(f"seeds holds {strange[0]}, which run.json knows nothing of")
    for place, claim in enumerate(judged.claims):
        _check_numbers(f"claims[{place}]", claim)
    return judged


def _check_numbers(where: str, claim: JudgedClaim) -> None:
    """Reject a verdict without a number, and numbers that contradict each other."""
    if claim.measured is None and claim.verdict in (*HELD, *FAILED):
        raise ValueError(f"{where} has the verdict {claim.verdict!r} and no measured number")
    for one in (claim, *claim.parts):
        if one.measured is not None and (one.low is None or one.high is None or one.low > one.high or one.n < 1):
            found = f"{one.low} and {one.high} on {one.n}"
            raise ValueError(f"{where} should have a number between two ends, on a seed, but has {found}")

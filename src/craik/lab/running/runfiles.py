"""Files of runs: how a `Run` is written to its folder, read from it, and found."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from craik.lab.claims import JudgedClaim, Reading
from craik.lab.errors import LabError, UsageError
from craik.lab.running.provenance.machine import Machine
from craik.lab.running.provenance.made import Made
from craik.lab.running.provenance.source_tree import Code
from craik.lab.running.recipe import Recipe
from craik.lab.running.run import Judged, Picture, Run, Witness
from craik.lab.running.storage import write_atomically

FORMAT = 2
"""Of `run.json`; the first had no source trees, no witnesses and a folder named by twelve digits."""


def read_run(folder: Path) -> Run:
    """The run of a folder.

    Raises:
        LabError: its files cannot be read.
    """
    try:
        content = _object(folder / "run.json")
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, not {FORMAT}")
        path = folder / "claims.json"
        judged = _judged(_object(path)) if path.exists() else None
        return Run(folder, *_run(content), judged)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        found = f"{type(error).__name__}: {error}"
        raise LabError(
            f"a run must have a readable run.json and claims.json, but {folder} has not ({found}); repeat or delete it"
        ) from error


def keep(run: Run) -> None:
    """Writes `run.json`, and `claims.json` where something was judged."""
    recipe = {"format": FORMAT, **dataclasses.asdict(run.recipe), "changed": run.recipe.changed}
    content = {
        **recipe,
        "wall_seconds": run.wall_seconds,
        "made": [_flat(one) for one in run.made],
        "confirmed": [_flat(one) for one in run.confirmed],
    }
    write_atomically(run.folder / "run.json", as_json(content))
    if run.judged is not None:
        facts = {"name": run.recipe.name, "preset": run.recipe.preset}
        write_atomically(run.folder / "claims.json", as_json({**facts, **dataclasses.asdict(run.judged)}))


def find_runs(directory: Path) -> list[Run]:
    """All runs below a folder that came to their end, and what was set apart from them.

    They come by name, the paper's preset first, changed ones last, what another source made after what the last one did.

    Raises:
        UsageError: the directory does not exist.
        LabError: a run's files cannot be read.
    """
    if not directory.is_dir():
        raise UsageError(f"a report is made from a folder of runs, but {directory} is none; craik run NAME --out makes one")
    runs = (read_run(path.parent) for path in sorted(directory.rglob("run.json")))
    return sorted((run for run in runs if run.judged or run.is_older), key=_place)


def _place(run: Run) -> tuple[str, bool, bool, str, bool, str]:
    recipe = run.recipe
    return recipe.name, bool(recipe.changed), recipe.preset != "paper", recipe.label, run.is_older, str(run.folder)


def as_json(content: object) -> str:
    """JSON for people and for diffs: indented, with a last line break."""
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _flat(entry: Made | Witness) -> dict[str, Any]:
    """An entry of `run.json`: what is nested in memory is not in the file."""
    found = dataclasses.asdict(entry)
    code, machine = found.pop("code"), found.pop("machine")
    return {"seeds": found.pop("seeds"), **code, **machine, **found}


def _nested(entry: dict[str, Any]) -> dict[str, Any]:
    code = Code(**{one.name: entry.pop(one.name) for one in dataclasses.fields(Code)})
    machine = Machine(**{one.name: entry.pop(one.name) for one in dataclasses.fields(Machine)})
    return {**entry, "code": code, "machine": machine, "seeds": tuple(entry["seeds"])}


def _object(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise TypeError(f"{path.name} holds a {type(content).__name__} instead of an object")
    return content


def _run(content: dict[str, Any]) -> tuple[Recipe, tuple[Made, ...], float, tuple[Witness, ...]]:
    facts: dict[str, Any] = {one.name: content[one.name] for one in dataclasses.fields(Recipe)}
    facts["settings"] = tuple(facts["settings"])
    recipe = Recipe(**facts)
    made = tuple(Made(**_nested(entry)) for entry in content["made"])
    confirmed = tuple(Witness(**_nested({**one, "rows": tuple(one["rows"])})) for one in content["confirmed"])
    return recipe, made, content["wall_seconds"], confirmed


def _claim(content: dict[str, Any]) -> JudgedClaim:
    facts = {**content}
    facts["earlier"] = tuple(Reading(**one) for one in content.get("earlier", ()))  # which records of older versions lack
    return JudgedClaim(**facts)


def _judged(content: dict[str, Any]) -> Judged:
    return Judged(
        tuple(content["seeds"]),
        tuple(content["older"]),
        content["seconds"],
        tuple(_claim(claim) for claim in content["claims"]),
        tuple(Picture(**picture) for picture in content["figures"]),
    )

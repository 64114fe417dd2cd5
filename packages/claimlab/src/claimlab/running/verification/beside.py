"""Rows of a record made by the source that recorded them, on this machine.

Training amplifies rounding, and another kind of processor rounds otherwise: a record from elsewhere is not found again there,
whatever the source. Where both sources run on one machine, rows that they make are equal, or the source makes others.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from claimlab.errors import LabError
from claimlab.rows import Row
from claimlab.running.plan import Recipe
from claimlab.running.provenance.source_tree import folder_of, sources
from claimlab.running.rowfiles import read_partial
from claimlab.running.workers.local import ONE_THREAD

CHILD = """
import dataclasses, importlib, json, sys, time
lab, name, package, preset, values, seed, path = json.loads(sys.stdin.read())
try:
    tools = importlib.import_module(lab)
    experiment = tools.load(name, package)
    shared = lambda one: len({field.name for field in dataclasses.fields(one.config)} & set(values))
    if hasattr(experiment, "part_of"):
        experiment = experiment.part_of(preset)
    elif shared(experiment) < len(values):  # it may have been one of its own, which has become a part of this one
        every = [tools.load(one.name, package) for one in tools.listing(package)]
        experiment = max([experiment, *every], key=shared)
    make, run = experiment.config, experiment.run
except ModuleNotFoundError:  # the first sources had a module an experiment
    experiment = importlib.import_module(package + "." + name.replace("-", "_"))
    make, run = experiment.Config, experiment.run
known = {field.name for field in dataclasses.fields(make)}  # records were given the fields that came later
values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items() if key in known}
config = make(**values)
if "torch" in sys.modules:
    sys.modules["torch"].set_num_threads(1)
start = time.perf_counter()
with open(path, "w", encoding="utf-8") as file:
    for row in run(config):
        first = {"seed": seed, "seconds": round(time.perf_counter() - start, 3)}
        file.write(json.dumps(first | {key: value for key, value in row.items() if key not in first}, allow_nan=False) + "\\n")
        file.flush()
"""
"""What runs with the earlier source: names that every source has had since records have a witness."""


def made_beside(commit: str, recipe: Recipe, seed: int, minutes: float | None = None) -> tuple[list[Row], bool]:
    """Return the rows of a seed as a commit's source makes them here, and whether it made them all in time."""
    with tempfile.TemporaryDirectory() as folder:
        lab, there = unpack(commit, recipe.package, Path(folder, "src"))
        path = Path(folder, "rows.jsonl")
        words = json.dumps([lab, recipe.name, there, recipe.preset, {**recipe.config, "seed": seed}, seed, str(path)])
        whole = _run(words, Path(folder), commit, minutes)
        return read_partial(path), whole


def unpack(commit: str, package: str, target: Path) -> tuple[str, str]:
    """Put a package's sources as they were at a commit into a folder; nothing of the checkout is changed.

    Returns:
        The module of the lab that loads experiments there, and the package's name there.
    """
    source = folder_of(package)
    target.mkdir()
    try:
        root = Path(_git(source, "rev-parse", "--show-toplevel").decode().strip())
        own = source.resolve().relative_to(root.resolve()).as_posix()
        # Where the source was before, its name there, the module that loaded experiments.
        former: tuple[str, str, str] | None = getattr(importlib.import_module(package), "FORMERLY", None)
        if former and not _git(root, "ls-tree", "--end-of-options", commit, "--", own):
            place, package, lab = former
            _put(root, commit, Path(place), target)
            return lab, package
        for folder in map(folder_of, sources(package)):
            if folder.resolve().is_relative_to(root.resolve()):
                _put(root, commit, folder.resolve().relative_to(root.resolve()), target)
    except (OSError, subprocess.CalledProcessError) as error:
        rule = "Verifying beside the recording source should find that source in git"
        said = error.stderr.decode(errors="replace").splitlines() if isinstance(error, subprocess.CalledProcessError) else []
        found = f"Found no {source.name} of {commit[:10]} ({next(filter(None, reversed(said)), error)})"
        raise LabError(f"{rule}. {found}. Fetch the whole history.") from error
    return "claimlab.experiment", package


def _git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=True).stdout


def _put(root: Path, commit: str, place: Path, target: Path) -> None:
    """Put a folder of a commit, alone and without those above it, into another."""
    tree = commit if place.parent == Path() else f"{commit}:{place.parent.as_posix()}"
    packed = _git(root, "archive", "--format=tar", "--end-of-options", tree, place.name)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")


def _run(words: str, folder: Path, commit: str, minutes: float | None) -> bool:
    paths = os.pathsep.join([str(folder / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": paths}
    # Where the command runs, as data may be named from there, but without that folder's packages (-P): the earlier ones count.
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        _, errors = child.communicate(words, None if minutes is None else 60 * minutes)
    except subprocess.TimeoutExpired:
        return False
    finally:
        child.kill()
        child.wait()
    if child.returncode:
        found = (errors.strip().splitlines() or [f"exit status {child.returncode}"])[-1]
        raise LabError(f"The source of {commit[:10]} should still run. Found {found}. Verify without --both.")
    return True

"""What may go: seeds that another source made and that were set apart, and half seeds with their checkpoints."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from claimlab.errors import LabError, UsageError
from claimlab.running.run import OLDER
from claimlab.running.runfiles import run_folders
from claimlab.running.storage import is_locked, locked
from claimlab.running.watching.status import STATUS

HALF = ("seed-*.partial.jsonl", "seed-*.checkpoint*", STATUS)
"""What a run leaves that did not come to its end."""


@dataclass(frozen=True)
class Leftover:
    """Something that may go: where it is, its bytes, and why it stays nevertheless."""

    path: Path
    size: int
    why_kept: str = ""


def clean(directory: Path, older: bool, half: bool, dry_run: bool) -> list[Leftover]:
    """Remove what may go below a folder of runs, of no run that a process writes now."""
    if not directory.is_dir():
        raise UsageError(f"What is cleaned should be a folder of runs. Found no folder {directory}. Name another.")
    if not (older or half):
        raise UsageError("clean should have --older, --half or both. Found neither. Pass one; --dry-run only shows what goes.")
    found: list[Leftover] = []
    for folder in run_folders(directory, ("run.json", *HALF)):
        apart = folder / OLDER
        paths = sorted(apart.iterdir()) if older and apart.is_dir() and not apart.is_symlink() else []
        paths += [path for pattern in HALF for path in sorted(folder.glob(pattern))] if half else []
        if paths and folder.parent.name != OLDER:
            found += _removed(folder, paths, dry_run)
    return found


def _removed(folder: Path, paths: list[Path], dry_run: bool) -> list[Leftover]:
    if dry_run:
        why = "a process writes this run" if is_locked(folder) else ""
        return [Leftover(path, _size(path), why) for path in paths]
    try:
        with locked(folder):
            found = [Leftover(path, _size(path)) for path in paths]
            for path in paths:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            if (folder / OLDER).is_dir() and not list((folder / OLDER).iterdir()):
                (folder / OLDER).rmdir()
    except LabError as error:
        return [Leftover(path, _size(path), str(error)) for path in paths]
    return found


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return sum(one.lstat().st_size for one in path.rglob("*") if one.is_file())
    return path.lstat().st_size

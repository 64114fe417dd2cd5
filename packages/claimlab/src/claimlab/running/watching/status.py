"""What runs, what is done, what failed and why, how long it will take, and what may go.

A run says where it is in `.status.json` of its folder while it is not finished. Whether it still runs, its lock tells: a
process that was killed has let go of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from claimlab.decoding import decode, parse_object
from claimlab.errors import Interrupted, LabError, UsageError
from claimlab.running.plan import Plan, Recipe
from claimlab.running.provenance.made import now
from claimlab.running.run import OLDER
from claimlab.running.runfiles import as_json, read_run, run_folders
from claimlab.running.storage import current, is_locked, locked, read_file, refuse_links
from claimlab.running.workers.worker import Event, OnEvent
from claimlab.showing.evidence import confirmed_words, older_words

STATUS = ".status.json"
"""The file in which an unfinished run says where it is."""

OFTEN = 2.0
"""Seconds between two words on how far a seed is."""

State = Literal["running", "failed", "stopped", "killed", "finished", "unfinished", "damaged"]
"""How a run ended: by itself, by a failure, by a signal, without a word; or not yet, or nobody knows; or it is unreadable."""


@dataclass(frozen=True)
class Seed:
    """Where a seed is: the share that is done, None where the experiment does not tell, its own words, its time."""

    state: Literal["started", "advanced", "again", "kept", "finished", "reused", "failed"]
    fraction: float | None = None
    text: str = ""
    rows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Going:
    """What an unfinished run says: `state` is "running" until it ends, `seconds` are those until this was written."""

    name: str
    label: str
    seeds: tuple[int, ...]
    state: Literal["running", "failed", "stopped"] = "running"
    error: str = ""
    started: str = ""
    seconds: float = 0.0
    at: dict[str, Seed] = field(default_factory=dict[str, Seed])

    @property
    def left(self) -> float | None:
        """Seconds until all seeds are done, as fast as it went so far; None where nothing was computed yet."""
        reused = sum(one.state == "reused" for one in self.at.values())
        parts = [1.0 if one.state == "finished" else one.fraction or 0.0 for one in self.at.values() if one.state != "reused"]
        computed = sum(parts)
        return self.seconds / computed * (len(self.seeds) - reused - computed) if computed > 0.01 else None


@contextlib.contextmanager
def told(plan: Plan, folder: Path, on_event: OnEvent) -> Generator[OnEvent, None, None]:
    """Write down where a run is as it goes on, and how it ended; nothing is left of one that came to its end."""
    start, last = time.monotonic(), [0.0]
    going = Going(plan.experiment.name, Recipe.of(plan).label, plan.seeds, started=now())

    def write(**changes: object) -> None:
        nonlocal going
        going = dataclasses.replace(going, seconds=round(time.monotonic() - start, 1), **changes)  # pyright: ignore[reportArgumentType] # its fields
        last[0] = time.monotonic()
        temporary = folder / f"{STATUS}.tmp"  # not synced: after a power cut the lock is free, and that says enough
        with contextlib.suppress(OSError):  # a full disk must not end a run for this
            temporary.write_text(as_json(dataclasses.asdict(going)), encoding="utf-8")
            temporary.replace(folder / STATUS)

    def hear(event: Event) -> None:
        on_event(event)
        if event.seed is None or event.kind == "notice":
            return
        seed = Seed(event.kind, event.fraction, event.text, event.rows, round(event.seconds, 1))
        going.at[str(event.seed)] = seed
        if event.kind != "advanced" or time.monotonic() - last[0] > OFTEN:
            write()

    write()
    try:
        yield hear
    except BaseException as error:
        stopped = isinstance(error, Interrupted | KeyboardInterrupt)
        said = str(error) if isinstance(error, LabError | KeyboardInterrupt) else f"{type(error).__name__}: {error}"
        write(state="stopped" if stopped else "failed", error=said or "stopped")
        raise
    else:
        (folder / STATUS).unlink(missing_ok=True)


@dataclass(frozen=True)
class Status:
    """What can be said of a run: how many seeds it has and is to have, the seconds left where somebody knows.

    The words say where one that runs is, why one failed, or who has seen a finished one made again.
    """

    folder: Path
    name: str
    label: str
    state: State
    done: int
    wanted: int
    left: float | None
    words: str


def status(directory: Path) -> list[Status]:
    """Return the state of every run below a folder, by name."""
    if not directory.is_dir():
        raise UsageError(f"A status should be of a folder of runs. Found no folder {directory}. Make one with the command run.")
    folders = run_folders(directory, ("run.json", STATUS))
    found = [_status(folder) for folder in folders if folder.parent.name != OLDER]
    return sorted(found, key=lambda one: (one.name, one.label, str(one.folder)))


def _status(folder: Path) -> Status:
    try:
        refuse_links(folder)
        return _unfinished(folder) if (folder / STATUS).exists() else _recorded(folder)
    except LabError as error:
        return Status(folder, "", "", "damaged", 0, 0, None, str(error))


def _recorded(folder: Path) -> Status:
    run = read_run(folder)
    wanted = run.judged.seeds if run.judged else run.seeds
    state: State = "running" if is_locked(folder) else "finished" if run.judged else "unfinished"
    words = ", ".join(filter(None, [confirmed_words(run), older_words(run)]))
    done = len(set(run.seeds) & set(wanted))
    return Status(folder, run.recipe.name, run.recipe.label, state, done, len(wanted), None, words)


def _unfinished(folder: Path) -> Status:
    path = folder / STATUS
    try:
        content = parse_object(read_file(path).decode())
        going: Going = decode(Going, content, "")
    except (OSError, ValueError) as error:
        raise LabError(f"A run's status should be readable. Found that {path} is not ({error}). Delete it.") from error
    done = len(set(read_run(folder).seeds) & set(going.seeds)) if current(folder, "run.json") else 0
    facts = (folder, going.name, going.label)
    if is_locked(folder):
        under_way = [(seed, one) for seed, one in going.at.items() if one.state in ("started", "advanced", "again")]
        where = [f"seed {seed} {100 * (one.fraction or 0):.0f} % {one.text}".strip() for seed, one in under_way]
        return Status(*facts, "running", done, len(going.seeds), going.left, ", ".join(where))
    state: State = "killed" if going.state == "running" else going.state
    words = going.error or f"it was killed after {going.seconds:.0f} s; the same command continues"
    return Status(*facts, state, done, len(going.seeds), None, words)


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

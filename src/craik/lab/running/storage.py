"""Files that are either old or new, never half: atomic writes, a lock on a folder, a check before any work."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from filelock import FileLock, Timeout

from craik.lab.errors import LabError, UsageError

LOCK = ".lock"
"""The file in a run's folder by which a process holds it."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes a file so that readers, and a run after a power cut, see the old content or the new.

    Args:
        path: the file; its folder must exist.
        content: text is written as UTF-8.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)  # the rename is durable only when the folder is on disk too
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def ensure_writable(folder: Path, option: str = "--out") -> None:
    """Makes the folder and tries to write in it, so that no work is done for a run that cannot be recorded.

    Args:
        folder: where something will be written.
        option: what the command line calls it, for the sentence.

    Raises:
        UsageError: the folder cannot be made or written.
    """
    probe = folder / f".probe.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(
            f"the output folder must be writable, but {folder} is not ({reason}); name another with {option}"
        ) from error


def ensure_file(path: Path, option: str = "--out") -> None:
    """Makes the folder of a file that will be written and checks that nothing is in its way.

    Args:
        path: the file; one that exists will be replaced.
        option: what the command line calls it, for the sentence.

    Raises:
        UsageError: the path is a folder, or its own folder cannot be made or written.
    """
    if path.is_dir():
        raise UsageError(f"{option} must name a file, but {path} is a folder; name a file in it")
    ensure_writable(path.parent, option)


@contextlib.contextmanager
def locked(folder: Path) -> Generator[None, None, None]:
    """Holds the folder for this process; a killed process lets go of it by itself.

    Raises:
        LabError: another process holds it.
    """
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise LabError(
            f"one process at a time writes a run, but another process is writing {folder}; wait for it or end it"
        ) from error
    try:
        for left in folder.glob(".*.tmp"):  # of a process that was killed between writing and renaming
            left.unlink(missing_ok=True)
        yield
    finally:
        lock.release()

"""Arrays that are made once and kept on disk, under a name that says what they were made from.

A file's name holds a hash of its generator's version, of its settings and of the simulator's version: when any of them
changes the old file is not found. A generator states its version where it is defined, and whoever changes what it draws
raises it (the tests pin a digest of what each version draws). A file that cannot be read back whole is made anew.
"""

import hashlib
import logging
import os
import zipfile
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from multiprocessing import current_process
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from mechlearn.arguments import check_path

Arrays = Mapping[str, np.ndarray]

PATIENCE = 10.0
"""Seconds that a process waits for another one's file before it says so."""

_MAKING = "MECHLEARN_MAKING"
# Files that a process makes, for the processes that it starts meanwhile: they inherit its environment.


def default_folder() -> Path:
    """Return mechlearn's folder below ``$XDG_CACHE_HOME``, or below ``~/.cache`` where that is not set."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "mechlearn"


def key_of(version: int, arguments: Sequence[object], packages: Sequence[str]) -> str:
    """Return sixteen hex digits that change with what the data are made from.

    Args:
        version: of the generator.
        arguments: that it was called with; two with the same repr are the same.
        packages: names of the installed ones that simulate or draw, whose versions matter.
    """
    made_from = (version, *arguments, *map(version_of, packages))
    return hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]


def cached(folder: str | Path | None, name: str, make: Callable[[], Arrays]) -> dict[str, np.ndarray]:
    """Return the arrays of a file, made first if it is not there or damaged.

    Two processes that want the same file do not both make it: the second waits, and logs a warning after some seconds. The
    file is replaced atomically.

    Args:
        folder: of the file; None makes the arrays and keeps nothing.
        name: of the file, without its ending.
        make: makes the arrays; none may hold Python objects.

    Raises:
        TypeError: a folder that is no path.
        RuntimeError: asked for by a process that was started while the file is made, and imports the script that makes it: both
            would wait for ever.
    """
    if folder is None:
        return dict(make())
    check_path("cache", folder)
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = Path(folder) / f"{name}.npz"
    _refuse_to_wait_for_itself(path)
    with _waiting(path):
        found = _read(path)
        if found is None:
            with _making(path):
                found = dict(make())
            _write(path, found)
    return found


def _refuse_to_wait_for_itself(path: Path) -> None:
    # `_inheriting` is how the standard library tells that a new process still imports its script.
    importing = getattr(current_process(), "_inheriting", False)
    if importing and str(path.resolve()) in _made_meanwhile():
        raise RuntimeError(
            'A script that makes data in several processes should do so below `if __name__ == "__main__":`: each of them '
            f"imports the script first. Found it asking for {path.name} while it was imported."
        )


@contextmanager
def _making(path: Path) -> Generator[None]:
    own = str(path.resolve())
    os.environ[_MAKING] = os.pathsep.join([own, *_made_meanwhile()])
    try:
        yield
    finally:
        os.environ[_MAKING] = os.pathsep.join(one for one in _made_meanwhile() if one != own)


def _made_meanwhile() -> list[str]:
    return [one for one in os.environ.get(_MAKING, "").split(os.pathsep) if one]


@contextmanager
def _waiting(path: Path) -> Generator[None]:
    lock = FileLock(path.with_suffix(".lock"))
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        logging.getLogger(__name__).warning("Waiting for another process that makes or reads %s.", path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _read(path: Path) -> dict[str, np.ndarray] | None:
    """The arrays, or None where there is no whole file; the archive's checksums are verified on the way."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError):
        return None


def _write(path: Path, arrays: Arrays) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, **dict(arrays))  # pyright: ignore[reportArgumentType] # the stub reads ** as `allow_pickle`
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def version_of(package: str) -> str:
    """Return the installed version of a package, "" where there is none: part of what a cached world depends on."""
    try:
        return installed(package)
    except PackageNotFoundError:
        return ""

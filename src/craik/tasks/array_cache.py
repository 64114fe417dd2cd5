"""Arrays that take long to make, kept on disk by the hash of the settings that made them.

A file is either whole or absent: it is written beside its place and renamed. Of several processes that want the same
arrays at once, one makes them and the others wait.
"""

import contextlib
import fcntl  # Linux and macOS; the lock must vanish with its process, which only the kernel can promise
import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float64]]
Setting = str | int | float | bool | None


def cache_folder(folder: Path | str | None = None) -> Path:
    """Return a folder for caches: the one that is given, or ``craik`` in the XDG cache folder of this user."""
    if folder is not None:
        return Path(folder)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "craik"


def cached_arrays(
    name: str, settings: Mapping[str, Setting], make: Callable[[], Arrays], folder: Path | str | None = None
) -> Arrays:
    """Return the arrays of these settings: read from the cache, or made and kept.

    Args:
        name: what the arrays are; the first part of the file's name.
        settings: everything that the arrays depend on, the versions of what makes them included.
        make: makes the arrays.
        folder: of the cache; None is the user's (`cache_folder`).

    Raises:
        ValueError: the cached file cannot be read.
    """
    text = json.dumps(dict(settings), sort_keys=True)
    path = cache_folder(folder) / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.with_suffix(".lock")):
            if not path.exists():  # else another process made them while this one waited
                _write(path, make(), text)
    return _read(path)


@contextlib.contextmanager
def _alone(path: Path) -> Generator[None, None, None]:
    """Hold a lock file, waiting for whoever holds it. It stays behind, empty: removing it would race with a waiter."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(path: Path, arrays: Arrays, settings: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays, settings=np.array(settings))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name != "settings"}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"A cached file should be readable. Found {path} is not ({error}). Delete it.") from error

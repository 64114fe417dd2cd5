"""Files that are either old or new, never half: atomic writes, also of several, a lock on a folder, a check before work."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Generator, Mapping
from pathlib import Path

from claimlab.errors import LabError, UsageError

LOCK = ".lock"
"""The file in a run's folder by which a process holds it."""


PREPARED = ".prepared"
"""A folder in a run's that holds files which are being written together."""

COMMITTED = ".committed"
"""The same folder once they are whole: from here on they count, wherever they lie."""

MOST = 2**26
"""Bytes that are read of one file of a run: 64 MiB, a hundred times the largest recorded one."""

AGAIN = 5
"""How often a reader looks for a file that a writer moves."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that readers, and a run after a power cut, see the old content or the new."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write_new(temporary, content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_together(folder: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Write several files of a folder as one: after a kill or a power cut at any instant all are old or all are new.

    They are written aside; renaming their folder is the instant from which they count; `settle` puts them in their places.
    """
    settle(folder)
    prepared = folder / PREPARED
    prepared.mkdir()
    try:
        for name, content in files.items():
            _write_new(prepared / name, content or b"")
        _sync_folder(prepared)
    except BaseException:
        shutil.rmtree(prepared, ignore_errors=True)
        raise
    prepared.replace(folder / COMMITTED)
    _sync_folder(folder)
    settle(folder)


def settle(folder: Path) -> None:
    """Put files in their places that a killed process had written together; what it had not written whole goes."""
    shutil.rmtree(folder / PREPARED, ignore_errors=True)
    committed = folder / COMMITTED
    if not committed.is_dir():
        return
    for path in sorted(committed.iterdir()):
        if path.stat().st_size:
            path.replace(folder / path.name)
        else:  # an empty one says that there is none any more
            (folder / path.name).unlink(missing_ok=True)
            path.unlink()
    _sync_folder(folder)
    committed.rmdir()


def current(folder: Path, name: str) -> Path | None:
    """Return the file of a name as it counts: where `write_together` has put it until that is settled; None without one."""
    written = folder / COMMITTED / name
    try:
        return written if written.stat().st_size else None
    except OSError:
        path = folder / name
        return path if path.exists() else None


def read_current(folder: Path, name: str) -> bytes | None:
    """Return what the file of a name holds as it counts; None without one.

    Where another process moves it meanwhile it is looked for again.
    """
    for _ in range(AGAIN):
        path = current(folder, name)
        try:
            return None if path is None else read_file(path)
        except FileNotFoundError:
            continue
    return None


def read_file(path: Path, most: int = MOST) -> bytes:
    """Return what a file holds; a link is not followed, a pipe or a device not waited for."""
    further = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | further)) as file:  # Path.open takes no opener
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            what = f"{found.st_size:,} bytes, of at most {most:,}" if stat.S_ISREG(found.st_mode) else "it is no file"
            raise OSError(errno.EFBIG, what, str(path))
        return file.read()


class Tail:
    """Whole lines that were added to a file since the last look; none where it is not there."""

    def __init__(self, path: Path) -> None:
        self._path, self._place = path, 0

    def new(self) -> bytes:
        """Return them."""
        with contextlib.suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._place)
            found = file.read()
            whole = found[: found.rfind(b"\n") + 1]
            self._place += len(whole)
            return whole
        return b""


def refuse_links(folder: Path) -> None:
    """Reject a run's folder that holds anything but files and folders of its own: what is read or written stays inside."""
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *files)):
            with contextlib.suppress(FileNotFoundError):  # another process has moved it
                mode = path.lstat().st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    what = "a link" if stat.S_ISLNK(mode) else "a pipe or a device"
                    rule = "A run's folder should hold files and folders of its own"
                    raise LabError(f"{rule}. Found {what} at {path}. Delete it, or copy what it stands for.")


def _write_new(path: Path, content: str | bytes) -> None:
    path.unlink(missing_ok=True)  # whatever lies there, a link too, is not written through
    try:
        with path.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:  # a full disk does not name the file
        error.filename = error.filename or str(path)
        raise


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows opens no folders; its renames are durable when they return
        return
    descriptor = os.open(folder, os.O_RDONLY)  # the rename is durable only when the folder is on disk too
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def words_of(error: OSError, otherwise: Path | None = None) -> str:
    """Return what is said of files that cannot be used: the error's own sentences where it has a rule and what was found."""
    if error.errno is None and ". Found " in str(error):
        return str(error)
    name = error.filename or (otherwise if error.errno is not None else None) or ""
    reason = f"{error.strerror or error} {name}".strip()
    return f"Files should be readable and writable. Found: {reason}. Fix that and try again."


def ensure_writable(folder: Path, option: str = "--out") -> None:
    """Make the folder and try to write in it, so that no work is done for a run that cannot be recorded."""
    probe = folder / f".probe.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.open("xb").close()  # a link is not written through
        probe.unlink()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(
            f"The output folder should be writable. Found that {folder} is not ({reason}). Name another with {option}."
        ) from error


def ensure_file(path: Path, option: str = "--out") -> None:
    """Make the folder of a file that will be written, or replaced, and check that nothing is in its way."""
    if path.is_dir():
        raise UsageError(f"{option} should name a file. Found the folder {path}. Name a file in it.")
    ensure_writable(path.parent, option)


@contextlib.contextmanager
def locked(folder: Path) -> Generator[None, None, None]:
    """Hold the folder for this process; a killed process lets go of it by itself."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # of an extra; what only computes needs no lock

    for above in (folder, folder.parent):
        if above.is_symlink():
            raise LabError(f"A run should be written where it lies. Found a link at {above}. Name the folder that it leads to.")
    refuse_links(folder)
    _refuse_links(folder / LOCK)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=1.0, poll_interval=0.05)  # `is_locked` holds it for an instant
    except Timeout as error:
        raise LabError(
            f"One process at a time should write a run. Found another that writes {folder}. Wait for it, or end it."
        ) from error
    try:
        for left in folder.glob(".*.tmp"):  # of a process that was killed between writing and renaming
            left.unlink(missing_ok=True)
        settle(folder)
        yield
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Return whether a process holds the folder now; asking leaves nothing behind."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # of an extra

    if not os.path.lexists(folder / LOCK):
        return False
    _refuse_links(folder / LOCK)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    except OSError:  # it may be read, at most
        return _is_held(folder / LOCK)
    lock.release()
    return False


def _is_held(lock: Path) -> bool:
    """Return whether somebody holds a lock that this process may not write."""
    if os.name == "nt":
        return False
    import fcntl  # noqa: PLC0415  # of Unix

    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # nor read
        return False
    return False


def _refuse_links(lock: Path) -> None:
    """Raise an error for a lock that is a link: opening one empties what it leads to."""
    try:
        found = lock.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise LabError(f"A lock should be an ordinary file. Found a link or a folder at {lock}. Delete it.")

"""The shared library of the compiled kernels: built where there is a C compiler, kept in a cache, checked before it is loaded.

Code is loaded from a folder that nobody else can write, and from a file whose bytes have the digest that is part of its name. A
folder or file of another owner, or that others may write, is left alone or built again; so is what was damaged.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

SOURCES = tuple(Path(__file__).with_name(name) for name in ("signs.c", "evidence.c", "temporal.c"))
OPTIONS = ("-O3", "-march=native", "-std=c11", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
"""No -ffast-math: sums keep their order and a NaN stays one. What is left out are errno and floating-point exceptions, which
nobody reads and which would keep a loop with a root scalar."""

SECONDS = 120
"""How long a compiler may take; it needs a fraction of a second."""


class BuildError(Exception):
    """The kernels cannot be built here; the message says why."""


def loaded() -> ctypes.CDLL:
    """Return the library: the one in the cache, else built into it, else built into a private folder that is removed again."""
    compiler = _compiler()
    stem = f"kernels-{_fingerprint(compiler)}"
    cache = _cache()
    if cache is not None:
        with contextlib.suppress(OSError):  # a cache that cannot be trusted or written, or from which nothing may be run
            return _kept(compiler, cache / "mechlearn" / "kernels", stem)
    try:
        with tempfile.TemporaryDirectory(prefix="mechlearn-kernels-") as folder:
            return ctypes.CDLL(str(_build(compiler, Path(folder), stem)))  # once loaded, the file is not needed
    except OSError as error:
        raise BuildError(f"no folder for a shared library: {error}") from None


def _cache() -> Path | None:
    """Return the user's cache folder; None without one. A relative path would be another folder in every place."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache):
        return Path(cache)
    home = os.environ.get("HOME" if os.name == "posix" else "USERPROFILE", "")
    return Path(home) / ".cache" if os.path.isabs(home) else None


def _kept(compiler: str, folder: Path, stem: str) -> ctypes.CDLL:
    """Load the library from the cache, built if it is not there or not as it was built."""
    folder.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for below in (folder.parent, folder):
        below.mkdir(mode=0o700, exist_ok=True)
    _check_private(folder)
    for file in sorted(folder.glob(f"{stem}-*.so")):
        if _sound(file):
            return ctypes.CDLL(str(file))
        file.unlink()
    return ctypes.CDLL(str(_build(compiler, folder, stem)))


def _check_private(folder: Path) -> None:
    """Reject a folder in which somebody else could put a file, or in whose place another folder."""
    if os.name != "posix":  # elsewhere owners and modes say nothing
        return
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{folder} belongs to somebody else, or others may write it")
    for above in folder.resolve().parents:
        found = above.stat()
        others_write = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
        if found.st_uid not in (0, os.geteuid()) or others_write:
            raise PermissionError(f"{above} belongs to somebody else, or everybody may write it")


def _sound(file: Path) -> bool:
    """Tell whether a file is the user's own, and its bytes those that were built."""
    try:
        with open(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode):
                return False
            if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
                return False
            return file.stem.rpartition("-")[2] == hashlib.sha256(opened.read()).hexdigest()
    except OSError:
        return False


def _compiler() -> str:
    names = [name for name in (os.environ.get("CC", "").strip(), "cc", "gcc", "clang") if name]
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise BuildError(f"no C compiler ({', '.join(names)}) on the path")


def _fingerprint(compiler: str) -> str:
    """Hash all that the machine code depends on."""
    try:
        version = subprocess.run([compiler, "--version"], capture_output=True, check=False, timeout=SECONDS).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{compiler} that does not run: {error}") from None
    parts = [
        *(source.read_bytes() for source in SOURCES),
        compiler.encode(),
        version,
        " ".join(OPTIONS).encode(),
        _processor().encode(),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def _processor() -> str:
    """Return what tells one kind of processor from another."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {platform.processor()} {features}"


def _build(compiler: str, folder: Path, stem: str) -> Path:
    """Compile into a folder of its own and move the library into place, so that no process ever loads half of one."""
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder) as work:
        library = Path(work) / "library.so"
        command = [compiler, *OPTIONS, *map(str, SOURCES), "-o", str(library), "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.SubprocessError as error:
            raise BuildError(f"{compiler} that fails: {error}") from None
        if done.returncode != 0 or not library.exists():
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise BuildError(f"{compiler} that fails: {last}")
        library.chmod(0o700)  # whatever the umask
        with library.open("r+b") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
            os.fsync(file.fileno())  # else a power cut may leave the name, and not the bytes
        built = folder / f"{stem}-{digest}.so"
        os.replace(library, built)
    with contextlib.suppress(OSError):  # not every system lets a folder be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return built

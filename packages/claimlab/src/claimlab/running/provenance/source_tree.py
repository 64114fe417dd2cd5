"""Which code made something: the commit, and the digest of the source tree as it lay on disk."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from claimlab.errors import LabError

SUFFIXES = (".py", ".c")
"""What the source tree consists of."""


@dataclass(frozen=True)
class Code:
    """Which code made something.

    Args:
        commit: of the checkout that holds the package, None where it is an installed one.
        changes: whether files of the package differ from that commit.
        source: digest of the package's `sources`; None in records that were made before it was recorded.
    """

    commit: str | None
    changes: bool
    source: str | None


def code_of(package: str) -> Code:
    """Commit and source tree of a package's top-level package.

    Raises:
        LabError: there is no such package.
    """
    folder = folder_of(package)
    commit, changes = _commit(folder)
    return Code(commit, changes, source_digest(package))


def source_digest(package: str) -> str:
    """The sha256, in hex, of all Python and C files of a package's `sources`: names and contents.

    It does not pretend to know what a change does: every edit gives another digest.
    """
    digest = hashlib.sha256()
    for folder in map(folder_of, sources(package)):
        for parts in sorted(_files(folder)):
            with open(os.path.join(folder, *parts), "rb") as file:
                digest.update(f"{'/'.join(parts)}\0".encode() + file.read() + b"\0")
    return digest.hexdigest()


def sources(package: str) -> tuple[str, ...]:
    """The top-level packages whose code counts: a package's own, those in its `SOURCES = ("name", ...)`, and the lab's.

    Raises:
        LabError: there is no such package.
    """
    top, *inner = package.split(".")
    named = _named(folder_of(package).joinpath(*inner, "__init__.py"))
    return tuple(dict.fromkeys((top, *named, __name__.partition(".")[0])))


def _named(path: Path) -> tuple[str, ...]:
    """What a file says in its line `SOURCES = (...)`; it is not imported, as every worker asks."""
    found = re.search(r"^SOURCES = (\(.*\))", path.read_text(encoding="utf-8"), re.MULTILINE) if path.is_file() else None
    return ast.literal_eval(found[1]) if found else ()


def _files(folder: Path) -> Iterator[list[str]]:
    """The parts of each file's path below the folder; no `Path` of each, since every worker asks, twice.

    Names that begin with a dot are an editor's: locks, which are links to nowhere, copies of what is not saved. No import
    finds them.
    """
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inner = [] if base == str(folder) else os.path.relpath(base, folder).split(os.sep)
        yield from ([*inner, name] for name in names if os.path.splitext(name)[1] in SUFFIXES and not name.startswith("."))


def folder_of(package: str) -> Path:
    """Where a package's top-level package lies.

    Raises:
        LabError: there is no such package.
    """
    top = package.partition(".")[0]
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        way_out = "install it, or name it with --package where it lies in the current folder"
        raise LabError(f"a package must be importable, but found none named {top!r}; {way_out}")
    return Path(next(iter(spec.submodule_search_locations)))


def _commit(package: Path) -> tuple[str | None, bool]:
    # A package inside some other project's virtual environment must not be taken for a file of that project.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None, False
    return _git(package, "rev-parse", "HEAD"), bool(_git(package, "status", "--porcelain", "--", "."))


def _git(folder: Path, *arguments: str) -> str | None:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # asking must not write into the user's checkout
    command = ["git", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None

"""Which code made something: the commit, and a digest of what its rows can depend on."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from claimlab.decoding import Commit, Digest
from claimlab.errors import LabError
from claimlab.experiment import listing
from claimlab.running.provenance.reach import Modules, meaning, reached, shown, stated


@dataclass(frozen=True)
class Code:
    """Which code made something.

    Args:
        commit: of the checkout that holds the package, None where it is an installed one.
        changes: whether files of the package differ from that commit.
        source: digest of what the rows can depend on (`source_digest`); None where that was not recorded.
    """

    commit: Commit | None
    changes: bool
    source: Digest | None


def code_of(package: str, experiment: str | None = None) -> Code:
    """Return the commit of a package's top-level package, and the digest of what an experiment's rows depend on."""
    folder, commit, changes = folder_of(package), None, False
    # A package inside some other project's virtual environment must not be taken for a file of that project.
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is not None:
        commit, changes = _git(folder, "rev-parse", "HEAD"), bool(_git(folder, "status", "--porcelain", "--", "."))
    return Code(commit, changes, None if experiment is None else source_digest(package, experiment))


def source_digest(package: str, experiment: str) -> str:
    """Return the sha256, in hex, of what all modules say that an experiment's rows can depend on, and of C files beside them.

    Docstrings, comments, layout and the messages of `raise` are not part of it (`reach.meaning`), nor are modules that its
    `run`, presets and ranges do not reach (`reach.reached`).
    """
    modules = Modules(tuple((top, folder_of(top)) for top in sources(package)))
    place = next((one.module for one in listing(package) if one.name == experiment), None)
    path = place and modules.find(place)
    if not place or not path:
        raise LabError(f"An experiment should be one of {package}. Found {experiment!r}. Restore it, or name another package.")
    digest = hashlib.sha256("".join(map(shown, stated(path.read_bytes()))).encode())
    files = {name: path for name in reached(modules, place) if (path := modules.find(name))}
    for name, path in files.items():
        digest.update(f"{name}\0{meaning(path.read_bytes())}\0".encode())
    for folder in sorted({path.parent for path in files.values()}):
        for path in sorted(folder.glob("*.c")):
            digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def sources(package: str) -> tuple[str, ...]:
    """Return the top-level packages whose code counts: its own, those in its `SOURCES = ("name", ...)`, and the lab's."""
    top, *inner = package.split(".")
    path = folder_of(package).joinpath(*inner, "__init__.py")  # it is not imported, as every worker asks
    found = re.search(r"^SOURCES = (\(.*\))", path.read_text(encoding="utf-8"), re.MULTILINE) if path.is_file() else None
    named: tuple[str, ...] = ast.literal_eval(found[1]) if found else ()
    return tuple(dict.fromkeys((top, *named, __name__.partition(".")[0])))


def folder_of(package: str) -> Path:
    """Return where a package's top-level package lies."""
    top = package.partition(".")[0]
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        way_out = "Install it, or run the command in the folder that holds it"
        raise LabError(f"A package of experiments should be importable. Found none named {top!r}. {way_out}.")
    return Path(next(iter(spec.submodule_search_locations)))


def _git(folder: Path, *arguments: str) -> str | None:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # asking must not write into the user's checkout
    command = ["git", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None

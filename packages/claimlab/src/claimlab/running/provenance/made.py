"""Where rows come from: what must stand beside a number so that it can be made again."""

from __future__ import annotations

import csv
import dataclasses
import platform
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from typing import Any

from claimlab.decoding import Seeds
from claimlab.running.provenance.machine import Machine, machine
from claimlab.running.provenance.source_tree import Code, code_of, sources


@dataclass(frozen=True)
class Made:
    """Some seeds of a run and what made them.

    Args:
        versions: of python and of every package that the experiment's own asks for and that was loaded.
        data: digests of the data that was read, by name.
        implementation: which of several ways to compute the same was taken, by module.
        time: UTC, to the second.
    """

    seeds: Seeds
    code: Code
    machine: Machine
    versions: dict[str, str]
    data: dict[str, str]
    implementation: dict[str, str]
    time: str

    def alike(self, other: Made) -> bool:
        """Return whether the two differ in seeds and time alone."""
        return dataclasses.replace(self, seeds=(), time="") == dataclasses.replace(other, seeds=(), time="")


def made_here(seeds: Iterable[int], package: str, code: Code | None = None) -> Made:
    """Return the provenance of what this process has computed with the modules that are loaded by now.

    Where the code is known already git is not asked for each seed.
    """
    top, ours = package.partition(".")[0], sources(package)
    foreign = {*ours, *loaded(set[str]().union(*map(required, ours)))} - {top}  # editable sources are not seen to be loaded
    return Made(
        seeds=tuple(seeds),
        code=code or code_of(package),
        machine=machine(),
        versions=versions(sorted(foreign)),
        data=_stated("DATA_DIGESTS", top),
        implementation=_stated("IMPLEMENTATION", top),
        time=now(),
    )


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def versions(names: Iterable[str] = ("torch", "numpy")) -> dict[str, str]:
    """Return the versions of python and of some distributions."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree that was never installed
            found[name] = "not installed"
    return found


def required(distribution: str) -> set[str]:
    """Return the distributions that one asks for, in its extras too, and itself; none where it was never installed."""
    try:
        words = requires(distribution) or []
    except PackageNotFoundError:
        return set()
    names = (re.match(r"[\w.-]+", word) for word in words)
    return {distribution, *(found.group().lower().replace("_", "-") for found in names if found)}


def loaded(distributions: Iterable[str]) -> list[str]:
    """Return those distributions of which a module is loaded, by name."""
    tops = {name for name in sys.modules if "." not in name}
    return sorted(name for name in set(distributions) if tops & _modules(name))


def _modules(name: str) -> set[str]:
    """Return the top-level modules of a distribution, none where it is not installed.

    `importlib.metadata.packages_distributions` says the same of all that are installed and reads what files each has: half a
    second in every worker.
    """
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return set()
    declared = (found.read_text("top_level.txt") or "").split()
    if declared:
        return set(declared)
    record = found.read_text("RECORD")
    if record is None:  # not a wheel
        paths = [str(file) for file in found.files or []]
    else:
        paths = [row[0] for row in csv.reader(record.splitlines()) if row]
    return {path.partition("/")[0].removesuffix(".py") for path in paths if path.endswith(".py")}


def _stated(constant: str, top: str) -> dict[str, str]:
    """Return what a package's loaded modules say under a name, a constant or a function of nothing; no empty ones."""
    found: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        stated: str | dict[str, str] | Callable[[], Any] | None = (
            vars(module).get(constant) if name.partition(".")[0] == top else None
        )
        value = stated() if callable(stated) else stated
        if value:
            found |= value if isinstance(value, dict) else {name: str(value)}
    return found

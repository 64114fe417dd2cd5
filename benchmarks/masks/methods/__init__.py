"""The methods that are compared: one file each, which defines `METHOD`; the listing of this folder is the index."""

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from craik_benchmarks.masks.problem import Problem
from craik_benchmarks.measuring.memory import available
from craik_benchmarks.measuring.timing import Step

EXTRA = "not installed: pip install 'craik[bench]'"
PLAIN = "plain"
"""The denominator's key."""


class NotRunError(Exception):
    """A method cannot run on a problem; the message says why."""


def _no_chunks(problem: Problem) -> Sequence[int]:
    del problem
    return (0,)


def _silent(result: object) -> str:
    del result
    return ""


@dataclass(frozen=True)
class Method:
    """One way to fill ``.grad`` with the AND-masked mean of the environments' gradients.

    Attributes:
        name: as it stands in the table.
        prepare: from a problem of its own and a chunk size to the step that is timed. May raise `NotRunError`.
        package: the distribution whose version stands beside the row.
        chunks: the chunk sizes to choose from in the warm-up, in the order in which to try them.
        note: what a reader of the row should know.
        remark: what else to tell of a step, from its result.
    """

    name: str
    prepare: Callable[[Problem, int], Step]
    package: str = "torch"
    chunks: Callable[[Problem], Sequence[int]] = _no_chunks
    note: str = ""
    remark: Callable[[Any], str] = _silent

    @property
    def version(self) -> str:
        """The package with its version."""
        try:
            return f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            return ""


def methods() -> dict[str, Method]:
    """Return all methods by the names of their files: the denominator first, then ours, then the others by name."""
    files = [module.name for module in pkgutil.iter_modules(__path__)]
    files.sort(key=lambda name: (name != PLAIN, name != "craik", name))
    return {name: importlib.import_module(f"{__name__}.{name}").METHOD for name in files}


def installed(module: str) -> ModuleType:
    """Import a peer, or say how to get it.

    Raises:
        NotRunError: the peer is missing.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a peer says of its own dependencies while it is imported
            return importlib.import_module(module)
    except ImportError:
        raise NotRunError(EXTRA) from None


def require_memory(problem: Problem, rows: int, stacks: int) -> None:
    """Refuse a method whose stacks of `rows` gradients would not fit.

    Raises:
        NotRunError: they take more than half of what is available.
    """
    needed, found = stacks * problem.stacked_bytes(rows), available()
    if needed > found / 2:
        raise NotRunError(f"not run: {rows} stacked gradients need about {needed / 1e9:.1f} GB, {found / 1e9:.1f} GB are free")

"""The methods that are compared: one file each, which defines `METHOD`; the listing of this folder is the index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.memory import available
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError, listed, versioned
from mechlearn_zoo_benchmarks.measuring.timing import Step

PLAIN = "plain"
"""The denominator's key."""


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
        literal: its gradient is the reference's; else another one is wanted, and it is not compared.
    """

    name: str
    prepare: Callable[[Problem, int], Step]
    package: str = "torch"
    chunks: Callable[[Problem], Sequence[int]] = _no_chunks
    note: str = ""
    remark: Callable[[Any], str] = _silent
    literal: bool = True

    @property
    def version(self) -> str:
        """The package with its version."""
        return versioned(self.package)


def methods() -> dict[str, Method]:
    """Return all methods by the names of their files: the denominator first, then ours, then the others by name."""
    return listed(__path__, __name__, PLAIN, "mechlearn")


def require_memory(problem: Problem, rows: int, stacks: int) -> None:
    """Refuse a method whose stacks of `rows` gradients would not fit.

    Raises:
        NotRunError: they take more than half of what is available.
    """
    needed, found = stacks * problem.stacked_bytes(rows), available()
    if needed > found / 2:
        raise NotRunError(f"not run: {rows} stacked gradients need about {needed / 1e9:.1f} GB, {found / 1e9:.1f} GB are free")

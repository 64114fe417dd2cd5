"""The methods that are compared: one file each, which defines `METHOD`; the listing of this folder is the index."""

from collections.abc import Callable
from dataclasses import dataclass

from mechlearn_zoo_benchmarks.entrants.unrolls.problem import Unrolling
from mechlearn_zoo_benchmarks.measuring.peers import listed, versioned
from torch import Tensor

PLAIN = "plain"
"""The denominator's key."""

Compute = Callable[[], list[Tensor]]
"""What is timed: one meta-gradient, by the problem's leaves."""


@dataclass(frozen=True)
class Method:
    """One way to compute a meta-gradient.

    Attributes:
        name: as it stands in the table.
        prepare: from a problem of its own to what is timed. May raise `NotRunError`.
        package: the distribution whose version stands beside the row.
        note: what a reader of the row should know.
        alone: whether it differs from others where there is no teacher.
        long: whether it runs beyond the lengths that are measured thoroughly.
        exact: whether it computes the meta-gradient; False for an approximation, whose error is measured in float32.
    """

    name: str
    prepare: Callable[[Unrolling], Compute]
    package: str = "torch"
    note: str = ""
    alone: bool = True
    long: bool = True
    exact: bool = True

    @property
    def version(self) -> str:
        """The package with its version."""
        return versioned(self.package)


def methods() -> dict[str, Method]:
    """Return all methods by the names of their files: the denominator first, then ours, then the others by name."""
    return listed(__path__, __name__, PLAIN, "mechlearn")

"""The optimisers that are compared: one file each, which defines `METHOD`; the listing of this folder is the index."""

from dataclasses import dataclass

from mechlearn_zoo_benchmarks.entrants.optimisers.literal import Make, agrees
from mechlearn_zoo_benchmarks.measuring.peers import listed, versioned

FUSED = "adam_fused"
"""The denominator's key."""


@dataclass(frozen=True)
class Method:
    """One optimiser.

    Attributes:
        name: as it stands in the table; ours start with mechlearn.
        make: from parameters to the optimiser. May raise `NotRunError`.
        package: the distribution whose version stands beside the row.
        note: what a reader of the row should know.
    """

    name: str
    make: Make
    package: str = "torch"
    note: str = ""

    @property
    def version(self) -> str:
        """The package with its version."""
        return versioned(self.package)

    def exact(self, workload: str, small: bool, seed: int) -> bool | None:
        """Tell whether ours equals the literal algorithm; peers compute something else and have no answer."""
        return agrees(self.make, workload, small, seed) if self.name.startswith("mechlearn") else None


def methods() -> dict[str, Method]:
    """Return all methods by the names of their files: the denominator first, then ours, then the others by name."""
    return listed(__path__, __name__, FUSED, "mechlearn")

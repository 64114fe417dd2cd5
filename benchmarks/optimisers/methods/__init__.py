"""The optimisers that are compared: one file each, which defines `METHOD`; the listing of this folder is the index."""

import importlib
import pkgutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from craik_benchmarks.optimisers.literal import Make, agrees

FUSED = "adam_fused"
"""The denominator's key."""


class NotRunError(Exception):
    """An optimiser cannot run here; the message says why."""


@dataclass(frozen=True)
class Method:
    """One optimiser.

    Attributes:
        name: as it stands in the table; ours start with craik.
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
        try:
            return f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            return ""

    def exact(self, workload: str, small: bool, seed: int) -> bool | None:
        """Tell whether ours equals the literal algorithm; peers compute something else and have no answer."""
        return agrees(self.make, workload, small, seed) if self.name.startswith("craik") else None


def methods() -> dict[str, Method]:
    """Return all methods by the names of their files: the denominator first, then ours, then the others by name."""
    files = [module.name for module in pkgutil.iter_modules(__path__)]
    files.sort(key=lambda name: (name != FUSED, not name.startswith("craik"), name))
    return {name: importlib.import_module(f"{__name__}.{name}").METHOD for name in files}

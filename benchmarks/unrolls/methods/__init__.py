"""The methods that are compared: one file each, which defines `METHOD`; the listing of this folder is the index."""

import importlib
import pkgutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from craik_benchmarks.unrolls.problem import Unrolling
from torch import Tensor

PLAIN = "plain"
"""The denominator's key."""

Compute = Callable[[], list[Tensor]]
"""What is timed: one meta-gradient, by the problem's leaves."""


class NotRunError(Exception):
    """A method cannot run here; the message says why."""


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
        try:
            return f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            return ""


def methods() -> dict[str, Method]:
    """Return all methods by the names of their files: the denominator first, then ours, then the others by name."""
    files = [module.name for module in pkgutil.iter_modules(__path__)]
    files.sort(key=lambda name: (name != PLAIN, not name.startswith("craik"), name))
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
        raise NotRunError(f"not installed: pip install {module}, with torch's version held by constraints.txt") from None

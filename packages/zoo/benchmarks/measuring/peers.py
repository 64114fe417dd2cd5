"""The methods that a benchmark compares: one file each in a folder, which defines `METHOD`; the listing is the index."""

import importlib
import pkgutil
import warnings
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any


class NotRunError(Exception):
    """A method cannot run here, or not on this problem; the message says why."""


def listed(folder: Iterable[str], package: str, *first: str) -> dict[str, Any]:
    """Return the methods of a folder by the names of their files.

    Args:
        folder: the package's path.
        package: its name.
        first: how the names of those begin that come first, in this order: the denominator, then ours; the others go by name.
    """
    files = [module.name for module in pkgutil.iter_modules(folder)]
    files.sort(key=lambda name: (*(not name.startswith(start) for start in first), name))
    return {name: importlib.import_module(f"{package}.{name}").METHOD for name in files}


def installed(module: str, way_out: str = "pip install 'mechlearn-zoo[bench]'") -> ModuleType:
    """Import a peer, or say how to get it.

    Raises:
        NotRunError: the peer is missing.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a peer says of its own dependencies while it is imported
            return importlib.import_module(module)
    except ImportError:
        raise NotRunError(f"not installed: {way_out}") from None


def versioned(package: str) -> str:
    """Return a distribution with its version, nothing where it is not installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""

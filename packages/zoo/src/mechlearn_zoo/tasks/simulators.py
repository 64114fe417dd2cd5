"""Simulators that the library does without: imported where a world is made, with an error that says what to install."""

from importlib.metadata import PackageNotFoundError, version
from types import ModuleType


def import_pymunk() -> ModuleType:
    """Return pymunk.

    Raises:
        ImportError: it is not installed.
    """
    try:
        import pymunk  # noqa: PLC0415 # an extra: only making new worlds needs it
    except ImportError as error:
        raise ImportError("Making this world needs pymunk, which is not installed. Run `pip install mechlearn-zoo`.") from error
    return pymunk


def version_of(package: str) -> str:
    """Return the installed version of a package, "" where there is none: part of what a cached world depends on."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

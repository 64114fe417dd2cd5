"""mechlearn: learning mechanisms, not shortcuts, in PyTorch.

Each subpackage is loaded when it is first named, so that `import mechlearn` is quick and `dir(mechlearn)` is the table of
contents:

>>> import mechlearn
>>> mechlearn.agreement.AndMask(threshold=0.5)
AndMask(threshold=0.5, rescale=False)
>>> "skips" in dir(mechlearn)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what an editor completes; at run time the listing of the folder says what there is
    from mechlearn import agreement as agreement
    from mechlearn import arguments as arguments
    from mechlearn import cli as cli
    from mechlearn import distill as distill
    from mechlearn import environments as environments
    from mechlearn import functional as functional
    from mechlearn import integrations as integrations
    from mechlearn import losses as losses
    from mechlearn import nn as nn
    from mechlearn import params as params
    from mechlearn import penalties as penalties
    from mechlearn import scaling as scaling
    from mechlearn import schedules as schedules
    from mechlearn import skips as skips
    from mechlearn import solvers as solvers
    from mechlearn import surfaces as surfaces
    from mechlearn import tables as tables
    from mechlearn import testing as testing
    from mechlearn import trajectories as trajectories

    __version__: str


def __getattr__(name: str) -> object:
    """Load a subpackage."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  # slow to import, and seldom asked for

        return version("mechlearn")
    if name in _subpackages():
        import importlib  # noqa: PLC0415  # so that `import mechlearn` itself costs next to nothing

        return importlib.import_module(f"mechlearn.{name}")
    raise AttributeError(f"A part of mechlearn should be one of {', '.join(_subpackages())}. Found {name!r}. Choose one.")


def __dir__() -> list[str]:
    """Return the table of contents."""
    return [*_subpackages(), "__version__"]


def _subpackages() -> list[str]:
    import pkgutil  # noqa: PLC0415

    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))

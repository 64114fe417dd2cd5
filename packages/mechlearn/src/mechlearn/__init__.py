"""craik: learning mechanistic models in PyTorch.

Each room is loaded when it is first named, so that `import craik` is quick and `dir(craik)` is the table of contents:

>>> import craik
>>> craik.agreement.AndMask(threshold=0.5)
AndMask(threshold=0.5, rescale=False)
>>> "skips" in dir(craik)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what an editor completes; at run time the listing of the folder says what there is
    from craik import agreement as agreement
    from craik import arguments as arguments
    from craik import cli as cli
    from craik import commands as commands
    from craik import distill as distill
    from craik import environments as environments
    from craik import estimators as estimators
    from craik import experiments as experiments
    from craik import lab as lab
    from craik import losses as losses
    from craik import methods as methods
    from craik import nn as nn
    from craik import params as params
    from craik import penalties as penalties
    from craik import scaling as scaling
    from craik import schedules as schedules
    from craik import skips as skips
    from craik import solvers as solvers
    from craik import surfaces as surfaces
    from craik import tasks as tasks
    from craik import testing as testing
    from craik import trajectories as trajectories

    __version__: str

_MOVED = {
    "harness": "craik.lab (and craik.cli)",
    "networks": "craik.nn",
    "consistency": "craik.surfaces",
}
"""Where names of version 0.1 have gone; CHANGELOG.md has all of them."""


def __getattr__(name: str) -> object:
    """Loads a room, or says where it is now.

    Raises:
        AttributeError: there is no such room.
    """
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  # slow to import, and seldom asked for

        return version("craik")
    if name in _rooms():
        import importlib  # noqa: PLC0415  # so that `import craik` itself costs next to nothing

        return importlib.import_module(f"craik.{name}")
    if name in _MOVED:
        raise AttributeError(f"craik.{name} has moved: it is {_MOVED[name]} now; CHANGELOG.md lists every name")
    raise AttributeError(f"craik has the rooms {', '.join(_rooms())}, but found none named {name!r}; choose one of them")


def __dir__() -> list[str]:
    """The table of contents."""
    return [*_rooms(), "__version__"]


def _rooms() -> list[str]:
    import pkgutil  # noqa: PLC0415

    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))

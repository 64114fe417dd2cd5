"""Names of calls: a layer that a forward pass calls several times has an activation, and may have a target, for each.

"cell@3" is the fourth call of the module "cell" in a pass, counted from 0: a recurrent student's cell at its fourth step, or
the fourth storey of a stacked student. A module whose own path is "cell@3" keeps that name for itself.
"""

import re
from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from mechlearn import arguments

_NUMBERED = re.compile(r"(.*)@(0|[1-9]\d*)", re.DOTALL)


def calls(layer: str, count: int) -> list[str]:
    """Return the names of a layer's first calls, for a lesson's `layers`.

    Args:
        layer: the path of a module, as in `named_modules`.
        count: how many calls.

    Raises:
        TypeError, ValueError: a path or a number that is none.

    Example:
        >>> calls("cell", 3)
        ['cell@0', 'cell@1', 'cell@2']
    """
    arguments.check_kind("layer", layer, str, "the path of a layer", way_out="Paths are those of student.named_modules().")
    arguments.check_whole("count", count, 1)
    return [f"{layer}@{call}" for call in range(count)]


def place(name: str, paths: Sequence[str]) -> tuple[str, int | None]:
    """Return a supervised layer's path and the number of its call; None where it is called once."""
    found = None if name in paths else _NUMBERED.fullmatch(name)
    return (name, None) if found is None else (found[1], int(found[2]))


def by_path(student: nn.Module, layers: Sequence[str]) -> list[tuple[str, dict[int | None, str]]]:
    """Return for each module that is supervised its path, and the names of its calls by their numbers."""
    paths = [path for path, _ in student.named_modules()]
    found: dict[str, dict[int | None, str]] = {}
    for name in layers:
        path, call = place(name, paths)
        found.setdefault(path, {})[call] = name
    return list(found.items())


def check_called(layers: Sequence[str], hidden: Mapping[str, Tensor], counts: Mapping[str, int]) -> None:
    """Reject supervised layers, or calls of them, that a forward pass did not make.

    Args:
        layers: their names.
        hidden: what was noted.
        counts: how often each module was called, by path.
    """
    missing = next((name for name in layers if name not in hidden), None)
    if missing is None:
        return
    path, call = place(missing, ())
    if call is not None and counts.get(path):
        raise ValueError(
            f"Every supervised call should be made in a forward pass. Found {missing!r}, and {counts[path]} calls of {path!r}. "
            "Calls are counted from 0; name those that are made for every input, in training and validation."
        )
    raise ValueError(
        f"Every supervised layer should be called in a forward pass. Found that {missing!r} was not. Name a "
        "layer that the student's forward calls as a module."
    )

"""Experiments: what one is, and how they are found.

An experiment is a folder, a package `FAMILY.NAME` below a package of experiments (anybody's), whose
`__init__.py` defines `EXPERIMENT`. The folder's listing is the index: there is no registry. Listing reads the sources and
imports none of them, so that it is fast.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from claimlab.claims import Claim
from claimlab.errors import LabError, UsageError, suggestion
from claimlab.rows import Row, Rows
from claimlab.sweeping.declared import Ranges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from claimlab.drawing import Animation

C = TypeVar("C")


@dataclass(frozen=True)
class Preset(Generic[C]):
    """An experiment's settings at one scale.

    Args:
        config: for the first seed: a frozen dataclass with a field `seed: int`.
        seeds: how many seeds are run unless told otherwise.
        tolerance: how far a number of a row may lie from the recorded one, as a share of it, when a witness makes the row again
            on another kind of processor; on the same kind rows must be equal.

    Raises:
        ValueError: if the config has no field `seed`, there is no seed, or the tolerance is negative.
    """

    config: C
    seeds: int
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if not dataclasses.is_dataclass(self.config) or not hasattr(self.config, "seed"):
            found = type(self.config).__name__
            raise ValueError(f"A preset's config should be a dataclass with a field seed. Found {found}. Add `seed: int = 0`.")
        if self.seeds < 1:
            raise ValueError(f"A preset should have at least one seed. Found {self.seeds}. Pass 3, the usual number.")
        if self.tolerance < 0:
            raise ValueError(f"A preset's tolerance should be at least 0. Found {self.tolerance}. Pass 0 for equal rows.")


@dataclass(frozen=True)
class Experiment(Generic[C]):
    """An experiment: one typed object, so that the type checker is its contract.

    Args:
        name: as the command line writes it.
        title: what it finds out, in a sentence.
        reproduces: what of which text.
        presets: by name; "quick" (minutes on two cores) and "paper" (the papers' scale) are usual.
        run: from a config to the rows of its seed, one at a time.
        claims: what the rows are to bear out.
        figures: from rows to figures and animations by name.
        progress: from a config and its latest row to the share that is done and a few words.
        ranges: by preset what `sweep` may choose; of a preset that is not among them it makes none.
        parts: experiments of the same name on the same question whose settings are of another class, each with its own
            presets, rows, claims and figures. The command line reaches them by their presets.

    Raises:
        ValueError: if there is no preset, presets' configs are of different classes, two claims have one id or two presets one
            name, a part has another name or parts, or ranges are of a preset that does not exist.
    """

    name: str
    title: str
    reproduces: str
    presets: Mapping[str, Preset[C]]
    run: Callable[[C], Iterator[Row]]
    claims: Sequence[Claim] = ()
    figures: Callable[[Rows], Mapping[str, Figure | Animation]] = lambda rows: {}
    progress: Callable[[C, Row], tuple[float, str]] | None = None
    ranges: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    parts: Sequence[Experiment[Any]] = ()

    def __post_init__(self) -> None:
        classes = {type(preset.config) for preset in self.presets.values()}
        if len(classes) != 1:
            found = ", ".join(sorted(one.__name__ for one in classes)) or "no preset"
            raise ValueError(f"The presets of {self.name} should have configs of one class. Found {found}. Make parts of them.")
        for part in self.parts:
            if part.name != self.name or part.parts:
                raise ValueError(f"Parts of {self.name} should have its name and no parts. Found {part.name!r}. Change it.")
        _check_unique(f"Every claim of {self.name} should have its own id", [claim.id for claim in self.every_claim])
        names = [name for one in (self, *self.parts) for name in one.presets]
        _check_unique(f"Every preset of {self.name} and its parts should have its own name", names)
        strange = sorted(set(self.ranges) - set(self.presets))
        if strange:
            raise ValueError(f"Ranges of {self.name} should be of its presets. Found {strange[0]!r}. Rename it.")

    @property
    def config(self) -> type[C]:
        """The class of its configs."""
        return type(next(iter(self.presets.values())).config)

    @property
    def every_claim(self) -> list[Claim]:
        """Its claims and those of its parts."""
        return [claim for one in (self, *self.parts) for claim in one.claims]

    def at(self, preset: str) -> Experiment[Any]:
        """Return the part that has a preset, which may be the experiment itself.

        Raises:
            UsageError: if neither it nor a part of it defines the preset.
        """
        names = [name for one in (self, *self.parts) for name in one.presets]
        if preset not in names:
            found = f"Found {preset!r}. {suggestion(preset, names)}"
            raise UsageError(f"A preset of {self.name} should be one that it defines. {found}")
        return self.part_of(preset)

    def part_of(self, preset: str) -> Experiment[Any]:
        """Return the part whose preset a record names; the experiment itself for a preset that there is no more."""
        return next((part for part in self.parts if preset in part.presets), self)


def _check_unique(rule: str, names: Sequence[str]) -> None:
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise ValueError(f"{rule}. Found {twice!r} twice. Rename one.")


@dataclass(frozen=True)
class Listing:
    """What can be said of an experiment without importing it."""

    name: str
    title: str
    reproduces: str
    module: str

    @property
    def family(self) -> str:
        """The folder of the package that holds its own."""
        return self.module.split(".")[-2]


def listing(package: str) -> list[Listing]:
    """Return all experiments of a package by name, from their sources alone.

    Raises:
        UsageError: if there is no such package.
        LabError: if two experiments have one name, or a name is not written out.
    """
    try:
        spec = find_spec(package)
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"Experiments should be in an importable package. Found none named {package!r}. Name another.")
    found = [
        one
        for folder in spec.submodule_search_locations
        for path in sorted(Path(folder).glob("*/*/__init__.py"))
        if (one := _described(path.read_bytes(), path, f"{package}.{path.parts[-3]}.{path.parts[-2]}"))
    ]
    found.sort(key=lambda one: one.name)
    for one, after in itertools.pairwise(found):
        if one.name == after.name:
            clash = f"{one.module} and {after.module} with the name {one.name!r}"
            raise LabError(f"Every experiment should have its own name. Found {clash}. Rename one.")
    return found


def load(name: str, package: str) -> Experiment[Any]:
    """Import an experiment.

    Args:
        name: as the command line writes it; underscores do as well.
        package: the package to search.

    Raises:
        UsageError: if there is no such experiment.
        LabError: if it cannot be imported, or its `EXPERIMENT` is not one.
    """
    wanted, known = name.replace("_", "-"), {one.name: one.module for one in listing(package)}
    if wanted not in known:
        raise UsageError(
            f"An experiment should be one that is listed. Found {name!r}. "
            f"{suggestion(wanted, known) if known else f'{package} has none at FAMILY/NAME/__init__.py. Put it there.'}"
        )
    module = known[wanted]
    try:
        found = getattr(importlib.import_module(module), "EXPERIMENT", None)
    except ImportError as error:
        raise LabError(f"{module} should be importable. Found {error}. Fix it, or install what it needs.") from error
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise LabError(f"{module} should not raise when imported. Found {raised}. Pass --traceback to see where.") from error
    if not isinstance(found, Experiment):
        raise LabError(f"{module} should define EXPERIMENT = Experiment(...). Found {found!r}. Define it.")
    return found  # pyright: ignore[reportUnknownVariableType] # of whichever Config


def command_of(command: str, name: str, package: str) -> list[str]:
    """Return the words that give a command to an experiment of a package.

    A package of experiments that a program of its own searches says so: `PROGRAM = "its name"`.
    """
    program = getattr(importlib.import_module(package), "PROGRAM", None)
    return ["claimlab", command, name, "--package", package] if program is None else [program, command, name]


@functools.lru_cache(maxsize=1024)
def _described(content: bytes, path: Path, module: str) -> Listing | None:
    """Return what an `__init__.py` with this content says in its call of `Experiment`; None where it has none."""
    try:
        tree = ast.parse(content, str(path))
    except (SyntaxError, ValueError) as error:  # the latter of null bytes
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        found = error.msg if isinstance(error, SyntaxError) else str(error)
        raise LabError(f"An experiment's files should be Python. Found in {path}{line}: {found}. Fix it.") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Experiment":
            words = {keyword.arg: keyword.value for keyword in node.keywords}
            texts = {
                key: one.value for key, one in words.items() if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
            name, title, reproduces = (texts.get(key, "") for key in ("name", "title", "reproduces"))
            if not name:
                raise LabError(f"{path} should name its experiment as a text: listing imports nothing. Found none. Write it.")
            return Listing(name, title, reproduces, module)
    return None

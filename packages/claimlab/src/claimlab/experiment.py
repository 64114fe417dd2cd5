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
        ValueError: a config without a field `seed`, fewer than one seed, or a negative tolerance.
    """

    config: C
    seeds: int
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if not dataclasses.is_dataclass(self.config) or not hasattr(self.config, "seed"):
            found = type(self.config).__name__
            raise ValueError(f"a preset's config must be a dataclass with a field seed, but found {found}; add `seed: int = 0`")
        if self.seeds < 1:
            raise ValueError(f"a preset needs at least one seed, but found {self.seeds}; 3 are usual")
        if self.tolerance < 0:
            raise ValueError(f"a preset's tolerance must not be negative, but found {self.tolerance}; 0 asks for equality")


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
        ValueError: no preset, presets whose configs are of different classes, two claims of one id or two presets of one name,
            a part of another name or with parts, or ranges of a preset that there is not.
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
            raise ValueError(f"the presets of {self.name} must hold configs of one class, but found {found}; mend them")
        for part in self.parts:
            if part.name != self.name or part.parts:
                raise ValueError(f"parts of {self.name} must have its name and no parts, but found {part.name!r}; mend them")
        _check_unique(f"claims of {self.name} must have ids of their own", [claim.id for claim in self.every_claim])
        names = [name for one in (self, *self.parts) for name in one.presets]
        _check_unique(f"presets of {self.name} and its parts must have names of their own", names)
        strange = sorted(set(self.ranges) - set(self.presets))
        if strange:
            raise ValueError(f"ranges of {self.name} must be of its presets, but found {strange[0]!r}; mend them")

    @property
    def config(self) -> type[C]:
        """The class of its configs."""
        return type(next(iter(self.presets.values())).config)

    @property
    def every_claim(self) -> list[Claim]:
        """Its claims and those of its parts."""
        return [claim for one in (self, *self.parts) for claim in one.claims]

    def at(self, preset: str) -> Experiment[Any]:
        """The part that has a preset, which may be the experiment itself.

        Raises:
            UsageError: neither it nor a part of it defines the preset.
        """
        names = [name for one in (self, *self.parts) for name in one.presets]
        if preset not in names:
            found = f"but found {preset!r}; {suggestion(preset, names)}"
            raise UsageError(f"a preset of {self.name} must be one it defines, {found}")
        return self.part_of(preset)

    def part_of(self, preset: str) -> Experiment[Any]:
        """The part whose preset a record names; the experiment itself for a preset that there is no more."""
        return next((part for part in self.parts if preset in part.presets), self)


def _check_unique(rule: str, names: Sequence[str]) -> None:
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise ValueError(f"{rule}, but found {twice!r} twice; rename one")


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
    """All experiments of a package by name, from their sources alone.

    Raises:
        UsageError: there is no such package.
        LabError: two experiments have one name, or one's name is not written out.
    """
    try:
        spec = find_spec(package)
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"experiments must lie in an importable package, but found none named {package!r}; name another")
    found = [
        one
        for folder in spec.submodule_search_locations
        for path in sorted(Path(folder).glob("*/*/__init__.py"))
        if (one := _described(path.read_bytes(), path, f"{package}.{path.parts[-3]}.{path.parts[-2]}"))
    ]
    modules: dict[str, str] = {}
    for one in found:
        if one.name in modules:
            clash = f"{modules[one.name]} and {one.module} are both {one.name!r}"
            raise LabError(f"an experiment's name must be its own, but {clash}; rename one")
        modules[one.name] = one.module
    return sorted(found, key=lambda one: one.name)


def load(name: str, package: str) -> Experiment[Any]:
    """Imports an experiment.

    Args:
        name: as the command line writes it; underscores do as well.
        package: the package to search.

    Raises:
        UsageError: there is no such experiment.
        LabError: it cannot be imported, or its `EXPERIMENT` is none.
    """
    wanted, known = name.replace("_", "-"), {one.name: one.module for one in listing(package)}
    if wanted not in known:
        raise UsageError(f"an experiment must be one of those listed, but found {name!r}; {suggestion(wanted, known)}")
    return load_module(known[wanted])


def load_module(module: str) -> Experiment[Any]:
    """The experiment that a module defines."""
    try:
        found = getattr(importlib.import_module(module), "EXPERIMENT", None)
    except ImportError as error:
        raise LabError(f"{module} must be importable, but found {error}; mend it or pip install claimlab") from error
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise LabError(f"{module} must not raise when imported, but found {raised}; --traceback shows where") from error
    if not isinstance(found, Experiment):
        raise LabError(f"{module} must define EXPERIMENT = Experiment(...), but found {found!r}; define it")
    return found  # pyright: ignore[reportUnknownVariableType] # of whichever Config


def command_of(command: str, name: str, package: str) -> list[str]:
    """The words that give a command to an experiment of a package.

    A package of experiments that a program of its own searches says so: `PROGRAM = "its name"`.
    """
    program = getattr(importlib.import_module(package), "PROGRAM", None)
    return ["claimlab", command, name, "--package", package] if program is None else [program, command, name]


@functools.lru_cache(maxsize=1024)
def _described(content: bytes, path: Path, module: str) -> Listing | None:
    """What an `__init__.py` with this content says in its call of `Experiment`; None where it has none."""
    try:
        tree = ast.parse(content, str(path))
    except (SyntaxError, ValueError) as error:  # the latter of null bytes
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        found = error.msg if isinstance(error, SyntaxError) else str(error)
        raise LabError(f"an experiment's files must be Python, but found in {path}{line}: {found}; mend it") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Experiment":
            words = {keyword.arg: keyword.value for keyword in node.keywords}
            name, title, reproduces = (_text(words.get(key)) for key in ("name", "title", "reproduces"))
            if not name:
                raise LabError(f"{path} must say Experiment(name=...) in quotes, as listing imports nothing; write it out")
            return Listing(name, title, reproduces, module)
    return None


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""

"""Finding experiments: the folder's listing is the index.

An experiment `spirals-of-doom` is the module `spirals_of_doom` of the package `craik.experiments`. Listing reads each
module's docstring from its source and imports none of them, so that it is fast.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from craik.lab.claims import Claim
from craik.lab.errors import LabError, UsageError, suggestion

PACKAGE = "craik.experiments"
"""The package that is searched unless told otherwise."""

CONTRACT = {
    "REPRODUCES": "a sentence: what of which paper",
    "Config": "a frozen dataclass of settings with a field `seed: int = 0`",
    "PRESETS": 'a dict from preset name to Config, with "quick" and "paper"',
    "SEEDS": "a dict from preset name to its default number of seeds",
    "run": "from a Config to an iterator of rows",
    "figures": "from rows to a dict of figures",
    "CLAIMS": "a tuple of claims",
}
"""What an experiment module must define."""


@dataclass(frozen=True)
class Listing:
    """What can be said of an experiment without importing it."""

    name: str
    title: str
    reproduces: str


@dataclass(frozen=True)
class Experiment:
    """An imported experiment: its module's contract under typed names (see `CONTRACT`)."""

    name: str
    module: str
    title: str
    reproduces: str
    config: type[Any]
    presets: Mapping[str, Any]
    seeds: Mapping[str, int]
    run: Callable[[Any], Iterator[Mapping[str, object]]]
    figures: Callable[[Sequence[Any]], Mapping[str, Any]]
    claims: Sequence[Claim]
    animations: Callable[[Sequence[Any]], Mapping[str, tuple[str, bytes]]] | None = None
    """Optional in a module: from rows to a dict of captions and GIFs."""


def listing(package: str = PACKAGE) -> list[Listing]:
    """All experiments of a package by name, from their sources alone."""
    return [_describe(name, package) for name in names(package)]


def names(package: str = PACKAGE) -> list[str]:
    """The names of a package's experiments as the command line writes them; a module `_helper` is none."""
    folders = importlib.import_module(package).__path__
    modules = (module.name for module in pkgutil.iter_modules(folders))
    return sorted(name.replace("_", "-") for name in modules if not name.startswith("_"))


def load(name: str, package: str = PACKAGE) -> Experiment:
    """Imports an experiment and checks that it keeps the contract.

    Args:
        name: as the command line writes it; underscores do as well.
        package: the package to search.

    Raises:
        UsageError: there is no such experiment.
        LabError: the module cannot be imported or lacks part of the contract.
    """
    wanted, known = name.replace("_", "-"), names(package)
    if wanted not in known:
        raise UsageError(f"an experiment must be one of those listed, but found {name!r}; {suggestion(wanted, known)}")
    module_name = _module_name(wanted, package)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise LabError(
            f"{wanted} must be importable, but found {error}; mend it or pip install 'craik[experiments]'"
        ) from error
    parts = _contract(wanted, vars(module))
    title = _first_line(inspect.getdoc(module))
    reproduces, config, presets, seeds, run, figures, claims = parts
    animations = getattr(module, "animations", None)
    return Experiment(wanted, module_name, title, reproduces, config, presets, seeds, run, figures, claims, animations)


def _contract(name: str, found: Mapping[str, Any]) -> list[Any]:
    for part, meaning in CONTRACT.items():
        if part not in found:
            raise LabError(f"the experiment {name} must define {part} ({meaning}), but it does not; add it")
    config, presets, seeds = found["Config"], found["PRESETS"], found["SEEDS"]
    if not dataclasses.is_dataclass(config) or "seed" not in {field.name for field in dataclasses.fields(config)}:
        raise LabError(f"the Config of {name} must be {CONTRACT['Config']}, but found {config!r}; add the field")
    if set(presets) != set(seeds):
        raise LabError(
            f"PRESETS and SEEDS of {name} must name the same presets, but found {sorted(presets)} and {sorted(seeds)}; "
            "add the missing ones"
        )
    return [found[part] for part in CONTRACT]


def _describe(name: str, package: str) -> Listing:
    spec = find_spec(_module_name(name, package))
    tree = ast.parse(Path(spec.origin).read_bytes()) if spec and spec.origin else ast.Module([], [])
    return Listing(name, _first_line(ast.get_docstring(tree)), _constant(tree, "REPRODUCES"))


def _constant(tree: ast.Module, name: str) -> str:
    """A top-level string by its name, empty where it is computed instead of written out."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
    return ""


def _module_name(name: str, package: str) -> str:
    return f"{package}.{name.replace('-', '_')}"


def _first_line(docstring: str | None) -> str:
    return docstring.strip().splitlines()[0] if docstring and docstring.strip() else ""

"""Which modules an experiment's rows can depend on, and what these say without what no row can depend on.

They are what its `run`, its presets and its ranges reach by imports.

Imports are read from the sources, and names are followed through re-exports to the module that defines them. Modules outside
the project's packages are not followed: their versions stand beside the rows. Of the lab, `CORE` always counts, and a module
that an experiment names counts alone, unless it only describes experiments.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SKIPPED = ("kind", "type_comment", "type_params", "ctx")
"""Fields of nodes that are the same for all code that runs, or that only some releases of Python have."""


@functools.lru_cache(maxsize=4096)
def parsed(content: bytes) -> ast.Module:
    """Return the syntax tree of a source; that of none at all where it is no Python."""
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError):  # the latter of null bytes
        return ast.Module([], [])


@functools.lru_cache(maxsize=4096)
def meaning(content: bytes) -> str:
    r"""Return a digest of a source's syntax tree; of the bytes themselves where it is no Python.

    >>> meaning(b"def f(x):\n    'Doubles.'\n    return 2 * x  # twice") == meaning(b"def f(x): return 2*x")
    True
    >>> meaning(b"raise ValueError(f'no {x}')") == meaning(b"raise ValueError('none')")
    True
    >>> meaning(b"x = 1") == meaning(b"x = 2")
    False
    """
    tree = parsed(content)
    found = shown(tree) if tree.body else content.strip().decode(errors="replace")
    return hashlib.sha256(found.encode()).hexdigest()


def shown(value: Any, raised: bool = False) -> str:  # noqa: ANN401  # whatever a node holds
    """Return a node, or a part of one, as text that is equal for equal code; below `raise` any text is like any other."""
    if isinstance(value, list):
        items = [one for one in value if not _is_text(one)]  # pyright: ignore[reportUnknownVariableType]
        return "[" + ",".join(shown(one, raised) for one in items) + "]"  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, ast.AST):
        return repr(value)
    if raised and (isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))):
        return "text"
    raised = raised or isinstance(value, ast.Raise)
    fields = ((name, one) for name, one in ast.iter_fields(value) if name not in SKIPPED and one is not None and one != [])
    return f"{type(value).__name__}(" + ",".join(f"{name}={shown(one, raised)}" for name, one in fields) + ")"


def _is_text(node: object) -> bool:
    """Return whether a statement is a string alone: a docstring, or what is said below a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


LAB = __name__.partition(".")[0]

CORE = (
    "rows", "values", "fields", "running.rowfiles", "running.workers.worker", "running.checkpoints.files",
    "running.checkpoints.halves", "running.checkpoints.loops", "running.checkpoints.parts", "running.checkpoints.state",
    "running.checkpoints.stopping", "running.checkpoints.surroundings",
)  # fmt: skip
"""Modules of the lab that make rows of what an experiment yields, or keep what it computes from."""

DESCRIBING = ("experiment", "progress", "sweeping", "errors", "drawing", "conditions")
"""Modules and packages of the lab that say something about an experiment, or refuse it, and put nothing into a row."""

FIELDS = ("run", "presets", "ranges")
"""What `Experiment(...)` is given that rows come from."""


@dataclass(frozen=True)
class Modules:
    """The modules of some top-level packages, of which `folders` says where they lie."""

    folders: tuple[tuple[str, Path], ...]

    def find(self, module: str) -> Path | None:
        """Return a module's file, None if there is none."""
        top, *inner = module.split(".")
        folder = dict(self.folders).get(top)
        if folder is None:
            return None
        base = folder.joinpath(*inner)
        return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)

    def resolve(self, module: str, name: str) -> str | None:
        """Return the module that `from module import name` takes its name from; None outside of these packages."""
        seen = set[tuple[str, str]]()
        while (module, name) not in seen:
            seen.add((module, name))
            if self.find(f"{module}.{name}"):
                return f"{module}.{name}"
            path = self.find(module)
            if path is None:
                return None
            further = _exported(path.read_bytes()).get(name)
            if further is None or self.find(further[0]) is None:
                return module
            module, name = further
        return module

    def named(self, module: str) -> Iterator[str]:
        """Yield the modules that one imports, in functions too, but not for annotations alone."""
        path = self.find(module)
        if path is None:
            return
        for source, name in _imported(path.read_bytes()):
            found = self.resolve(source, name) if name else (source if self.find(source) else None)
            if found is not None:
                yield found


def reached(modules: Modules, experiment: str) -> list[str]:
    """Return the modules that an experiment's rows can depend on, sorted; its own `__init__` is not among them."""
    found, waiting = {f"{LAB}.{name}" for name in CORE}, [*_roots(modules, experiment)]
    while waiting:
        module = waiting.pop()
        top, _, inner = module.partition(".")
        if module in found or (top == LAB and inner.partition(".")[0] in ("", *DESCRIBING)):
            continue
        found.add(module)
        if top != LAB:
            waiting += modules.named(module)
    return sorted(module for module in found if modules.find(module))


def stated(content: bytes) -> list[ast.expr]:
    """Return what an experiment's `__init__` gives to the `FIELDS` of `Experiment(...)`, of its parts, too."""
    calls = (node for node in ast.walk(parsed(content)) if isinstance(node, ast.Call))
    return [
        keyword.value
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == "Experiment"
        for keyword in node.keywords
        if keyword.arg in FIELDS
    ]


def _roots(modules: Modules, experiment: str) -> Iterator[str]:
    path = modules.find(experiment)
    if path is None:
        return
    content = path.read_bytes()
    names = {node.id for value in stated(content) for node in ast.walk(value) if isinstance(node, ast.Name)}
    given = _exported(content)
    if not names or not names <= given.keys():  # something is made in the file itself
        yield from modules.named(experiment)
        return
    for name in sorted(names):
        found = modules.resolve(*given[name])
        if found is not None:
            yield found


@functools.lru_cache(maxsize=4096)
def _imported(content: bytes) -> tuple[tuple[str, str], ...]:
    """Return what a source imports: a module and a name of it, or no name where the module itself is asked for."""
    return tuple(_imports(parsed(content).body))


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _imports(node.orelse)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        else:
            yield from _imports(ast.iter_child_nodes(node))


@functools.lru_cache(maxsize=4096)
def _exported(content: bytes) -> dict[str, tuple[str, str]]:
    """Return where a module's imported names come from, by the name that they have in it; lazy ones, too."""
    found: dict[str, tuple[str, str]] = {}
    body = parsed(content).body
    for node in (*body, *(inner for one in body if isinstance(one, ast.If) for inner in one.body)):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names}
    return found

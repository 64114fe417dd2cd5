"""The source hash: which code made these rows.

Rows depend on the experiment module and on every craik module that it imports, directly or not. They do not depend on
comments and docstrings, nor on the parts of the experiment that read rows instead of making them (its claims and
figures, the functions that these alone use, and a module `_NAME_figures` beside it), nor on the harness: how rows are
stored does not change what they are.
None of these is hashed, so that a reworded claim or a redrawn figure is made anew from the rows of yesterday's long run
instead of asking for the run again.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

MAKING = frozenset({"run", "Config"})
"""What makes an experiment's rows; of its own module, all that these use is hashed, and no other definition."""

READING = frozenset({"REPRODUCES", "SEEDS", "CLAIMS", "figures", "animations", "progress"})
"""What reads rows in an experiment; where one experiment imports another, all but this is hashed of the other."""

_UNHASHED = "craik.harness"


def source_hash(module: str) -> str:
    """The sha256, in hex, of a module and of all it imports from its own package and from craik.

    Args:
        module: dotted name; it is read, not imported.
    """
    digest, package = hashlib.sha256(), module.rpartition(".")[0]
    for name, path in sorted(imported_files(module).items()):
        is_other = name.rpartition(".")[0] == package
        making = MAKING if name == module else None
        code = bare_source(path.read_bytes(), making, READING if is_other else frozenset())
        digest.update(f"{name}\0{code}\0".encode())
    return digest.hexdigest()


def imported_files(module: str) -> dict[str, Path]:
    """Dotted name and file of a module and of everything it imports from its own package and from craik, statically."""
    tops = {module.partition(".")[0], "craik"}
    found: dict[str, Path] = {}
    waiting = list(_with_parents(module))
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if name in found or name.partition(".")[0] not in tops or path is None or _is_unhashed(name):
            continue
        found[name] = path
        for imported in imported_names(path.read_bytes(), name, path.name == "__init__.py"):
            waiting.extend(_with_parents(imported))
    return found


def imported_names(source: bytes, module: str, is_package: bool) -> Iterator[str]:
    """Every dotted name that a source imports, anywhere in it; `from a import b` gives both a and a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, is_package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = len(parts) - node.level + is_package
    return ".".join([*parts[:kept], *([node.module] if node.module else [])])


def _with_parents(name: str) -> Iterator[str]:
    """Importing a.b.c runs a and a.b too."""
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _is_unhashed(name: str) -> bool:
    """Whether a module makes no rows: the harness, and a private module `_NAME_figures` beside an experiment."""
    last = name.rpartition(".")[2]
    return name == _UNHASHED or name.startswith(_UNHASHED + ".") or (last.startswith("_") and last.endswith("_figures"))


def _file_of(name: str) -> Path | None:
    """The file of a module below its top-level package, without importing anything; None where there is none."""
    top, *rest = name.split(".")
    spec = find_spec(top)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        base = Path(folder, *rest)
        for candidate in (base / "__init__.py", base.with_suffix(".py")):
            if candidate.is_file():
                return candidate
    return None


def bare_source(source: bytes, making: frozenset[str] | None = None, reading: frozenset[str] = frozenset()) -> str:
    r"""A source without comments, docstrings, blank lines, imports of the harness and unused definitions.

    >>> print(bare_source(b'"Docstring."\nx = 1  # why\n\nCLAIMS = ()\n', reading=frozenset({"CLAIMS"})))
    x = 1

    Args:
        source: of a module.
        making: the top-level names to keep, with all that they use; every name if None.
        reading: top-level names to leave out, unless what is kept uses them.
    """
    lines, tree = io.BytesIO(source), ast.parse(source)
    text = source.decode(tokenize.detect_encoding(lines.readline)[0]).splitlines()
    for row, column in _comments(source):
        text[row] = text[row][:column]
    for node in (*_docstrings(tree), *_unused(tree, making, reading)):
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        if _is_alone(node, text[first], text[last - 1]):
            text[first:last] = [""] * (last - first)
    return "\n".join(line.rstrip() for line in text if line.strip())


def _comments(source: bytes) -> Iterator[tuple[int, int]]:
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0] - 1, token.start[1]


def _docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def _unused(tree: ast.Module, making: frozenset[str] | None, reading: frozenset[str]) -> list[ast.stmt]:
    """The top-level statements that define only names which nothing that is kept uses."""
    defined = [(node, _defined(node)) for node in tree.body]
    everything = frozenset[str]().union(*(names for _, names in defined))
    reached, waiting = set[str](), set((everything if making is None else making) - reading)
    for node, names in defined:
        waiting |= set() if names else _used(node)  # an `if` or a call at the top level may do anything: it stays
    while waiting:
        reached |= waiting
        waiting = set[str]().union(*(_used(node) for node, names in defined if names & waiting)) - reached
    return [node for node, names in defined if (names and not names & reached) or _imports_harness(node)]


def _used(node: ast.stmt) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _imports_harness(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and not node.level and _is_unhashed(node.module or "")


def _is_alone(node: ast.stmt, first: str, last: str) -> bool:
    """Whether no other code shares the statement's lines (as in `x = 1; "text"`); columns count UTF-8 bytes."""
    before, after = first.encode()[: node.col_offset], last.encode()[node.end_col_offset :]
    return not before.strip() and not after.strip()


def _defined(node: ast.stmt) -> frozenset[str]:
    """The names that a top-level statement defines; none for one that does something besides."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return frozenset({node.name})
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name).partition(".")[0] for alias in node.names) - {"*"}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return frozenset(names) if len(names) == len(targets) else frozenset()

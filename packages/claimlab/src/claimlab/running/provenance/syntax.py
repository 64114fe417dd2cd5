"""What a source says, without what no row can depend on: comments, layout, docstrings, the messages of `raise`."""

from __future__ import annotations

import ast
import functools
import hashlib
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

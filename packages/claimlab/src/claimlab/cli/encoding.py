"""What is printed where an encoding lacks a character: a mark that it has, instead of a failure in the middle of a table."""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
from collections.abc import Generator
from typing import TextIO

MARKS = {
    "✓": "+",
    "✗": "x",
    "○": "o",
    "·": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "±": "+-",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "…": "...",
    "\N{NO-BREAK SPACE}": " ",
    "━": "-",
}
"""What stands for a character of ours that an encoding lacks; any other is spelled out, as in a string of Python."""

_ERRORS = "claimlab.marks"


def _marked(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(MARKS.get(one) or one.encode("unicode_escape").decode() for one in lacking), error.end


codecs.register_error(_ERRORS, _marked)


@contextlib.contextmanager
def printable() -> Generator[None, None, None]:
    """Let stdout and stderr write marks for what their encoding lacks while the block runs."""
    with contextlib.ExitStack() as after:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                after.callback(_set, stream, stream.errors)
                _set(stream, _ERRORS)
        yield


def _set(stream: io.TextIOWrapper, errors: str | None) -> None:
    with contextlib.suppress(OSError, ValueError):  # it is gone, or closed
        stream.reconfigure(errors=errors)


def encodes(text: str, stream: TextIO) -> bool:
    """Tell whether a stream's encoding has every character of a text."""
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True

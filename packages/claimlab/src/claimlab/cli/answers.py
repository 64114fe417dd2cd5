"""What the command line answers with: JSON objects, help, paths as the user's folder sees them, a sentence for each failure."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import re
import shlex
import sys
import textwrap
import traceback
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claimlab.errors import LabError, Stop
from claimlab.fields import settings_of, values_of
from claimlab.needs import among, weighed
from claimlab.running.storage import words_of
from claimlab.showing.wording import plain
from claimlab.values import kind, written

if TYPE_CHECKING:
    from claimlab.claims import JudgedClaim


def complain(error: BaseException, words: Sequence[str], program: str) -> int:
    """Say on stderr why a command failed, on stdout too where JSON was asked for, and return its exit status.

    Of the command's words `--traceback` and `--json` count wherever they stand, in a line that cannot be read too.
    """
    sentence, status = _sentence(error)
    with contextlib.suppress(OSError):  # a terminal that is gone hears nothing, and the exit status still counts
        if "--traceback" in words:
            print(getattr(error, "detail", "") or traceback.format_exc(), file=sys.stderr)
        print(f"{program}: {plain(sentence)}", file=sys.stderr)
        if "--json" in words:
            print_json({"error": sentence, "status": status})
    return status


def _sentence(error: BaseException) -> tuple[str, int]:
    if isinstance(error, LabError):
        return str(error), error.status
    if isinstance(error, KeyboardInterrupt):
        stop = error if isinstance(error, Stop) else Stop()
        return f"stopped by {stop.words}", 128 + stop.number
    if isinstance(error, ModuleNotFoundError):
        extras = {"tensorboard": "tracking", "mlflow": "tracking", "ray": "cluster"}
        extra = next((f"[{extras[word]}]" for word in (error.name or "").split(".") if word in extras), "")
        return f"All packages of this command should be installed. Found: {error}. Run `pip install 'claimlab{extra}'`.", 1
    if isinstance(error, OSError):
        return words_of(error), 1
    last = traceback.format_exception_only(error)[-1].strip()
    return f"No command should end like this. Found {last}. Please report it; --traceback shows where.", 1


def claims_json(claims: Iterable[JudgedClaim]) -> list[dict[str, Any]]:
    """Return judged claims as every `--json` gives them."""
    keys = ("id", "kind", "text", "source", "printed", "measured", "low", "high", "n", "verdict")
    claims = list(claims)
    known = among(claims)
    return [{key: getattr(weighed(claim, known), key) for key in keys} for claim in claims]


def fields_help(name: str, title: str, config: type[Any], presets: Mapping[str, Any]) -> str:
    """Return the help of an experiment's or a benchmark's own fields, with the presets' values."""
    lines = [f"\nfields of {name}: {title}"]
    for setting in settings_of(config):
        values = (f"{preset} {shlex.quote(written(values_of(one)[setting.name]))}" for preset, one in presets.items())
        text = f"{setting.help} ({kind(setting.type)}; {', '.join(values)})".strip()
        wrapped = textwrap.wrap(text, 88, initial_indent=" " * 8, subsequent_indent=" " * 8)
        lines += [f"  {setting.flag}", *wrapped]
    return "\n".join(lines)


def shown(path: Path) -> str:
    """Return a path as people and scripts in this folder use it."""
    absolute, here = path.absolute(), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(path)


def print_json(content: object) -> None:
    """Print the one JSON object of a command, for people and for diffs too."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):  # JSON has a spelling of its own
        text = json.dumps(content, indent=2, allow_nan=False)
    # Terminals obey these characters, JSON need not hold them.
    print(re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found.group()):04x}", text))


MARKS = {
    "✓": "+", "✗": "x", "○": "o", "·": "-", "━": "-", "±": "+-", "≤": "<=", "≥": ">=", "→": "->", "…": "...",
    "\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{MULTIPLICATION SIGN}": "x", "\N{NO-BREAK SPACE}": " ",
}  # fmt: skip
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

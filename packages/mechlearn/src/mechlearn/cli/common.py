"""What `mechlearn fit` and `mechlearn predict` share: their errors, options and files. Nothing here knows experiments."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import json
import os
import re
import signal
import sys
import threading
import traceback
import unicodedata
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from types import FrameType

from mechlearn.nn.saving import write_at_once

OUT = Path("runs")
"""Where answers go unless told otherwise."""


class CommandError(Exception):
    """A failure that a user can understand: its message is the rule, the value found and the way out."""

    status: int = 1


class UsageError(CommandError):
    """The command asks for something that does not exist or cannot be: exit status 2."""

    status: int = 2


def suggestion(word: str, options: Iterable[str]) -> str:
    """Return the way out of a misspelled name: the nearest option, or all of them where none is near.

    >>> suggestion("agrement", ["agreement", "skips"])
    'Did you mean agreement?'
    """
    known = sorted(options)
    near = difflib.get_close_matches(word, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"Choose one of {', '.join(known)}."


def whole_number(text: str) -> int:
    """Read an option's whole number for argparse."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"should be a whole number. Found {text!r}") from None


def helped(options: argparse.Namespace) -> bool:
    """Print the help where it was asked for, and return whether it was."""
    if options.help:
        print(options.parser.format_help(), end="")
    return options.help


def refuse(rest: Sequence[str]) -> None:
    """Raise an error for the first word that no option takes."""
    if rest and not rest[0].startswith("-"):
        rule = "A command should be given its options and what its usage names"
        raise UsageError(f"{rule}. Found the stray word {rest[0]!r}. Leave it out, or see --help.")
    if rest:
        raise UsageError(f"An option should be one that exists. Found {rest[0]!r}. See --help.")


def shown(path: Path) -> str:
    """Return a path as people and scripts in this folder use it."""
    absolute, here = path.absolute(), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(path)


def print_json(content: object) -> None:
    """Print the one JSON object of a command; what a terminal would obey is spelled out."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # JSON has a spelling of its own for what an encoding lacks
        text = json.dumps(content, indent=2, allow_nan=False)
    print(re.sub("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", lambda found: f"\\u{ord(found.group()):04x}", text))


def ensure_file(path: Path) -> None:
    """Make the folder of a file that will be written, and check that nothing is in its way."""
    if path.is_dir():
        raise UsageError(f"--out must name a file, but {path} is a folder; name a file in it")
    probe = path.parent / f".probe.{os.getpid()}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.open("xb").close()  # a link is not written through
        probe.unlink()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        found = f"but {path.parent} is not ({reason})"
        raise UsageError(f"the output folder must be writable, {found}; name another with --out") from error


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old content or the new; its folder must exist."""
    try:
        write_at_once(path, text.encode())
    except OSError as error:  # a full disk does not name the file
        error.filename = error.filename or str(path)
        raise


class Stopped(KeyboardInterrupt):
    """A signal asked the process to stop.

    Args:
        number: the signal's.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.number = int(number)


@contextlib.contextmanager
def printable() -> Generator[None, None, None]:
    """In here stdout spells out what its encoding lacks, such as a column's name in another script, as a string of Python."""
    stream = sys.stdout
    before = stream.errors if isinstance(stream, io.TextIOWrapper) else None
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        if isinstance(stream, io.TextIOWrapper) and not stream.closed:
            stream.reconfigure(errors=before)


@contextlib.contextmanager
def stoppable() -> Generator[None, None, None]:
    """In here SIGTERM and SIGHUP raise `Stopped`, as Ctrl-C raises `KeyboardInterrupt`; what was ignored stays so."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))}
    ours = threading.current_thread() is threading.main_thread()
    heard = [number for number, handler in before.items() if ours and handler == signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(number)

    for number in heard:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def complain(error: BaseException, words: Sequence[str]) -> int:
    """Say on stderr why a command failed, and on stdout too where JSON was asked for; return the exit status.

    The error is being handled. `--traceback` and `--json` count wherever they stand, in a line that cannot be read too.
    """
    sentence, status = _sentence(error)
    with contextlib.suppress(OSError):  # a terminal that is gone hears nothing, and the exit status still counts
        if "--traceback" in words:
            print(traceback.format_exc(), file=sys.stderr)
        print(f"mechlearn: {plain(sentence)}", file=sys.stderr)
        if "--json" in words:
            print_json({"error": sentence, "status": status})
    return status


def _sentence(error: BaseException) -> tuple[str, int]:
    if isinstance(error, CommandError):
        return str(error), error.status
    if isinstance(error, KeyboardInterrupt):
        number = error.number if isinstance(error, Stopped) else int(signal.SIGINT)
        return f"stopped by {'Ctrl-C' if number == signal.SIGINT else signal.Signals(number).name}", 128 + number
    if isinstance(error, ModuleNotFoundError):
        return f"All packages of this command should be installed. Found: {error}. Run: pip install 'mechlearn[tables]'.", 1
    if isinstance(error, OSError):
        if error.errno is None and ". Found " in str(error):
            return str(error), 1
        reason = f"{error.strerror or error} {error.filename or ''}".strip()
        return f"Files should be readable and writable. Found: {reason}. Mend that and try again.", 1
    last = traceback.format_exception_only(error)[-1].strip()
    return f"No command should end like this. Found {last}. Please report it; --traceback shows where.", 1


def as_cell(value: object, seen: bool = False) -> object:
    """Return what is written into a cell of CSV: a text that a spreadsheet would compute has an apostrophe in front.

    Where a terminal shows it, what a terminal would obey is spelled out.

    >>> [as_cell(one) for one in ("=1+1", "-5", "-a", "a", 3.0)]
    ["'=1+1", '-5', "'-a", 'a', 3.0]
    """
    if not isinstance(value, str):
        return value
    text = plain(value) if seen else value
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


def plain(text: str) -> str:
    r"""Spell out what a terminal would obey, or what turns the direction of reading.

    >>> print(plain("a column\x1b[2J, \u202ereversed"))
    a column\x1b[2J, \u202ereversed
    """
    obeyed = (c not in "\n\t" and unicodedata.category(c).startswith("C") for c in text)
    return "".join(c.encode("unicode_escape").decode() if it else c for c, it in zip(text, obeyed, strict=True))

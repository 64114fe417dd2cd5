"""The command line: `fit` and `predict`, and the commands of other packages that are installed.

Exit status 0 when the command did its work, 2 for bad usage, 1 for a failure, 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
With `--json` stdout holds exactly one JSON object, that of a failure `{"error": sentence, "status": status}`.

A package adds commands by an entry point of the group `mechlearn.commands`: an object with `commands`, a sentence on each by
its name, and `main(words)`, which runs one and returns the exit status.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, entry_points, version
from textwrap import fill
from types import ModuleType
from typing import NoReturn, Protocol

from mechlearn.cli import fit, predict
from mechlearn.cli.common import CommandError, UsageError, complain, printable, stoppable, suggestion

COMMANDS: dict[str, ModuleType] = {"fit": fit, "predict": predict}
"""By name, each with its sentence, its options and what it does with them and with the words that are none."""

ELSEWHERE = ("list", "run", "sweep", "report", "status", "clean", "verify", "bench", "coinrun")
"""Commands that come with the experiments' package."""

PURPOSES = {
    "data of your own": ("fit", "predict"),
    "experiments": ("list", "run", "sweep", "report"),
    "runs and records": ("status", "clean", "verify"),
    "speed and memory": ("bench",),
}
"""What commands are for, as `--help` shows them; others follow under "more"."""


class Program(Protocol):
    """What an entry point of the group `mechlearn.commands` names."""

    @property
    def commands(self) -> Mapping[str, str]:
        """What each command does, by its name."""
        ...

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run a command and return the exit status."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the words after `mechlearn`; those of the process if None.

    Returns:
        The exit status.
    """
    words = [*(sys.argv[1:] if argv is None else argv)]
    with stoppable(), printable():
        return _main(words)


def _main(words: Sequence[str]) -> int:
    try:
        status = _dispatch(words)
        sys.stdout.flush()  # a reader that has left is found here instead of after the last line of Python
    except SystemExit as leaving:  # argparse's way to end --help and --version
        return leaving.code if isinstance(leaving.code, int) else 0
    except BrokenPipeError:  # nobody reads any more, so there is nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:  # a fault of ours too is a sentence, and JSON where that was asked for
        return complain(error, words)
    return status


def _dispatch(words: Sequence[str]) -> int:
    programs = [*_programs()]  # in here: loading them takes a second, in which somebody may press Ctrl-C
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        for program in programs:
            if words[0] in program.commands:
                return program.main(words)
    others = {name: sentence for program in programs for name, sentence in program.commands.items()}
    known = {**others, **COMMANDS}
    if words and words[0] in ELSEWHERE:  # here it is nobody's, or `main` had handed it over
        found = f"mechlearn {words[0]} should have the experiments beside the library. Found the library alone"
        raise CommandError(f"{found}. In a checkout, run: pip install ./packages/claimlab ./packages/zoo.")
    if words and not words[0].startswith("-") and words[0] not in known:
        raise UsageError(f"A command should be one that exists. Found {words[0]!r}. {suggestion(words[0], known)}")
    options, rest = _parser(others).parse_known_args(words)
    if options.command is None:
        raise UsageError(f"mechlearn should be given a command. Found none. {suggestion('', known)}")
    return COMMANDS[options.command].run(options, rest)


def _parser(others: Mapping[str, str]) -> argparse.ArgumentParser:
    known = {**others, **{name: module.SENTENCE for name, module in COMMANDS.items()}}
    parser = _Parser(
        prog="mechlearn",
        usage="mechlearn COMMAND ...",
        description=_by_purpose(known),
        epilog="begin with: mechlearn fit sites FILE --target COLUMN --environment COLUMN\nmore on one: mechlearn NAME --help",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mechlearn {_version()}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", help=argparse.SUPPRESS)
    for name, module in COMMANDS.items():
        sentence = module.SENTENCE
        command = commands.add_parser(name, description=sentence, add_help=False, allow_abbrev=False)
        command.add_argument("-h", "--help", action="store_true", help="show this and exit")
        command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        command.add_argument("--traceback", action="store_true", help="show where an error was raised")
        module.declare(command)
        command.set_defaults(parser=command)
    for name in others:
        commands.add_parser(name, add_help=False)
    return parser


def _by_purpose(commands: Mapping[str, str]) -> str:
    sorted_in = {name for names in PURPOSES.values() for name in names}
    purposes = {**PURPOSES, "more": tuple(name for name in commands if name not in sorted_in)}
    blocks = ["Learn mechanisms from several environments."]
    for purpose, names in purposes.items():
        there = [name for name in names if name in commands]
        if there:
            lines = (f"  {name:<8} {fill(commands[name], 68, subsequent_indent=' ' * 11)}" for name in there)
            blocks.append("\n".join((f"{purpose}:", *lines)))
    return "\n\n".join(blocks)


def _programs() -> Iterator[Program]:
    for point in entry_points(group="mechlearn.commands"):
        yield point.load()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; {self.prog} --help tells more")


def _version() -> str:
    try:
        return version("mechlearn")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "not installed"

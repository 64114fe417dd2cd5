"""The command line: one file a command.

Exit status 0 when the command did its work (whatever the verdicts), 2 for bad usage, 1 for a failure, 130 for Ctrl-C, 143 for
SIGTERM, 129 for SIGHUP.
With `--json` stdout holds exactly one JSON object, that of a failure `{"error": sentence, "status": status}`. What draws
and what computes is imported when it is needed only.

A further command is a file with `SENTENCE`, `declare(parser)` and `run(options, rest)`, and an entry in `COMMANDS`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import NoReturn

from craik.cli import bench, clean, coinrun, fit, list, predict, report, run, status, sweep, verify  # noqa: A004  # named as they are typed
from craik.cli.answers import complain
from craik.cli.options import shared
from craik.lab.errors import UsageError, suggestion
from craik.lab.running.workers.stopping import stoppable

COMMANDS: dict[str, ModuleType] = {
    "list": list,
    "run": run,
    "sweep": sweep,
    "report": report,
    "status": status,
    "clean": clean,
    "verify": verify,
    "bench": bench,
    "coinrun": coinrun,
    "fit": fit,
    "predict": predict,
}
"""By name, each with its sentence, its options and what it does with them and with the words that are none."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; {self.prog} --help tells more")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the words after `craik`; those of the process if None.

    Returns:
        The exit status.
    """
    words = [*(sys.argv[1:] if argv is None else argv)]
    with stoppable():
        return _main(words)


def _main(words: Sequence[str]) -> int:
    try:
        status = _dispatch(words)
        sys.stdout.flush()  # a reader that has left is found here instead of after the last line of Python
    except SystemExit as leaving:  # argparse's way to end --help and --version
        return leaving.code if isinstance(leaving.code, int) else 0
    except BrokenPipeError:  # as in craik list | head -1: nobody reads any more, so there is nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:  # a fault of craik too is a sentence, and JSON where that was asked for
        return complain(error, words)
    return status


def _dispatch(words: Sequence[str]) -> int:
    parser = _Parser(prog="craik", description="Learning mechanistic models: experiments, claims, reports.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"craik {_version()}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    for name, module in COMMANDS.items():
        sentence = module.SENTENCE
        command = commands.add_parser(name, help=sentence, description=sentence, add_help=False, allow_abbrev=False)
        shared(command)
        module.declare(command)
        command.set_defaults(parser=command)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UsageError(f"a command must be one there is, but found {words[0]!r}; {suggestion(words[0], COMMANDS)}")
    options, rest = parser.parse_known_args(words)
    if options.command is None:
        raise UsageError(f"craik needs a command, but found none; {suggestion('', COMMANDS)}")
    return COMMANDS[options.command].run(options, rest)


def _version() -> str:
    try:
        return version("craik")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "not installed"

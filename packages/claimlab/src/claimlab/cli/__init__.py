"""The command line: one file a command, and programs that are made of them.

Exit status 0 when the command did its work (whatever the verdicts), 2 for bad usage, 1 for a failure, 130 for Ctrl-C, 143 for
SIGTERM, 129 for SIGHUP.
With `--json` stdout holds exactly one JSON object, that of a failure `{"error": sentence, "status": status}`. What draws
and what computes is imported when it is needed only.

A further command is a module with `SENTENCE`, `declare(parser)` and `run(options, rest)`: an entry in `COMMANDS`, or in the
`further` of a program of your own.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import NoReturn

from claimlab.cli import bench, clean, list, report, run, status, sweep, verify  # noqa: A004  # named as they are typed
from claimlab.cli.answers import complain, printable
from claimlab.cli.options import shared
from claimlab.errors import UsageError, suggestion
from claimlab.running.workers.stopping import stoppable

COMMANDS: dict[str, ModuleType] = {
    "list": list,
    "run": run,
    "sweep": sweep,
    "report": report,
    "status": status,
    "clean": clean,
    "verify": verify,
    "bench": bench,
}
"""By name, each with its sentence, its options and what it does with them and with the words that are none."""


@dataclass(frozen=True)
class Program:
    """A command line: the lab's commands for one package of experiments.

    Args:
        name: what is typed; the distribution of that name tells the version.
        package: of experiments, searched unless `--package` names another; None if there is none.
        further: commands beside the lab's.
    """

    name: str
    package: str | None = None
    further: Mapping[str, ModuleType] = field(default_factory=dict[str, ModuleType])

    @property
    def commands(self) -> dict[str, ModuleType]:
        """All commands by name."""
        return {**COMMANDS, **self.further}

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run one command, by default that of the process's own words, and return its exit status."""
        words = [*(sys.argv[1:] if argv is None else argv)]
        with stoppable(), printable():
            return self._main(words)

    def _main(self, words: Sequence[str]) -> int:
        try:
            status = self._dispatch(words)
            sys.stdout.flush()  # a reader that has left is found here instead of after the last line of Python
        except SystemExit as leaving:  # argparse's way to end --help and --version
            return leaving.code if isinstance(leaving.code, int) else 0
        except BrokenPipeError:  # as in `list | head -1`: nobody reads any more, so there is nothing to say
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (Exception, KeyboardInterrupt) as error:  # a fault of ours too is a sentence, and JSON where that was asked for
            return complain(error, words, self.name)
        return status

    def _dispatch(self, words: Sequence[str]) -> int:
        commands = self.commands
        if words and not words[0].startswith("-") and words[0] not in commands:
            raise UsageError(f"A command should be one that exists. Found {words[0]!r}. {suggestion(words[0], commands)}")
        options, rest = self._parser().parse_known_args(words)
        if options.command is None:
            raise UsageError(f"{self.name} should be given a command. Found none. {suggestion('', commands)}")
        return commands[options.command].run(options, rest)

    def _parser(self) -> argparse.ArgumentParser:
        parser = _Parser(prog=self.name, description="Experiments, claims, reports.", allow_abbrev=False)
        parser.add_argument("--version", action="version", version=f"{self.name} {_version(self.name)}")
        subparsers = parser.add_subparsers(metavar="COMMAND", dest="command")
        for name, module in self.commands.items():
            sentence = module.SENTENCE
            command = subparsers.add_parser(name, help=sentence, description=sentence, add_help=False, allow_abbrev=False)
            command.set_defaults(parser=command, searched=self.package)
            shared(command)
            module.declare(command)
        return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.")


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "not installed"


main = Program("claimlab").main
"""The lab's own command; its `--package` names the experiments."""

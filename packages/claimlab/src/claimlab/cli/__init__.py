"""The command line: one file a command, and programs that are made of them.

Exit status 0 when the command did its work (whatever the verdicts), 2 for bad usage, 1 for a failure, 130 for Ctrl-C, 143 for
SIGTERM, 129 for SIGHUP.
With `--json` stdout holds exactly one JSON object, that of a failure `{"error": sentence, "status": status}`.

A command is a module with `declare(parser)` and `run(options, rest)`, which is imported when it is typed. A further one, of a
program of your own, has its `SENTENCE`, too. One with an argument NAME takes settings: words that are no option are the `rest`,
and where `options.help` is set it adds theirs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import NoReturn

from claimlab.cli.answers import complain, printable
from claimlab.cli.options import refuse, shared
from claimlab.errors import UsageError, suggestion
from claimlab.running.workers.stopping import stoppable

COMMANDS = {
    "list": "what there is to run",
    "run": "compute an experiment, or go on where a run was stopped",
    "sweep": "search an experiment's settings, as many trials for every method, on validation rows",
    "report": "write the report of a folder of runs",
    "status": "what runs, what is done, what failed and why",
    "clean": "remove what another source made, or what was left half",
    "verify": "make the first seeds of records again and compare",
    "bench": "measure time and memory beside plain backpropagation and other packages",
}
"""What each command does, by its name and its module's."""


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
    def commands(self) -> dict[str, str]:
        """What each command does, by name."""
        return {**COMMANDS, **{name: module.SENTENCE for name, module in self.further.items()}}

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run one command, by default that of the process's own words, and return its exit status."""
        words = [*(sys.argv[1:] if argv is None else argv)]
        with stoppable(), printable():
            try:
                status = self._dispatch(words)
                sys.stdout.flush()  # a reader that has left is found here instead of after the last line of Python
            except SystemExit as leaving:  # argparse's way to end --help and --version
                return leaving.code if isinstance(leaving.code, int) else 0
            except BrokenPipeError:  # as in `list | head -1`: nobody reads any more, so there is nothing to say
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return 1
            except (Exception, KeyboardInterrupt) as error:  # a fault of ours too is a sentence, and JSON if that is asked for
                return complain(error, words, self.name)
            return status

    def _dispatch(self, words: Sequence[str]) -> int:
        commands = self.commands
        if words and not words[0].startswith("-") and words[0] not in commands:
            raise UsageError(f"A command should be one that exists. Found {words[0]!r}. {suggestion(words[0], commands)}")
        parser = _Parser(prog=self.name, description="Experiments, claims, reports.", allow_abbrev=False)
        parser.add_argument("--version", action="version", version=f"{self.name} {_version(self.name)}")
        subparsers = parser.add_subparsers(metavar="COMMAND", dest="command")
        for name, sentence in commands.items():
            command = subparsers.add_parser(name, help=sentence, description=sentence, add_help=False, allow_abbrev=False)
            command.set_defaults(parser=command, searched=self.package)
            shared(command)
            if name in words:
                self._module(name).declare(command)
        options, rest = parser.parse_known_args(words)
        if options.command is None:
            raise UsageError(f"{self.name} should be given a command. Found none. {suggestion('', commands)}")
        if options.help:
            print(options.parser.format_help(), end="")
            if getattr(options, "name", None) is None:
                return 0
        if "name" not in options:
            refuse(rest)
        return self._module(options.command).run(options, rest)

    def _module(self, command: str) -> ModuleType:
        return self.further.get(command) or importlib.import_module(f"claimlab.cli.{command}")


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

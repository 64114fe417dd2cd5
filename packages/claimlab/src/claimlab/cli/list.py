"""`list`: what there is to run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import fill

from claimlab.cli.answers import print_json
from claimlab.cli.options import helped, package, package_option, refuse
from claimlab.experiment import listing

SENTENCE = "what there is to run"
"""What the command does."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    package_option(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the experiments of a package."""
    if helped(options):
        return 0
    refuse(rest)
    found = listing(package(options))
    if options.json:
        print_json({"experiments": [{"name": one.name, "title": one.title, "reproduces": one.reproduces} for one in found]})
        return 0
    width = max((len(one.name) for one in found), default=0)
    columns = max(get_terminal_size().columns, width + 40)
    for one in found:
        print(fill(one.title, columns, initial_indent=f"{one.name:<{width}}  ", subsequent_indent=" " * (width + 2)))
    program = options.parser.prog.removesuffix(" list")
    print(f"\n{program} run NAME runs one and draws it. Its settings: {program} run NAME --help")
    return 0

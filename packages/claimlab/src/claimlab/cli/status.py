"""`status`: what runs, what is done, what failed and why."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from claimlab.cli.answers import print_json, shown
from claimlab.cli.options import directory_argument
from claimlab.running.watching.status import status
from claimlab.showing.terminal import print_states


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    directory_argument(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Show every run's state."""
    found = status(options.directory)
    if options.json:
        print_json({"runs": [{**dataclasses.asdict(one), "folder": shown(one.folder)} for one in found]})
    else:
        print_states(found)
    return 0

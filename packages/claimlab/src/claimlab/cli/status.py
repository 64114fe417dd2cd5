"""`status`: what runs, what is done, what failed and why."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from claimlab.cli.answers import print_json, shown
from claimlab.cli.options import directory_argument, helped, refuse

SENTENCE = "what runs, what is done, what failed and why"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    directory_argument(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Show every run's state."""
    if helped(options):
        return 0
    refuse(rest)
    from claimlab.running.watching.status import status  # noqa: PLC0415  # needed from here on only

    found = status(options.directory)
    if options.json:
        print_json({"runs": [{**dataclasses.asdict(one), "folder": shown(one.folder)} for one in found]})
        return 0
    from claimlab.showing.terminal import print_states  # noqa: PLC0415  # rich

    print_states(found)
    return 0

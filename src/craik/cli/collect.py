"""`craik coinrun collect`: record an expert at CoinRun."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from craik.cli.answers import print_json, shown
from craik.cli.collecting_options import declare_coinrun
from craik.cli.options import helped, refuse
from craik.lab.errors import UsageError

SENTENCE = "record an expert at CoinRun, for the experiment of that name"
"""What the command does."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    declare_coinrun(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Collects, and shows what the recording says about itself."""
    if helped(options):
        return 0
    refuse(rest)
    if options.action != "collect":
        found = repr(options.action) if options.action else "none"
        raise UsageError(f"craik coinrun knows the action collect, but found {found}; craik coinrun collect --to FILE")
    if options.to is None:
        raise UsageError("craik coinrun collect needs a file to write, but found none; add --to FILE")
    from craik.cli.collecting import collect_coinrun  # noqa: PLC0415  # torch, needed from here on only

    about = collect_coinrun(options)
    if options.json:
        print_json({"recording": shown(options.to), **about})
    else:
        print("\n".join(f"{name:<14}{value}" for name, value in about.items()))
        print(f"\nrun  craik run coinrun --recording {shown(options.to)}")
    return 0

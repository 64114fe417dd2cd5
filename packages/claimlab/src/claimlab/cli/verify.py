"""`verify`: whether the present source still makes the records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from claimlab.cli.answers import print_json, shown
from claimlab.cli.options import RESULTS, named_path, package_if_any, package_option, records
from claimlab.running.verification.verify import Found, verify
from claimlab.showing.evidence import witness_words
from claimlab.showing.terminal import print_witnesses
from claimlab.showing.wording import plain
from claimlab.values import finite_number, whole_number


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    parser.usage = f"{parser.prog} [DIR] [options]"
    directory = f"folder of records; default {RESULTS}"
    parser.add_argument("directory", metavar="DIR", nargs="?", type=named_path, help=directory)
    both = "where rows differ, compare with what the recording source makes here, too"
    parser.add_argument("--both", action="store_true", help=both)
    parser.add_argument("--minutes", type=finite_number, metavar="M", help="of each record; what was made by then is compared")
    parser.add_argument("--seeds", type=whole_number, default=1, metavar="N", help="how many seeds of each; default 1")
    package_option(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Verify, and show what was found as it is found."""
    directory, found = options.directory or records(options), list[Found]()
    for one in verify(directory, package_if_any(options), options.seeds, options.minutes, options.both):
        found.append(one)
        print(plain(f"{one.run.recipe.name} {one.run.folder.name}: {words(one)}"), file=sys.stderr, flush=True)
    if options.json:
        print_json({"records": [found_json(one) for one in found]})
    else:
        print_witnesses(found)
    return 0


def words(found: Found) -> str:
    """Return what was found, in a sentence."""
    if found.witness is None:
        return f"not made again: {found.fault}"
    return witness_words(found.witness, len(found.run.seeds)) + " before" * found.before


def found_json(found: Found) -> dict[str, Any]:
    """Return one record in the answer of `verify --json`."""
    witness = asdict(found.witness) if found.witness else None
    facts = {"name": found.run.recipe.name, "preset": found.run.recipe.preset, "run": shown(found.run.folder)}
    return {**facts, "witness": witness, "fault": found.fault, "before": found.before}

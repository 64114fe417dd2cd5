"""`clean`: remove what another source made, or what was left half."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from claimlab.cli.answers import print_json, shown
from claimlab.cli.options import directory_argument
from claimlab.running.watching.status import clean
from claimlab.showing.wording import plain


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    directory_argument(parser, "[DIR] --older|--half [options]")
    parser.add_argument("--older", action="store_true", help="seeds that another source made, which were set apart")
    parser.add_argument("--half", action="store_true", help="half seeds and their checkpoints, which then begin anew")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Clean, or say what would go."""
    found = clean(options.directory, options.older, options.half, options.dry_run)
    gone, kept = [one for one in found if not one.why_kept], [one for one in found if one.why_kept]
    size = sum(one.size for one in gone)
    if options.json:
        stays = [{"path": shown(one.path), "why": one.why_kept} for one in kept]
        print_json({"dry_run": options.dry_run, "gone": [shown(one.path) for one in gone], "bytes": size, "kept": stays})
        return 0
    word = "would go" if options.dry_run else "gone"
    for one in found:
        print(plain(f"{'stays   ' if one.why_kept else word}  {shown(one.path)}  {one.why_kept}".rstrip()))
    print(f"{len(gone)} {word}, {size / 1e6:.1f} MB")
    return 0

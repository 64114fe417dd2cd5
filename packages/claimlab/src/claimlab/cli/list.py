"""`list`: what there is to run."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

from claimlab.cli.answers import print_json
from claimlab.cli.options import package, package_option, records
from claimlab.errors import UsageError
from claimlab.experiment import listing
from claimlab.running.runfiles import find_runs


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    names = "group experiments by the items of a source text in the records' seeds.toml, such as thesis or digest"
    parser.add_argument("--seed", metavar="NAME", help=names)
    package_option(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the experiments of a package."""
    found = listing(package(options))
    if options.seed is not None:
        _print_items(_items(options.seed, records(options)), options.json)
        return 0
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


def _print_items(items: list[dict[str, Any]], json: bool) -> None:
    """Print the items of a seed, and below each its experiments with the minutes of their records and their pictures."""
    if json:
        print_json({"items": items})
        return
    for item in items:
        print(f"{item['id']:<5}{item['what']}")
        for one in item["experiments"]:
            print(f"     {one['name']:<24}{one['minutes'] or '-':>6} min  {one['picture'] or 'no picture'}")
    print("\nMinutes are those of the recorded preset quick, all its seeds.")


def _items(seed: str, folder: Path) -> list[dict[str, Any]]:
    file = folder / "seeds.toml"
    if not file.is_file():
        raise UsageError(f"The folder of records should have a seeds.toml. Found none in {folder}. Go to the checkout's root.")
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    if seed not in table["seeds"]:
        raise UsageError(f"A seed should be one of {', '.join(table['seeds'])}. Found {seed!r}. Name another.")
    quick = (run for run in find_runs(folder) if run.recipe.preset == "quick" and not run.recipe.changed)
    minutes = {run.recipe.name: round(run.judged.seconds / 60, 1) for run in quick if run.judged}

    def shown(name: str) -> dict[str, Any]:
        picture = folder / table["pictures"] / f"{name}.png"
        return {"name": name, "minutes": minutes.get(name), "picture": os.path.relpath(picture) if picture.is_file() else None}

    chosen = (item for item in table["item"] if item["id"].startswith(table["seeds"][seed]))
    return [{"id": item["id"], "what": item["what"], "experiments": [*map(shown, item["experiments"])]} for item in chosen]

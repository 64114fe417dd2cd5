"""Options that several commands share, and what is left when a command has read its own."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from claimlab.cli.answers import fields_help
from claimlab.errors import UsageError
from claimlab.experiment import Experiment, load
from claimlab.running.provenance.source_tree import folder_of
from claimlab.running.workers.local import Engine
from claimlab.values import finite_number

OUT = Path("runs")
"""Where runs go, and where the report looks for them, unless told otherwise."""

RESULTS = Path("results")
"""Where records are kept unless the package of experiments lies in a checkout."""


def shared(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command."""
    parser.add_argument("-h", "--help", action="store_true", help="show this and exit")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--traceback", action="store_true", help="show where an error was raised")


def directory_argument(parser: argparse.ArgumentParser, usage: str = "[DIR] [options]") -> None:
    """Add the folder of runs that a command reads."""
    parser.usage = f"{parser.prog} {usage}"
    words = f"folder of runs; default {OUT}"
    parser.add_argument("directory", metavar="DIR", nargs="?", type=named_path, default=OUT, help=words)


def package_option(parser: argparse.ArgumentParser) -> None:
    """Add `--package`, of the commands that look for experiments."""
    default = parser.get_default("searched")
    words = "the package that holds the experiments" + (f"; default {default}" if default else "")
    parser.add_argument("--package", metavar="P", help=words)


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add where seeds and trials are computed."""
    where = "ray, the cluster of this machine or of RAY_ADDRESS, or ray:HOST:PORT; default: processes of this machine"
    parser.add_argument("--on", metavar="ENGINE", help=where)
    parser.add_argument("--cpus", type=finite_number, metavar="N", help="cores of each seed or trial on a cluster; default 1")
    parser.add_argument("--gpus", type=finite_number, metavar="N", help="GPUs of each, or a fraction of one; default 0")


@contextlib.contextmanager
def engine(options: argparse.Namespace) -> Generator[Engine | None, None, None]:
    """Give where seeds and trials are computed; None on this machine."""
    wishes = {name: value for name, value in (("cpus", options.cpus), ("gpus", options.gpus)) if value is not None}
    if options.on is None:
        if wishes:
            found = f"--{next(iter(wishes))}"
            raise UsageError(f"{found} should come with --on ray. Found it without a cluster. Leave it out on one machine.")
        yield None
        return
    name, _, address = options.on.partition(":")
    if name != "ray":
        raise UsageError(f"--on should be ray or ray:HOST:PORT. Found {options.on!r}. Leave it out for this machine.")
    from claimlab.running.workers.cluster import Wish, cluster  # noqa: PLC0415  # of an extra

    with cluster(Wish(address, **wishes)) as found:
        yield found


def named_path(text: str) -> Path:
    """Read an option's path for argparse; an empty text is none."""
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"should name a file or a folder. Found {text!r}")
    return Path(text)


def package(options: argparse.Namespace) -> str:
    """Return the package that was asked for; one of the user's may lie in the current folder."""
    found = package_if_any(options)
    if found is None:
        raise UsageError(f"{options.parser.prog} should be given a package of experiments. Found none. Pass --package.")
    return found


def package_if_any(options: argparse.Namespace) -> str | None:
    """Return the same where a command can do without."""
    here = str(Path.cwd())
    if options.package is not None and here not in sys.path:
        sys.path.append(here)
    return options.package or options.searched


def records(options: argparse.Namespace) -> Path:
    """Return where a package's records are: `results/` beside its sources in a checkout, else in the current folder."""
    found = package_if_any(options)
    if found is None:
        return RESULTS
    place = folder_of(found).parents[1]
    inside = place.is_relative_to(Path.cwd()) and (place / "pyproject.toml").is_file()
    return (place / RESULTS).relative_to(Path.cwd()) if inside else RESULTS


def named(options: argparse.Namespace) -> Experiment[Any]:
    """Load the experiment that was named, and print its settings where help is asked for."""
    if options.name is None:
        found = "Found none. The command list shows them"
        raise UsageError(f"{options.parser.prog} should be given the name of an experiment. {found}.")
    experiment = load(options.name, package(options))
    for one in (experiment, *experiment.parts) if options.help else ():
        print(fields_help(one.name, one.title, one.config, {name: preset.config for name, preset in one.presets.items()}))
    return experiment


def refuse(rest: Sequence[str]) -> None:
    """Raise an error for the first word that no option takes."""
    if rest and not rest[0].startswith("-"):
        rule = "A command should be given its options and what its usage names"
        raise UsageError(f"{rule}. Found the stray word {rest[0]!r}. Leave it out, or see --help.")
    if rest:
        raise UsageError(f"An option should be one that exists. Found {rest[0]!r}. See --help.")

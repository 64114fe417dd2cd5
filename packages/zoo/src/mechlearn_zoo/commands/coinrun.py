"""The command `mechlearn coinrun collect`: its options, and what it does."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from claimlab.cli.answers import print_json, shown
from claimlab.cli.options import named_path
from claimlab.errors import LabError, UsageError
from claimlab.running.storage import ensure_file
from claimlab.values import finite_number, whole_number

SENTENCE = "record an expert at CoinRun, for the experiment of that name"
"""What the command does."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.usage = f"{parser.prog} collect --to FILE [options]"
    parser.add_argument("action", metavar="collect", nargs="?", help="train an expert, let it play, record what it sees")
    parser.add_argument(
        "--to", type=named_path, metavar="FILE", help="the recording that mechlearn run coinrun --recording FILE reads"
    )
    parser.add_argument(
        "--expert", type=named_path, metavar="FILE", help="a trained expert; made there first if it does not exist"
    )
    parser.add_argument("--further", action="store_true", help="train an expert that is there on, instead of using it as it is")
    parser.add_argument("--minutes", type=finite_number, metavar="M", help="end the expert's training after so long")
    parser.add_argument(
        "--steps", type=whole_number, default=400_000_000, metavar="N", help="of the expert's training; texts: 400M"
    )
    parser.add_argument("--levels", type=whole_number, default=64, metavar="N", help="training levels; default 64")
    parser.add_argument(
        "--states", type=whole_number, default=1000, metavar="N", help="states of each training level; default 1000"
    )
    parser.add_argument(
        "--validation", type=whole_number, default=500, metavar="N", help="held-out levels, a state each; default 500"
    )
    parser.add_argument("--test", type=whole_number, default=2000, metavar="N", help="test levels, a state each; default 2000")
    parser.add_argument("--mode", choices=("easy", "hard"), default="easy", help="Procgen's difficulty; default easy")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of expert and recording; default 0")
    parser.add_argument("--python", metavar="PATH", help="a Python 3.10, which Procgen needs; found by itself if left out")
    parser.add_argument(
        "--cache", type=named_path, metavar="DIR", help="where the simulator is installed; default mechlearn's cache"
    )


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Collects, and shows what the recording says about itself."""
    if options.action != "collect":
        found = repr(options.action) if options.action else "none"
        raise UsageError(f"The action should be collect. Found {found}. Run `mechlearn coinrun collect --to FILE`.")
    if options.to is None:
        raise UsageError("mechlearn coinrun collect should be given a file to write. Found none. Add --to FILE.")
    about = collect(options)
    if options.json:
        print_json({"recording": shown(options.to), **about})
    else:
        print("\n".join(f"{name:<14}{value}" for name, value in about.items()))
        print(f"\nrun  mechlearn run coinrun --recording {shown(options.to)}")
    return 0


def collect(options: argparse.Namespace) -> dict[str, str]:
    """Train or read the expert, let it play, write the recording; returns what the recording says about itself.

    Raises:
        UsageError: a setting or a file name that cannot be.
        LabError: there is no simulator, or it ended.
    """
    # They import torch, which declaring options does not need.
    from mechlearn_zoo.tasks import caching  # noqa: PLC0415
    from mechlearn_zoo.tasks.pictures import cloning  # noqa: PLC0415
    from mechlearn_zoo.tasks.pictures.coinrun import collecting, interpreter, keeping, ppo  # noqa: PLC0415
    from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError  # noqa: PLC0415

    ensure_file(options.to, "--to")
    counts = {name: getattr(options, name) for name in ("levels", "states", "validation", "test", "mode", "seed")}
    try:
        wanted = collecting.Collection(**counts)
        training = ppo.Training(options.steps, options.minutes, options.mode, options.seed)
    except CollectorError as error:
        raise UsageError(str(error)) from error
    _check_expert(options)
    try:
        python = interpreter.interpreter(options.cache or caching.default_folder(), options.python)
        expert = keeping.obtain(python, training, options.expert, options.further, _Progress())
        recording = collecting.collect(python, expert, wanted, _Progress())
    except CollectorError as error:
        raise LabError(str(error)) from error
    cloning.write(recording, options.to)
    return recording.about


def _check_expert(options: argparse.Namespace) -> None:
    """Reject a file of an expert that cannot be read where it must be, or not be written where one is trained."""
    there = options.expert is not None and options.expert.exists()
    if options.further and not there:
        raise UsageError(f"--further should find an expert. Found none at {options.expert}. Name it with --expert.")
    if options.expert is not None and (options.further or not there):
        ensure_file(options.expert, "--expert")


class _Progress:
    """A line on stderr, at most one a second where somebody looks and one a minute in a log."""

    def __init__(self) -> None:
        self._next, self._live = 0.0, sys.stderr.isatty()

    def __call__(self, text: str, share: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (1 if self._live else 60)
        print(f"{text} ({share:.1%})", end="\r" if self._live else "\n", file=sys.stderr, flush=True)

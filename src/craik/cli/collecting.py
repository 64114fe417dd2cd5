"""Collecting data that needs a program of its own: what `craik coinrun collect` does."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from craik.lab.errors import LabError, UsageError
from craik.lab.running.storage import ensure_file
from craik.tasks import caching
from craik.tasks.pictures import cloning
from craik.tasks.pictures.coinrun import expert as experts
from craik.tasks.pictures.coinrun.collecting import Collection, collect
from craik.tasks.pictures.coinrun.errors import CollectorError
from craik.tasks.pictures.coinrun.interpreter import interpreter


def collect_coinrun(options: argparse.Namespace) -> dict[str, str]:
    """Train or read the expert, let it play, write the recording; returns what the recording says about itself.

    Raises:
        UsageError: a setting or a file name that cannot be.
        LabError: there is no simulator, or it ended.
    """
    ensure_file(options.to, "--to")
    counts = {name: getattr(options, name) for name in ("levels", "states", "validation", "test", "mode", "seed")}
    try:
        wanted = Collection(**counts)
    except CollectorError as error:
        raise UsageError(str(error)) from error
    try:
        python = interpreter(options.cache or caching.default_folder(), options.python)
        expert = _expert(python, options)
        recording = collect(python, expert, wanted, _Progress())
    except CollectorError as error:
        raise LabError(str(error)) from error
    cloning.write(recording, options.to)
    return recording.about


def _expert(python: Path, options: argparse.Namespace) -> experts.Expert:
    start = experts.load(options.expert) if options.expert is not None and options.expert.exists() else None
    if start is not None and not options.further:
        return start
    if start is None and options.further:
        raise UsageError(f"--further goes on from an expert, but found none at {options.expert}; name one with --expert")
    if options.expert is not None:
        ensure_file(options.expert, "--expert")
    training = experts.Training(steps=options.steps, minutes=options.minutes, mode=options.mode, seed=options.seed)
    show, before = _Progress(), 0 if start is None else start.steps

    def on_progress(steps: int, mean: float | None) -> None:
        known = "" if mean is None else f", mean return {mean:.1f} of 10"
        show(f"expert: {steps:,} steps{known}", (steps - before) / training.steps)

    def keep(expert: experts.Expert) -> None:
        if options.expert is not None:
            experts.save(expert, options.expert)

    expert = experts.train(python, training, on_progress, start, keep)
    keep(expert)
    return expert


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

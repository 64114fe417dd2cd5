"""`run`: compute an experiment, or go on where a run was stopped."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claimlab.cli.answers import claims_json, print_json, shown
from claimlab.cli.options import OUT, RESULTS, engine, engine_options, named, named_path, package, package_option, records
from claimlab.fields import parse_overrides, settings_of
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from claimlab.running.run import Run
from claimlab.running.watching.tracking import json_lines, tracked
from claimlab.running.workers.worker import Event, OnEvent
from claimlab.showing.evidence import older_words
from claimlab.showing.terminal import print_verdicts, progress
from claimlab.showing.wording import counted
from claimlab.values import finite_number, whole_number


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    parser.usage = f"{parser.prog} NAME [options] [--field value ...]"
    parser.add_argument("name", metavar="NAME", nargs="?", help="an experiment that the command list shows")
    parser.add_argument("--preset", default="quick", help="quick (minutes on two cores) or paper (its scale); default quick")
    parser.add_argument("--seeds", type=whole_number, metavar="N", help="how many seeds; default: the preset's own number")
    parser.add_argument("--jobs", type=whole_number, metavar="N", help="how many seeds at once; default: about one a core")
    parser.add_argument(
        "--out", type=named_path, metavar="DIR", help=f"folder of all runs; default {OUT}, of records {RESULTS}"
    )
    parser.add_argument("--record", action="store_true", help="keep the run in the tree of records, DIR/FAMILY/EXPERIMENT")
    parser.add_argument("--keep-older", action="store_true", help="keep the seeds that another source made, shown as older")
    seconds = "between two checkpoints inside a seed; default 20, 0 writes each"
    parser.add_argument("--checkpoint-seconds", type=finite_number, default=20.0, metavar="S", help=seconds)
    over = "then stop at the next checkpoint, or at a seed's end, with exit status 143; the same command goes on"
    parser.add_argument("--max-minutes", type=finite_number, metavar="M", help=over)
    parser.add_argument("--json-log", type=named_path, metavar="FILE", help="add each event to a file, as a line of JSON")
    tools = "send rows as they come to DIR/.../tensorboard or DIR/NAME/mlruns"
    parser.add_argument("--track", choices=("tensorboard", "mlflow"), help=tools)
    engine_options(parser)
    package_option(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Plan, execute and show."""
    experiment = named(options)
    if options.help:
        return 0
    experiment = experiment.at(options.preset)
    overrides = parse_overrides(settings_of(experiment.config), rest, experiment.name)
    planned = plan(experiment, options.preset, overrides, options.seeds, package(options))
    out = options.out or (records(options) if options.record else OUT)
    folder = planned.record(out) if options.record else planned.folder(out)
    with contextlib.ExitStack() as watching:
        ears: list[OnEvent] = [watching.enter_context(progress(experiment.name, len(planned.seeds)))]
        ears += [watching.enter_context(json_lines(options.json_log))] if options.json_log else []
        ears += [watching.enter_context(tracked(options.track, planned, folder))] if options.track else []

        def hear(event: Event) -> None:
            for ear in ears:
                ear(event)

        on = watching.enter_context(engine(options))
        every, minutes = options.checkpoint_seconds, options.max_minutes
        done = execute(planned, folder, options.jobs, hear, options.keep_older, every, on, minutes)
    if options.json:
        print_json(run_json(done))
    else:
        _print(done, out, options.parser.prog.rpartition(" ")[0])
    return 0


def run_json(done: Run) -> dict[str, Any]:
    """Return the answer of `run NAME --json`."""
    return {
        "name": done.recipe.name,
        "preset": done.recipe.preset,
        "seconds": done.judged.seconds if done.judged else 0.0,
        "claims": claims_json(done.claims),
        "older": list(done.older),
        "artifacts": [shown(path) for path in done.artifacts],
    }


def _print(done: Run, out: Path, program: str) -> None:
    seeds = len(done.judged.seeds) if done.judged else 0
    title = f"{done.recipe.name}, preset {done.recipe.preset}, {counted(seeds, 'seed')}"
    print_verdicts(done.claims, ", ".join(filter(None, [title, older_words(done)])))
    print(f"\nrun     {shown(done.folder)}")
    for picture in done.judged.figures if done.judged else ():
        print(f"picture {shown(done.folder / picture.file)}")
    print(f"report  {program} report {shown(out)}")

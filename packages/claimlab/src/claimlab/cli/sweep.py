"""`sweep`: search an experiment's settings, on equal budgets and validation rows alone."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Sequence
from typing import Any

from claimlab.cli.answers import print_json, shown
from claimlab.cli.options import OUT, engine, engine_options, named, named_path, package, package_option
from claimlab.experiment import command_of
from claimlab.fields import parse_overrides, settings_of
from claimlab.running.plan import flags
from claimlab.showing.wording import counted
from claimlab.sweeping.plan import Sweep, sweep
from claimlab.sweeping.report import Outcome, outcomes, write_report
from claimlab.sweeping.search import Done, Means, search
from claimlab.sweeping.table import print_outcomes, watched
from claimlab.values import whole_number

OPTIONS = (
    "preset", "trials", "sampler", "pruner", "seeds", "jobs", "out", "storage", "take_over",
    "on", "cpus", "gpus", "package", "json", "help",
)  # fmt: skip
"""Options of the command itself."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    parser.usage = f"{parser.prog} NAME [options] [--field value ...]"
    parser.add_argument("name", metavar="NAME", nargs="?", help="an experiment that declares ranges")
    parser.add_argument("--preset", default="quick", help="where a trial's settings start from; default quick")
    parser.add_argument("--trials", type=whole_number, default=20, metavar="N", help="for each method; default 20")
    draws = "how settings are drawn; default tpe"
    parser.add_argument("--sampler", choices=("tpe", "random", "grid"), default="tpe", help=draws)
    ends = "what ends a trial that lags behind; default median"
    parser.add_argument("--pruner", choices=("none", "median", "halving"), default="median", help=ends)
    fresh = "how many fresh seeds, from 100 on, the best settings are run on; default: the preset's own number"
    parser.add_argument("--seeds", type=whole_number, metavar="N", help=fresh)
    parser.add_argument("--jobs", type=whole_number, metavar="N", help="how many trials at once; default: one a processor core")
    parser.add_argument("--out", type=named_path, default=OUT, metavar="DIR", help=f"folder of all runs; default {OUT}")
    where = "any storage of Optuna's, which several commands may share; default: a journal in the sweep's folder"
    parser.add_argument("--storage", metavar="URL", help=where)
    dead = "compute the trials that other commands on this storage have begun and not ended"
    parser.add_argument("--take-over", action="store_true", help=dead)
    engine_options(parser)
    package_option(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Plan, search and show."""
    experiment = named(options)
    if options.help:
        for preset, ranges in [item for one in (experiment, *experiment.parts) for item in one.ranges.items()]:
            print(f"\nranges of {preset}: {ranges.objective.words}, of {', '.join(ranges.methods)}")
            print("\n".join(f"  {name}: {one.words}" for name, one in ranges.of.items()))
        return 0
    experiment, draws = experiment.at(options.preset), (options.sampler, options.pruner)
    overrides = parse_overrides(settings_of(experiment.config), rest, experiment.name, OPTIONS)
    planned = sweep(experiment, options.preset, options.trials, overrides, draws, package(options))
    with watched(planned) as hear, engine(options) as on:
        means = Means(options.jobs, options.seeds, options.storage, options.take_over, on)
        done = search(planned, planned.folder(options.out), means, hear)
    found = outcomes(done)
    report, figures = write_report(done, found, command(planned))
    artifacts = [shown(path) for path in (report, *figures)]
    if options.json:
        print_json({**sweep_json(done, found), "artifacts": artifacts})
        return 0
    print_outcomes(
        found, f"{planned.experiment.name}, {planned.ranges.objective.words}, {counted(planned.trials, 'trial')} each"
    )
    if done.waiting:
        print(f"\n{len(done.waiting)} trials are other processes'; the same command runs the best when they are done")
    print(f"\nsweep   {shown(done.folder)}\nreport  {artifacts[0]}")
    return 0


def command(sweep: Sweep) -> str:
    """Return what makes the same sweep on any machine."""
    sampler, pruner = sweep.draws
    words = command_of("sweep", sweep.experiment.name, sweep.package)
    words += ["--preset", sweep.preset, "--trials", str(sweep.trials), "--sampler", sampler, "--pruner", pruner]
    return shlex.join([*words, *flags(sweep.changed)])


def sweep_json(done: Done, found: list[Outcome]) -> dict[str, Any]:
    """Return the answer of `sweep NAME --json`, but for its artifacts."""
    sweep = done.sweep
    methods = [
        {
            "method": one.method,
            **one.tally,
            "best": dataclasses.asdict(one.best) if one.best else None,
            "fields": one.fields,
            "fresh": {name: dataclasses.asdict(measured) for name, measured in one.fresh.items()},
            "importance": one.importance,
        }
        for one in found
    ]
    return {
        "name": sweep.experiment.name,
        "preset": sweep.preset,
        "objective": sweep.ranges.objective.words,
        "trials": sweep.trials,
        "sampler": sweep.draws[0],
        "pruner": sweep.draws[1],
        "folder": shown(done.folder),
        "methods": methods,
        "waiting": len(done.waiting),
    }

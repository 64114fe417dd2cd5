"""Sweeps before any work: what is to be searched, and what makes a study the same one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from claimlab.errors import UsageError, suggestion
from claimlab.experiment import Experiment, Preset
from claimlab.fields import build, values_of
from claimlab.rows import Scalar
from claimlab.running.plan import label, plan
from claimlab.sweeping.declared import Ranges, settings_words
from claimlab.values import written

Sampler = Literal["tpe", "random", "grid"]
"""How settings are drawn."""

Pruner = Literal["none", "median", "halving"]
"""What ends a trial early."""

FRESH = 100
"""The first of the seeds that the best setting is run on; a sweep's own lies below."""


@dataclass(frozen=True)
class Sweep:
    """What is to be searched; made by `sweep`. `config` is a trial's before a draw, `trials` those of each method."""

    experiment: Experiment[Any]
    preset: str
    changed: dict[str, Any]
    config: Any
    trials: int
    draws: tuple[Sampler, Pruner]
    package: str

    @property
    def ranges(self) -> Ranges:
        """What may be chosen."""
        return self.experiment.ranges[self.preset]

    @property
    def methods(self) -> tuple[str, ...]:
        """What settings are searched for."""
        return tuple(self.ranges.methods)

    @property
    def label(self) -> str:
        """The name of the sweep's folder and of its studies: what is searched around, how, and six digits of all settings."""
        sampler, pruner = self.draws
        words = [sampler, *([f"prune-{pruner}"] if pruner != "median" else [])]
        return label(
            f"{self.experiment.name} {words}", f"sweep-{self.preset},{','.join(words)}", self.changed, values_of(self.config)
        )

    def folder(self, out: Path) -> Path:
        """Return where the sweep is kept below the output folder."""
        return out / self.experiment.name / self.label

    def study(self, method: str) -> str:
        """Return the name of a method's study in its storage."""
        return f"{self.experiment.name} {self.label} {method}"

    def values(self, method: str, chosen: Mapping[str, Scalar], seed: int | None = None) -> dict[str, Any]:
        """Return all fields of a trial's config."""
        seeds = {} if seed is None else {"seed": seed}
        return values_of(build(self.config, {**self.ranges.fields(method, chosen, self.config), **seeds}))

    def identity(self, source: str) -> dict[str, Any]:
        """Return what must be equal where a study was begun and where it goes on; JSON."""
        return {
            "experiment": f"{self.package}:{self.experiment.name}",
            "preset": self.preset,
            "settings": {name: written(value) for name, value in values_of(self.config).items()},
            "ranges": {name: one.words for name, one in self.ranges.of.items()},
            "methods": {name: settings_words(fields) or "no field" for name, fields in self.ranges.methods.items()},
            "objective": self.ranges.objective.words,
            "draws": " and ".join(self.draws),
            "source": source,
        }


def single(experiment: Experiment[Any], preset: str) -> Experiment[Any]:
    """Return an experiment as a sweep of a preset runs it: one training, where its ranges say how that is had; no claims."""
    one = experiment.ranges[preset].single
    if one is None:
        return dataclasses.replace(experiment, claims=())
    presets = {
        name: Preset(one.config(there.config), there.seeds) for name, there in experiment.presets.items() if name == preset
    }
    ranges = {preset: experiment.ranges[preset]}
    return dataclasses.replace(experiment, presets=presets, run=one.run, claims=(), progress=None, ranges=ranges)


def sweep(
    experiment: Experiment[Any],
    preset: str,
    trials: int,
    overrides: Mapping[str, Any],
    draws: tuple[Sampler, Pruner],
    package: str,
) -> Sweep:
    """Decide what is to be searched, and raise an error for what cannot be."""
    if trials < 1:
        raise UsageError(f"A sweep should have at least one trial per method. Found --trials {trials}. Leave it out for 20.")
    experiment = experiment.at(preset)
    if preset not in experiment.ranges:
        declare = "Declare them next to its Config: ranges=run.RANGES."
        way_out = suggestion("", experiment.ranges) if experiment.ranges else declare
        raise UsageError(f"A sweep should have ranges to draw from. Found none of {experiment.name} for {preset!r}. {way_out}")
    seen, changes = single(experiment, preset), dict(overrides)
    own = sorted(seen.ranges[preset].set_fields() & set(changes))
    if own:
        flag = "--" + own[0].replace("_", "-")
        raise UsageError(f"A field that a sweep sets should be left to it. Found {flag}. Pass it to the command run.")
    planned = plan(seen, preset, changes, 1, package)
    if planned.config.seed >= FRESH:
        found = f"Found {planned.config.seed}. Leave it out for 0"
        raise UsageError(f"--seed should be below {FRESH}, where the seeds of the best setting begin. {found}.")
    found = Sweep(seen, preset, planned.changed, planned.config, trials, draws, package)
    strange = sorted(found.ranges.set_fields() - set(values_of(found.config)))
    if strange:
        raise UsageError(f"Ranges should be of fields of the Config. Found {strange[0]!r}. Rename it.")
    for method in found.methods if draws[0] == "grid" else ():
        points = math.prod(len(one.grid()) for one in found.ranges.drawn(method).values())
        if trials > points:
            rule = f"A grid should have a point for each trial: that of {method} has {points}"
            raise UsageError(f"{rule}. Found --trials {trials}. Lower it, or take --sampler random.")
    return found

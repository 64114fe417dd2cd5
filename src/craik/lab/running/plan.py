"""Plans: what a run is to compute, decided before any work and named by a hash."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craik.lab.errors import UsageError, suggestion
from craik.lab.experiment import Experiment
from craik.lab.fields import build, values_of
from craik.lab.running.sources import source_hash
from craik.lab.values import written

LAST_SEED = 2**63 - 1
"""What torch's generators take; NumPy's refuse a negative one."""


@dataclass(frozen=True)
class Plan:
    """An experiment at a config for some consecutive seeds; made by `plan`.

    Args:
        experiment: as `discovery.load` gives it.
        preset: the preset that the config started from.
        overrides: the fields in which the config differs from it.
        config: for the first seed.
        seeds: all seeds, the config's `seed` first.
        source: hash of the source that makes the rows.
    """

    experiment: Experiment
    preset: str
    overrides: dict[str, Any]
    config: Any
    seeds: tuple[int, ...]
    source: str

    @property
    def id(self) -> str:
        """Twelve hex digits that name the run: equal exactly for equal experiment, config, first seed and source."""
        parts = [self.experiment.name, values_of(self.config), self.source]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()[:12]

    @property
    def command(self) -> str:
        """The command that makes the same rows on any machine; where they go is not part of it."""
        words = ["craik", "run", self.experiment.name, "--preset", self.preset, "--seeds", str(len(self.seeds))]
        for name, value in self.overrides.items():
            words += ["--" + name.replace("_", "-"), written(value)]
        return shlex.join(words)

    def folder(self, out: Path) -> Path:
        """The run's folder below the output folder."""
        return out / self.experiment.name / self.id


def plan(
    experiment: Experiment, preset: str = "quick", overrides: Mapping[str, Any] | None = None, seeds: int | None = None
) -> Plan:
    """Decides what is to be computed, and refuses what cannot be.

    Args:
        experiment: as `discovery.load` gives it.
        preset: which of its presets to start from.
        overrides: fields that differ from the preset; those that in truth do not are dropped.
        seeds: how many, counted upwards from the config's `seed`; the preset's own number if None.

    Raises:
        UsageError: an unknown preset, fewer than one seed, a seed that no generator takes, or values that the Config refuses.
    """
    if preset not in experiment.presets:
        known = suggestion(preset, experiment.presets)
        raise UsageError(f"a preset of {experiment.name} must be one it defines, but found {preset!r}; {known}")
    number = experiment.seeds[preset] if seeds is None else seeds
    if number < 1:
        raise UsageError(f"a run needs at least one seed, but found --seeds {number}; leave it out for the preset's own")
    base = values_of(experiment.presets[preset])
    config = build(experiment.presets[preset], overrides or {})
    changed = {name: value for name, value in values_of(config).items() if base[name] != value}
    if not 0 <= config.seed <= LAST_SEED - number:
        raise UsageError(f"seeds must lie between 0 and 2^63, but found --seed {config.seed}; 0 is usual")
    chosen = tuple(range(config.seed, config.seed + number))
    return Plan(experiment, preset, changed, config, chosen, source_hash(experiment.module))

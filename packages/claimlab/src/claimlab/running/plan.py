"""Plans and recipes: what a run is to compute, decided before any work, its folder's name, and the same in words."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from claimlab.decoding import Package, Setting
from claimlab.errors import UsageError
from claimlab.experiment import Experiment, command_of, listing
from claimlab.fields import build, settings_of, values_of
from claimlab.values import written

LAST_SEED = 2**32 - 1
"""torch's generators of the CPU keep 32 bits of a seed: from 2**32 on seeds begin again. NumPy's refuse a negative one."""

LONGEST = 90
"""Characters of a label before its digest."""


@dataclass(frozen=True)
class Plan:
    """An experiment at a config for some consecutive seeds; made by `plan`.

    `config` is for the first seed, and differs from the preset's in the fields of `changed`.
    """

    experiment: Experiment[Any]
    preset: str
    changed: dict[str, Any]
    config: Any
    seeds: tuple[int, ...]
    package: str

    @property
    def label(self) -> str:
        """The name of the run's folder: its preset, what differs from it, and six digits of its settings' digest."""
        return label(self.experiment.name, self.preset, self.changed, values_of(self.config))

    @property
    def command(self) -> str:
        """The command that makes the same rows on any machine; where they go is not part of it."""
        words = command_of("run", self.experiment.name, self.package)
        return shlex.join([*words, "--preset", self.preset, "--seeds", str(len(self.seeds)), *flags(self.changed)])

    def folder(self, out: Path) -> Path:
        """Return where `run` keeps the run below the output folder."""
        return out / self.experiment.name / self.label

    def record(self, results: Path) -> Path:
        """Return where it is kept as a record: the tree of the experiments' own folders."""
        module = next(one.module for one in listing(self.package) if one.name == self.experiment.name)
        return results.joinpath(*module.split(".")[-2:], self.label)


def flags(changed: Mapping[str, Any]) -> list[str]:
    """Return changed fields as the command line writes them."""
    return [word for name, value in changed.items() for word in ("--" + name.replace("_", "-"), written(value))]


def label(name: str, preset: str, changed: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Return the name of a run's folder, equal exactly for equal experiments and configs (with the first seed).

    >>> label("spirals", "paper", {"epochs": 186}, {"epochs": 186, "seed": 0})
    'paper,epochs=186-459270'
    """
    digest = hashlib.sha256(json.dumps([name, config], sort_keys=True, allow_nan=False).encode()).hexdigest()
    words = ",".join([preset, *(f"{field}={written(value)}" for field, value in changed.items())])
    readable = re.sub(r"[^A-Za-z0-9._=,+-]+", "-", words)[:LONGEST].strip(".-")
    return f"{readable}-{digest[:6]}"


def plan(experiment: Experiment[Any], preset: str, overrides: Mapping[str, Any], seeds: int | None, package: str) -> Plan:
    """Decide what is to be computed, and raise an error for what cannot be.

    Overrides that in truth do not differ from the preset are dropped. Seeds are counted upwards from the config's `seed`, the
    preset's number of them if None. The package is where the experiment was found, and where worker processes will find it.
    """
    experiment = experiment.at(preset)
    start = experiment.presets[preset]
    number = start.seeds if seeds is None else seeds
    if number < 1:
        raise UsageError(f"A run should have at least one seed. Found --seeds {number}. Leave it out for the preset's.")
    base, config = values_of(start.config), build(start.config, overrides)
    changed = {name: value for name, value in values_of(config).items() if base[name] != value}
    # 1.0 where the preset has 1 is the preset, also in the digest of its folder's name.
    config = replace(config, **{name: getattr(start.config, name) for name in base if name not in changed})
    if not 0 <= config.seed <= LAST_SEED - number:
        raise UsageError(f"Seeds should lie between 0 and 2^32. Found --seed {config.seed}. Leave it out for 0.")
    return Plan(experiment, preset, changed, config, tuple(range(config.seed, config.seed + number)), package)


@dataclass(frozen=True)
class Stated:
    """A setting for readers: its name, its value as the command line writes it, whether it was changed, its sentence."""

    name: str
    value: str
    changed: bool
    help: str


@dataclass(frozen=True)
class Recipe:
    """What was run, in words that need no experiment; `config` is that of the first seed."""

    name: str
    title: str
    reproduces: str
    package: Package
    preset: str
    config: dict[str, Setting | tuple[Setting, ...]]
    settings: tuple[Stated, ...]
    command: str

    @classmethod
    def of(cls, plan: Plan) -> Recipe:
        """Return the recipe of a plan."""
        one, values, known = plan.experiment, values_of(plan.config), settings_of(plan.experiment.config)
        settings = tuple(Stated(it.name, written(values[it.name]), it.name in plan.changed, it.help) for it in known)
        return cls(one.name, one.title, one.reproduces, plan.package, plan.preset, values, settings, plan.command)

    @property
    def changed(self) -> dict[str, Any]:
        """The fields in which the config differs from its preset."""
        return {one.name: self.config[one.name] for one in self.settings if one.changed}

    @property
    def label(self) -> str:
        """The preset, with whatever was changed in it, for readers."""
        return ", ".join([self.preset, *(f"{one.name} {one.value}" for one in self.settings if one.changed)])

"""Recipes: what was run, in words that need no experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from claimlab.decoding import Package, Setting
from claimlab.fields import settings_of, values_of
from claimlab.running.plan import Plan
from claimlab.values import written


@dataclass(frozen=True)
class Stated:
    """A setting for readers: its name, its value as the command line writes it, whether it was changed, its sentence."""

    name: str
    value: str
    changed: bool
    help: str


@dataclass(frozen=True)
class Recipe:
    """What was run, in words that need no experiment.

    Args:
        name: the experiment's.
        title: what it finds out.
        reproduces: what of which text.
        package: where it was found.
        preset: where its config started from.
        config: all of its fields, for the first seed.
        settings: the same for readers: name, value, whether it was changed, and its sentence.
        command: what makes the same rows.
    """

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
        experiment, values = plan.experiment, values_of(plan.config)
        settings = tuple(
            Stated(one.name, written(values[one.name]), one.name in plan.changed, one.help)
            for one in settings_of(experiment.config)
        )
        facts = (experiment.name, experiment.title, experiment.reproduces, plan.package, plan.preset)
        return cls(*facts, values, settings, plan.command)

    @property
    def changed(self) -> dict[str, Any]:
        """The fields in which the config differs from its preset."""
        return {one.name: self.config[one.name] for one in self.settings if one.changed}

    @property
    def label(self) -> str:
        """The preset, with whatever was changed in it, for readers."""
        return ", ".join([self.preset, *(f"{one.name} {one.value}" for one in self.settings if one.changed)])

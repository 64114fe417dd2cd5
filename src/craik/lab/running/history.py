"""The history of a run: `config.json` says what was computed, from what, where, and how to do it again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from craik.lab.fields import settings_of, values_of
from craik.lab.running.plan import Plan
from craik.lab.running.provenance import Provenance, provenance
from craik.lab.running.storage import write_atomically
from craik.lab.values import written


@dataclass(frozen=True)
class Computed:
    """Some seeds and where they were made; a run may grow on several machines, one entry each time."""

    seeds: tuple[int, ...]
    provenance: Provenance


@dataclass(frozen=True)
class History:
    """The history of a run's folder.

    Args:
        computed: which seeds were made where, in the order it happened; only those that are still recorded.
        wall_seconds: how long the last invocation that computed something took.
        now: the provenance of this invocation.
    """

    computed: tuple[Computed, ...] = ()
    wall_seconds: float | int = 0.0
    now: Provenance = field(default_factory=provenance)

    @classmethod
    def open(cls, folder: Path, recorded: Iterable[int]) -> History:
        """Reads the history of a folder; one that is missing or unreadable starts anew.

        Args:
            folder: the run's.
            recorded: the seeds that the folder holds; entries of discarded ones are forgotten.
        """
        try:
            content: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            entries = [_entry(entry, set(recorded)) for entry in content["computed"]]
            return cls(tuple(entry for entry in entries if entry.seeds), content["wall_seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def with_seed(self, seed: int) -> History:
        """The history after this invocation has finished a seed."""
        earlier, mine = self.computed, Computed((), self.now)
        if earlier and earlier[-1].provenance is self.now:
            earlier, mine = earlier[:-1], earlier[-1]
        return dataclasses.replace(self, computed=(*earlier, Computed(tuple(sorted((*mine.seeds, seed))), self.now)))

    def with_wall(self, seconds: float) -> History:
        """The history with the time that this invocation took."""
        return dataclasses.replace(self, wall_seconds=round(seconds, 3))

    @property
    def hardware(self) -> str:
        """The machine that made the rows, or each of them."""
        return _joined(entry.provenance.hardware for entry in self.computed)

    @property
    def commit(self) -> str | None:
        """The abbreviated commit of the code that made the rows, "+ changes" where files differed from it."""
        commits = ((entry.provenance.commit, entry.provenance.dirty) for entry in self.computed)
        return _joined(f"{commit[:10]}{' + changes' * dirty}" for commit, dirty in commits if commit) or None

    @property
    def time(self) -> str:
        """When rows were last added."""
        return max((entry.provenance.time for entry in self.computed), default=self.now.time)

    def write(self, plan: Plan, folder: Path) -> None:
        """Writes `config.json` atomically."""
        content = {
            "name": plan.experiment.name,
            "title": plan.experiment.title,
            "reproduces": plan.experiment.reproduces,
            "preset": plan.preset,
            "overrides": plan.overrides,
            "config": values_of(plan.config),
            "settings": _settings(plan),
            "source_hash": plan.source,
            "command": plan.command,
            "wall_seconds": self.wall_seconds,
            "computed": [{"seeds": entry.seeds, **dataclasses.asdict(entry.provenance)} for entry in self.computed],
        }
        write_atomically(folder / "config.json", as_json(content))


def _entry(entry: dict[str, Any], recorded: set[int]) -> Computed:
    seeds = tuple(seed for seed in entry.pop("seeds") if seed in recorded)
    return Computed(seeds, Provenance(**entry))


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(parts))


def _settings(plan: Plan) -> list[dict[str, str | bool]]:
    """What the report shows, so that it needs neither the experiment nor its source of that day."""
    values = values_of(plan.config)
    return [
        {
            "name": setting.name,
            "value": written(values[setting.name]),
            "changed": setting.name in plan.overrides,
            "help": setting.help,
        }
        for setting in settings_of(plan.experiment.config)
    ]


def as_json(content: object) -> str:
    """JSON for people and for diffs: indented, with a last line break."""
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"

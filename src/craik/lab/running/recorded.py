"""Runs as they stand in their folders, for the report and the documentation.

Only what a run wrote down is read (`claims.json`, `config.json`, the figures), so that last year's rows can be shown
today, whatever has become of the experiment.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craik.lab.claims import JudgedClaim, Verdict
from craik.lab.errors import LabError, UsageError

CONFIG = frozenset({"title", "reproduces", "settings", "source_hash", "computed"})
"""What the report takes from `config.json`."""

SUMMARY = frozenset(
    {"name", "preset", "overrides", "seeds", "seconds", "wall_seconds", "hardware", "commit", "time", "command", "figures"}
)
"""What it takes from `claims.json`, besides the claims."""


@dataclass(frozen=True)
class RecordedRun:
    """A finished run as it stands in its folder.

    Args:
        folder: where it is.
        config: `config.json`.
        summary: `claims.json`.
        claims: its judged claims.
        older: whether a newer run of the same experiment, preset and overrides exists.
    """

    folder: Path
    config: dict[str, Any]
    summary: dict[str, Any]
    claims: tuple[JudgedClaim, ...]
    older: bool

    @property
    def anchor(self) -> str:
        """The name that the report's links lead to."""
        return f"{self.summary['name']}-{self.folder.name}"

    @property
    def label(self) -> str:
        """The preset, with whatever was changed in it."""
        changed = [f"{setting['name']} {setting['value']}" for setting in self.config["settings"] if setting["changed"]]
        return ", ".join([self.summary["preset"], *changed])

    def count(self, verdict: Verdict) -> int:
        """How many of its claims were judged so."""
        return sum(claim.verdict == verdict for claim in self.claims)

    def picture(self, file: str) -> str:
        """A figure as a data URI: in an image of its own, its identifiers cannot clash and its scripts cannot run.

        Raises:
            LabError: it is not there; the same command draws it again from the recorded rows.
        """
        try:
            data = base64.b64encode((self.folder / file).read_bytes()).decode()
        except OSError as error:
            found = f"but {self.folder / file} is not ({error.strerror})"
            raise LabError(f"a run's figures must be readable, {found}; {self.summary['command']} draws it again") from error
        kind = "gif" if file.endswith(".gif") else "svg+xml"
        return f"data:image/{kind};base64,{data}"


def recorded_runs(directory: Path) -> list[RecordedRun]:
    """The finished runs `DIRECTORY/NAME/ID/`, by name, presets as they are before changed ones, newest first.

    Raises:
        UsageError: the directory does not exist.
        LabError: a run's files cannot be read.
    """
    if not directory.is_dir():
        raise UsageError(f"a report is made from a folder of runs, but {directory} is none; craik run NAME --out makes one")
    runs = [_read(path.parent) for path in directory.glob("*/*/claims.json")]
    runs.sort(key=lambda run: (run.summary["time"], run.folder.name), reverse=True)
    runs.sort(key=lambda run: (run.summary["name"], bool(run.summary["overrides"]), _preset_rank(run), run.label))
    seen: Counter[tuple[str, str]] = Counter()
    marked: list[RecordedRun] = []
    for run in runs:
        key = (run.summary["name"], run.label)
        marked.append(RecordedRun(run.folder, run.config, run.summary, run.claims, older=seen[key] > 0))
        seen[key] += 1
    return marked


def _preset_rank(run: RecordedRun) -> tuple[int, str]:
    """The papers' own scale comes first."""
    return (0 if run.summary["preset"] == "paper" else 1, run.summary["preset"])


def _read(folder: Path) -> RecordedRun:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        summary = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        claims = tuple(JudgedClaim(**claim) for claim in summary["claims"])
        missing = sorted((CONFIG - config.keys()) | (SUMMARY - summary.keys()))
        if missing:
            raise KeyError(*missing)
        return RecordedRun(folder, config, summary, claims, older=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        found = f"{type(error).__name__}: {error}"
        raise LabError(
            f"a run must have a readable config.json and claims.json, but {folder} has not ({found}); repeat or delete it"
        ) from error

"""Runs: what was run, is kept and is shown. A run is a folder; `Run` is what stands in it.

`run.json` says what was computed, from what, where, how to do it again, and who has seen it made again; `rows.jsonl.gz` holds
the rows; `claims.json` what was judged on them. Only these are read, so that last year's rows can be shown today, whatever
has become of the experiment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from claimlab.claims import JudgedClaim, Verdict
from claimlab.decoding import Commits, Counted, PictureFile, Seeds
from claimlab.errors import LabError
from claimlab.rows import Row, Rows
from claimlab.running.plan import Recipe
from claimlab.running.provenance.machine import Machine
from claimlab.running.provenance.made import Made
from claimlab.running.provenance.source_tree import Code
from claimlab.running.rowfiles import ROWS, Recorded, rows_in
from claimlab.running.storage import read_current

OLDER = "older"
"""The folder below a run's that holds what another source made."""

Outcome = Literal["equal", "within tolerance", "differs"]
"""What a witness found."""


@dataclass(frozen=True)
class Witness:
    """What came of making seeds of a run again.

    Args:
        code: what made them again.
        machine: where.
        seeds: which.
        rows: how many rows were compared, and how many are recorded of these seeds.
        outcome: equal bit for bit, within the preset's tolerance on another kind of processor, or different.
        difference: the greatest of two numbers, as a share of the larger; None where something else than numbers differs.
        where: the first row and column that differ, empty where none does.
        time: UTC, to the second.
        beside: the commit whose source made the rows, on the witness's machine, that were compared; None for those recorded.
        minutes: how long it was given; None for as long as it takes, or in records made before this was recorded.
    """

    code: Code
    machine: Machine
    seeds: Seeds
    rows: tuple[Counted, Counted]
    outcome: Outcome
    difference: float | int | None
    where: str
    time: str
    beside: Commits | None = None
    minutes: float | int | None = None


@dataclass(frozen=True)
class Judged:
    """What stands in `claims.json`: the seeds that were judged, and what was found.

    `older` are those of the seeds that another source made than the one that judged, `seconds` those of computing.
    """

    seeds: Seeds
    older: Seeds
    seconds: float | int
    claims: tuple[JudgedClaim, ...]
    figures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure: its name, its file relative to the run's folder, its caption."""

    name: str
    file: PictureFile
    caption: str


@dataclass(frozen=True)
class Run:
    """A run as it stands in its folder.

    Args:
        folder: where it is.
        recipe: what was run.
        made: which seeds came from where, in the order it happened.
        wall_seconds: how long the last invocation that computed something took.
        confirmed: what witnesses found.
        judged: what was found; None where the run has not come to its end.
        sums: of each seed the number of its rows and their digest; none of seeds that were made before these were recorded.
    """

    folder: Path
    recipe: Recipe
    made: tuple[Made, ...] = ()
    wall_seconds: float | int = 0.0
    confirmed: tuple[Witness, ...] = ()
    judged: Judged | None = None
    sums: Mapping[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those that are recorded, ascending."""
        return tuple(sorted(seed for one in self.made for seed in one.seeds))

    @property
    def is_older(self) -> bool:
        """Whether it holds what was kept apart from another run, because another source made it."""
        return self.folder.parent.name == OLDER

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """What was judged."""
        return self.judged.claims if self.judged else ()

    @property
    def older(self) -> tuple[int, ...]:
        """The judged seeds that another source made than the one that judged."""
        return self.judged.older if self.judged else ()

    @property
    def made_at(self) -> tuple[str, ...]:
        """The abbreviated commits that made the rows, "+ changes" where files differed from one."""
        return tuple(dict.fromkeys(commit_words(one.code) for one in self.made))

    @property
    def time(self) -> str:
        """When rows were last added."""
        return max((one.time for one in self.made), default="")

    def count(self, verdict: Verdict) -> int:
        """Return how many of its claims were judged so."""
        return sum(claim.verdict == verdict for claim in self.claims)

    @property
    def artifacts(self) -> list[Path]:
        """The files that it consists of."""
        files = ["run.json", ROWS, *(one.file for one in (self.judged.figures if self.judged else ())), "claims.json"]
        return [self.folder / file for file in files]

    def rows(self) -> Rows:
        """Return the rows of the judged seeds."""
        recorded = self.recorded()
        return Rows(row for seed in (self.judged.seeds if self.judged else self.seeds) for row in recorded[seed])

    def recorded(self) -> dict[int, list[Row]]:
        """Return the rows of each recorded seed."""
        recorded, path = self.read(), self.folder / ROWS
        for fault in recorded.faults[:1]:
            found = f"Found in {path}, line {fault.line}: {fault.what}"
            raise LabError(f"A run's rows should be as they were recorded. {found}. Run its command to compute them again.")
        missing = sorted(set(self.seeds) - recorded.seeds.keys())
        if missing:
            found = f"Found none of seed {missing[0]} in {path}"
            raise LabError(f"A run should have rows of all its seeds. {found}. Run its command to compute that seed again.")
        return recorded.seeds

    def read(self) -> Recorded:
        """Return what its file of rows holds, whole or not."""
        finished = (self.judged.seeds, self.judged.seconds) if self.judged else None
        return rows_in(read_current(self.folder, ROWS) or b"", self.sums, finished)

    def with_seed(self, made: Made) -> Run:
        """Return the run after a further seed was made; batches that differ in nothing else are one entry."""
        *earlier, last = self.made or (made,)
        if self.made and last.alike(made):
            joined = dataclasses.replace(made, seeds=tuple(sorted((*last.seeds, *made.seeds))))
            return dataclasses.replace(self, made=(*earlier, joined))
        return dataclasses.replace(self, made=(*self.made, made))

    def only(self, seeds: Sequence[int]) -> Run:
        """Return the run with the provenance of these seeds alone; of witnesses those remain that saw no other."""
        chosen = (dataclasses.replace(one, seeds=tuple(s for s in one.seeds if s in seeds)) for one in self.made)
        sums = {seed: one for seed, one in self.sums.items() if seed in seeds}
        confirmed = tuple(one for one in self.confirmed if set(one.seeds) <= set(seeds))
        return dataclasses.replace(self, made=tuple(one for one in chosen if one.seeds), sums=sums, confirmed=confirmed)


def commit_words(code: Code) -> str:
    """Return a commit as readers see it."""
    return f"{code.commit[:10]}{' + changes' * code.changes}" if code.commit else "no commit"


def seconds_of(rows: Sequence[Row]) -> float:
    """Return how long one seed took: its last row knows."""
    seconds = rows[-1]["seconds"]
    return float(seconds) if isinstance(seconds, int | float) else 0.0

"""Writes docs/evidence/readings.md: each failing claim of the thesis and its papers under every reading that has a record.

`python docs/tables/readings.py`, also part of `make pages`. The readings are data: packages/zoo/results/readings.toml.
"""

import importlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from claimlab import EachSeed, Rows, number
from claimlab.claims import FAILED, FEW, HELD, JudgedClaim, Measure, Measurement
from claimlab.conditions import condition
from claimlab.experiment import listing
from claimlab.needs import among, weighed
from claimlab.running.run import Run
from claimlab.running.runfiles import find_runs
from claimlab.showing import wording
from claimlab.showing.evidence import labels
from claimlab.showing.facts import explanations
from claimlab.showing.folding import OF_TEXTS, Folded, folded, verdicts
from claimlab.showing.folding import weighed as beside
from claimlab.table import NAMES, _measure  # the language of claims.toml

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "packages" / "zoo" / "results"
PAGE = ROOT / "docs" / "evidence" / "readings.md"
PACKAGE = "mechlearn_zoo.experiments"
OF_THESIS = re.compile(r"\b(thesis|paper)\b")
"""In the sources of claims of the thesis and its papers; those of the digest name their authors."""


@dataclass(frozen=True)
class Entry:
    """A reading of a claim: its words; and a number and where it is recorded, or a command and its cost a seed."""

    words: str
    run: Run | None = None
    verdict: str = ""
    measured: Measurement | None = None
    command: str = ""
    seconds: float = 0.0


@dataclass
class Line:
    """A failing claim with its readings, by column."""

    claim: JudgedClaim
    text: str
    why: str
    cells: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])

    @property
    def as_said(self) -> bool:
        """Whether every number in the text's words meets the condition."""
        numbers = [one for one in self.cells["text"] if one.measured]
        return bool(numbers) and len(self.holding("text")) == len(numbers)

    def holding(self, *columns: str) -> list[Entry]:
        """Return the recorded readings of some columns under which the claim holds."""
        return [one for column in columns for one in self.cells[column] if one.verdict in HELD]


def apart(one: str, other: str, base: Mapping[str, Any] | None = None, **values: Any) -> Measure:  # noqa: ANN401  # of rows
    """Return a measure: a column less another in a seed's only row that holds some values; the median over seeds.

    Args:
        one: the column.
        other: what is taken off it.
        base: values of another row, of which the same is taken off.
        **values: of the row.
    """

    def difference(rows: Rows, held: Mapping[str, Any]) -> float | None:
        return next((number(row, one) - number(row, other) for row in rows.where(**held)), None)

    def measured(rows: Rows) -> float | None:
        ours, theirs = difference(rows, values), difference(rows, base) if base else 0.0
        return None if ours is None or theirs is None else ours - theirs

    return EachSeed(measured, np.median)


def where(measure: Measure, **values: Any) -> Measure:  # noqa: ANN401  # values of rows
    """Return a measure of the rows alone that hold some values."""
    return lambda rows: measure(rows.where(**values))


class Readings:
    """What readings.toml says, on the records."""

    def __init__(self) -> None:
        """Read both."""
        self.runs = [run for run in find_runs(RESULTS) if not run.is_older]
        by_name = {run.recipe.name: [one for one in self.runs if one.recipe.name == run.recipe.name] for run in self.runs}
        claims = {name: folded(runs) for name, runs in sorted(by_name.items())}
        self.everywhere = verdicts(one for some in claims.values() for one in some)
        self.claims = {name: beside(some, self.everywhere) for name, some in claims.items()}
        self.labels = {folder: label for runs in by_name.values() for folder, label in labels(runs).items()}
        self.modules = {one.name: one.module for one in listing(PACKAGE)}
        self.tables = tomllib.loads((RESULTS / "readings.toml").read_text(encoding="utf-8"))["reading"]
        self.why = explanations(RESULTS)

    def lines(self) -> dict[str, list[Line]]:
        """Return the failing claims of the thesis and its papers, by experiment."""
        found = dict[str, list[Line]]()
        for name, claims in self.claims.items():
            texts = {one.claim.id: one.claim.text for one in claims}
            for one in claims:
                claim = one.claim
                if claim.verdict in FAILED and claim.kind in OF_TEXTS and OF_THESIS.search(claim.source):
                    text = f"{texts[claim.cell_of]} *Here: {claim.text}*" if claim.cell_of in texts else claim.text
                    found.setdefault(name, []).append(self.line(one, text))
        return found

    def line(self, one: Folded, text: str) -> Line:
        """Return a claim's readings."""
        said, id_ = self.said(one.claim.id), one.claim.id
        columns = {key: [self.entries(one, cell) for cell in said[key]] for key in ("text", "code", "others")}
        cells = {key: [entry for some in found for entry in some] for key, found in columns.items()}
        named = self.named(said)
        decides = [] if one.first.run.folder in named else self.entries(one, {"as": said.get("decides", "")})
        cells["others" if said["text"] else "text"][:0] = decides
        rest = [s for s in (*one.twins, *one.others) if s.run.folder not in named]
        sizes = [*said.get("sizes", []), *({"record": self.place(s.run)} for s in rest)]
        cells["sizes"] = [entry for cell in sizes for entry in self.entries(one, cell)]
        if id_ not in self.why:
            raise LookupError(f"facts.toml should say why {id_} fails. Found nothing. Add the claim to one of its tables.")
        left = [entry for cell in said.get("left", []) for entry in self.entries(one, cell)]
        if self.why[id_] == "budget" and not left:
            raise LookupError(f"readings.toml should say what is `left` of {id_}, which fails for its budget. Found nothing.")
        cells["left"] = left
        return Line(one.claim, text, self.why[id_], cells)

    def said(self, id_: str) -> dict[str, Any]:
        """Return what the tables say of a claim: later ones replace earlier ones, all their other readings count."""
        found: dict[str, Any] = {"text": [], "others": []}
        for table in self.tables:
            if any(fnmatchcase(id_, one) for one in table["claims"]):
                found |= {**table, "others": [*found["others"], *table.get("others", [])]}
        if "code" not in found:
            raise LookupError(f"readings.toml should say how the released code does {id_}. Found no `code`. Add it.")
        return found

    def named(self, said: dict[str, Any]) -> set[Path]:
        """Return the records that cells name for the claim's own number."""
        cells = [*said["text"], *said["code"], *said["others"]]
        return {self.record(c["record"]).folder for c in cells if "record" in c and not {"measure", "claim"} & c.keys()}

    def place(self, run: Run) -> str:
        """Return FAMILY/NAME/PRESET of a record."""
        return run.folder.relative_to(RESULTS).as_posix().rpartition("-")[0]

    def record(self, place: str) -> Run:
        """Return the record that lies there."""
        found = [run for run in self.runs if self.place(run) == place]
        if len(found) != 1:
            raise LookupError(f"readings.toml should name a record as FAMILY/NAME/PRESET. Found {place}. Correct it.")
        return found[0]

    def entries(self, one: Folded, cell: dict[str, Any]) -> list[Entry]:
        """Return what a cell shows of a claim: one number or several, a command, or words alone."""
        words, first = cell.get("as", ""), one.first.run
        if {"more", "command"} & cell.keys():
            run = self.record(cell["like"]) if "like" in cell else first
            command = cell.get("command") or f"{first.recipe.command} {cell['more']}"
            seconds = run.judged.seconds / len(run.judged.seeds) * cell.get("times", 1)
            return [Entry(words, command=command, seconds=seconds)]
        if "says" in cell:
            return [Entry(cell["says"])]
        run = self.record(cell["record"]) if "record" in cell else first
        known = {**self.everywhere, **among(run.claims)}
        return [
            Entry(", ".join(filter(None, (words, part))), run, self.verdict(one, found, known), found)
            for part, found in self.numbers(one, run, cell).items()
        ]

    def numbers(self, one: Folded, run: Run, cell: dict[str, Any]) -> dict[str, Measurement]:
        """Return what a record has of a claim, or of the cell's own measure or claim, by the words of its parts."""
        if "measure" in cell:
            module = importlib.import_module(f"{self.modules[run.recipe.name]}.measures")
            found = _measure(cell["measure"], {**NAMES, **vars(module), "apart": apart, "where": where})(run.rows())
            parts = {} if found is None else {"": found}
        else:
            claims = {claim.id: claim for claim in run.claims}
            claim = claims.get(cell.get("claim", one.claim.id))
            several = (claim.parts or (claim,)) if claim and claim.measured is not None else ()
            parts = {getattr(p, "words", ""): Measurement(p.measured, p.low, p.high, p.n) for p in several}
        if not parts:
            raise LookupError(f"{self.place(run)} should measure {one.claim.id} as readings.toml says. Found no number.")
        return parts

    def verdict(self, one: Folded, found: Measurement, known: dict[str, Any]) -> str:
        """Return the verdict of a number by the claim's own condition and needs."""
        holds = condition(one.claim.condition).test(found)
        verdict = ("holds" if holds else "does not hold") + (" so far" if found.n < FEW else "")
        return weighed(replace(one.first.claim, verdict=verdict), known).verdict

    def cell(self, entries: list[Entry]) -> str:
        """Return a cell: a line a reading; of several of one record the last one has the link."""
        last = {id(one.run): one for one in entries}
        return "<br>".join(self.shown(one, last[id(one.run)] is one) for one in entries) or "-"

    def shown(self, entry: Entry, linked: bool = True) -> str:
        """Return a reading."""
        if entry.command:
            return f"{entry.words}: not run ({wording.spent(entry.seconds)} a seed)"
        if entry.run is None or entry.measured is None:
            return entry.words
        m = entry.measured
        number = f"{wording.SIGNS[entry.verdict]} {wording.number(m.value)} {wording.spread(m.low, m.high, m.n)}".strip()
        link = f", [{self.labels[entry.run.folder]}]({os.path.relpath(entry.run.folder, PAGE.parent)})" if linked else ""
        return f"{entry.words + ': ' if entry.words else ''}{number}{link}"


COLUMNS = {"text": "the text's words", "code": "the released code", "others": "other readings", "sizes": "other sizes, seeds"}
HEAD = """# Readings

<!-- Generated by `make pages` from packages/zoo/results/readings.toml and the records; do not edit. -->

**{lead}**

A reading is a choice that the thesis leaves open, or that the authors' released code makes in another way. Each number is a
record's, judged by the claim's one condition: ✓ meets it, ✗ does not, and ○ says nothing, because a premise fails there.
[Brackets] are intervals over seeds, (parentheses) ranges of fewer than six. A claim that is tested both at the end of training
and early-stopped has both numbers. What is *not run* has its command below the table. *None known*: we know of no released code
of that experiment. Claims of the digest's papers are on their experiments' pages.
[Deviations](deviations.md) lists the choices by source: there we looked up what the code does.

"""


def lead(lines: list[Line]) -> str:
    """Return the counts."""
    several = [
        one for one in lines if sum(e.measured is not None for k in ("text", "code", "others") for e in one.cells[k]) > 1
    ]
    held = [one for one in several if one.holding("text", "code", "others")]
    exactly = [one for one in lines if one.as_said]
    sizes = [one for one in lines if one not in held and one.holding("sizes")]
    unrun = [one for one in lines if any(e.command for k in ("text", "code", "others") for e in one.cells[k])]
    return (
        f"{len(lines)} claims of the thesis and its papers fail. {len(several)} have more than one reading recorded, "
        f"and {len(held)} of these hold under one: {len(exactly)} in the text's words. "
        f"{len(sizes)} more hold at another size or on other seeds only. {len(unrun)} have a reading that is not run, "
        f"{sum(one.why == 'open' for one in unrun)} of them open."
    )


def page() -> str:
    """Return the page: counts, the claims that hold under some reading, then a table an experiment."""
    readings = Readings()
    found = readings.lines()
    every = [one for lines in found.values() for one in lines]
    text = (
        HEAD.format(lead=lead(every))
        + "## Failing claims that hold under a reading\n\n| claim | reading | measured |\n|---|---|---|\n"
    )
    for one in every:
        for column in ("text", "code", "others"):
            for entry in one.holding(column):
                said = column == "code" or (column == "text" and one.as_said)
                words = f"{COLUMNS[column]}: {entry.words}" if said else entry.words
                text += f"| `{one.claim.id}` | {words} | {readings.shown(replace(entry, words=''))} |\n"
    return text + "".join(section(readings, name, lines) for name, lines in found.items())


def section(readings: Readings, name: str, lines: list[Line]) -> str:
    """Return an experiment's table, and the commands of what is not run."""
    readme = ROOT / "packages" / "zoo" / "src" / "/".join(readings.modules[name].split(".")) / "README.md"
    columns = [key for key in COLUMNS if any(one.cells[key] for one in lines)]
    head = ["claim", *(COLUMNS[key] for key in columns), "reason"]
    text = f"\n## [{name}]({os.path.relpath(readme, PAGE.parent)})\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|\n"
    for one in lines:
        cells = [readings.cell(one.cells[key]) for key in columns]
        text += f"| {one.text}<br>{one.claim.source} | {' | '.join(cells)} | {reason(one)} |\n"
    costs = {e.command: e for one in lines for some in one.cells.values() for e in some if e.command}
    if costs:
        text += "\nNot run:\n\n"
    for command, one in costs.items():
        text += f"- {one.words}: `{command}` ({wording.spent(one.seconds)} a seed)\n"
    return text


def reason(line: Line) -> str:
    """Return which of the four reasons a claim fails for, and what is left to compute."""
    return "; ".join([line.why, *(f"{one.words}: {wording.spent(one.seconds)} a seed" for one in line.cells["left"])])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

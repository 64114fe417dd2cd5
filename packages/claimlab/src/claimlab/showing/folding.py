"""One row a claim: what several runs of an experiment say of it, the run that weighs most first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from claimlab.claims import FAILED, HELD, JudgedClaim, Kind, Verdict
from claimlab.needs import Known, among, silencing, unmeasured, with_controls
from claimlab.running.run import Run
from claimlab.showing.evidence import labels, recorded

AT_SIZE = ("paper", "faithful", "printed-")
"""How the names of presets begin that have the texts' sizes."""


@dataclass(frozen=True)
class Said:
    """What one run says of a claim; `scale` is what it is called among those of its experiment."""

    run: Run
    claim: JudgedClaim
    scale: str

    @property
    def weight(self) -> tuple[bool, bool, bool, bool, int]:
        """Measured before open, the texts' size before others, a preset as it is now before changed settings, then by seeds."""
        recipe, claim = self.run.recipe, self.claim
        at_size = recipe.preset.startswith(AT_SIZE)
        return claim.measured is not None, at_size, not recipe.changed, self.scale == recipe.label, claim.n

    @property
    def number(self) -> tuple[float | int | str | None, ...]:
        """What was measured, and the verdict."""
        return self.claim.measured, self.claim.low, self.claim.high, self.claim.n, self.claim.verdict

    @property
    def place(self) -> tuple[tuple[bool, bool, bool, bool, int], bool, tuple[str, str]]:
        """By weight; of runs that weigh the same one of which the claim does not hold, so that no order of recording decides.

        `Folded.disputes` has the others. Of what is left it is the one recorded last.
        """
        return self.weight, self.claim.verdict in FAILED, recorded(self.run)


@dataclass(frozen=True)
class Folded:
    """A claim with everything that runs say of it.

    Args:
        first: the run that weighs most; its verdict is the claim's.
        others: further runs that measured something else.
        twins: runs that measured the very same, such as a quick preset with nothing to save.
        silencing: failing claims of which one would do for this one to say nothing.
        unmeasured: claims that it needs and that no run measures.
        controlled: the verdict with our control, where the claim is asked twice.
    """

    first: Said
    others: tuple[Said, ...]
    twins: tuple[Said, ...] = ()
    silencing: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()
    controlled: Verdict | None = None

    @property
    def scale(self) -> str:
        """Where the claim was measured so."""
        return " and ".join(one.scale for one in (self.first, *self.twins))

    @property
    def claim(self) -> JudgedClaim:
        """As the run that weighs most judged it, but "not measured" where none measures it, or silenced by what it needs.

        Of a run that it is "not measurable here" says nothing of its other presets and settings.
        """
        claim = self.first.claim
        if claim.measured is None:
            return replace(claim, verdict="not measured")
        return replace(claim, verdict="says nothing") if self.silencing else claim

    @property
    def disputes(self) -> tuple[Said, ...]:
        """The runs that weigh as much and say the opposite: that it holds, since one that says it does not comes first."""
        held = self.first.claim.verdict in HELD
        return tuple(one for one in self.others if one.weight == self.first.weight and (one.claim.verdict in HELD) != held)


def folded(runs: Iterable[Run]) -> list[Folded]:
    """Return one entry a claim of an experiment, in the order in which its runs name them.

    Runs that cannot measure a claim are no rows of their own: only where none can is one of them shown.
    """
    runs = list(runs)
    names = labels(runs)
    said: dict[str, list[Said]] = {}
    for run in runs:
        for claim in run.claims:
            said.setdefault(claim.id, []).append(Said(run, claim, names[run.folder]))
    found = list[Folded]()
    for some in said.values():
        first, *rest = sorted(some, key=lambda one: one.place, reverse=True)
        rest = [one for one in rest if one.claim.measured is not None]
        twins = tuple(one for one in rest if one.number == first.number)
        found.append(Folded(first, tuple(one for one in rest if one not in twins), twins))
    return found


def weighed(claims: Iterable[Folded], elsewhere: Mapping[str, Verdict]) -> list[Folded]:
    """Return the same claims beside what they need: in the record itself where it is asked there, else where it weighs most."""
    found = list[Folded]()
    for one in claims:
        claim = one.first.claim
        known: Known = {**elsewhere, **among(one.first.run.claims)}
        silent, open_ = tuple(silencing(claim, known)), tuple(unmeasured(claim, known))
        found.append(replace(one, silencing=silent, unmeasured=open_, controlled=with_controls(claim, known)))
    return found


def verdicts(claims: Iterable[Folded]) -> dict[str, Verdict]:
    """Return what the rows say of claims, by id, whatever they need."""
    return {one.first.claim.id: one.first.claim.verdict for one in claims}


@dataclass(frozen=True)
class Sentence:
    """A sentence with its cells, itself first: what it says of one body, world or learner, and of others."""

    cells: tuple[Folded, ...]

    @property
    def verdict(self) -> str:
        """One of `Verdict`, or in how many of the cells that say something it holds."""
        found = [one.claim.verdict for one in self.cells if one.claim.verdict in (*HELD, *FAILED)]
        held = sum(one in HELD for one in found)
        if len(found) < 2 or held in (0, len(found)):
            so_far = [one for one in found if one.endswith("so far")]
            return (so_far or found or [self.cells[0].claim.verdict])[0]
        return f"holds in {held} of {len(found)}"


def sentences(claims: Iterable[Folded]) -> list[Sentence]:
    """Return claims with their cells, in the order of the former; the claim that the others are cells of comes first."""
    rows: dict[str, list[Folded]] = {}
    for one in claims:
        rows.setdefault(one.claim.cell_of or one.claim.id, []).append(one)
    return [Sentence(tuple(sorted(cells, key=lambda cell: cell.claim.id != id_))) for id_, cells in rows.items()]


OF_TEXTS: tuple[Kind, ...] = ("claim", "hypothesis")
"""Kinds of sentences that stand in texts; the others are ours."""


class Count(NamedTuple):
    """How many sentences have a verdict, and how many of these are the texts' claims and hypotheses, not ours."""

    claims: int
    of_texts: int


@dataclass(frozen=True)
class Tally:
    """How many sentences of a family, or of one size, hold, fail or are open, and whose; each counts once with its cells.

    Args:
        family: of experiments; "all" for their sum.
        claims: how many.
        held: how many of them hold, in all of their cells; `partly` in some of them.
        silent: how many say nothing.
        few: how many of those that hold or fail rest on fewer than five seeds.
        disputed: the ids of those of which a run that weighs as much says the opposite.
    """

    family: str
    claims: int
    held: Count
    partly: Count
    failed: Count
    silent: int
    few: int
    disputed: tuple[str, ...]

    @property
    def open(self) -> int:
        """How many no run has measured."""
        return self.claims - self.held.claims - self.partly.claims - self.failed.claims - self.silent


def tally(family: str, claims: Sequence[Folded], never_run: int = 0) -> Tally:
    """Count sentences, each once."""
    rows = sentences(claims)

    def count(asked: Callable[[str], bool]) -> Count:
        found = [row.cells[0].claim.kind for row in rows if asked(row.verdict)]
        return Count(len(found), sum(kind in OF_TEXTS for kind in found))

    return Tally(
        family,
        len(rows) + never_run,
        held=count(lambda verdict: verdict in HELD),
        partly=count(lambda verdict: verdict.startswith("holds in")),
        failed=count(lambda verdict: verdict in FAILED),
        silent=sum(row.verdict == "says nothing" for row in rows),
        few=sum(row.verdict.endswith("so far") for row in rows),
        disputed=tuple(one.claim.id for one in claims if one.disputes),
    )


def tallies(claims: Mapping[str, Sequence[Folded]], never_run: Mapping[str, int] = MappingProxyType({})) -> list[Tally]:
    """Return the tally of each family by name, behind them that of all of them where there are several."""
    found = [tally(family, some, never_run.get(family, 0)) for family, some in sorted(claims.items())]
    if len(found) > 1:
        found.append(tally("all", [one for some in claims.values() for one in some], sum(never_run.values())))
    return found

"""One row a claim: what several runs of an experiment say of it, the run that weighs most first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from claimlab.claims import JudgedClaim, Kind, Verdict
from claimlab.running.run import Run
from claimlab.showing.evidence import labels, recorded

HELD: tuple[Verdict, ...] = ("holds", "holds so far")
FAILED: tuple[Verdict, ...] = ("does not hold", "does not hold so far")
AT_SIZE = ("paper", "faithful", "printed-")
"""How the names of presets begin that have the texts' sizes."""


@dataclass(frozen=True)
class Said:
    """What one run says of a claim.

    Args:
        run: which.
        claim: as it judged it.
        scale: what the run is called among those of its experiment.
    """

    run: Run
    claim: JudgedClaim
    scale: str

    @property
    def at_size(self) -> bool:
        """Whether its preset has the texts' sizes."""
        return self.run.recipe.preset.startswith(AT_SIZE)

    @property
    def weight(self) -> tuple[bool, bool, bool, bool, int]:
        """Measured before open, the texts' size before others, a preset as it is now before changed settings, then by seeds."""
        recipe = self.run.recipe
        return self.claim.measured is not None, self.at_size, not recipe.changed, self.scale == recipe.label, self.claim.n

    @property
    def place(self) -> tuple[tuple[bool, bool, bool, bool, int], bool, tuple[str, str]]:
        """By weight; of runs that weigh the same one of which the claim does not hold, so that no order of recording decides.

        `Folded.disputes` has the others. Of runs that measured nothing it is one that an earlier condition could measure, so
        that its verdict is shown. Of what is left it is the one recorded last.
        """
        read_before = self.claim.measured is None and any(one.measured is not None for one in self.claim.earlier)
        return self.weight, read_before or self.claim.verdict in FAILED, recorded(self.run)


@dataclass(frozen=True)
class Folded:
    """A claim with everything that runs say of it.

    Args:
        first: the run that weighs most; its verdict is the claim's.
        others: further runs that measured something else.
        twins: runs that measured the very same, such as a quick preset with nothing to save.
    """

    first: Said
    others: tuple[Said, ...]
    twins: tuple[Said, ...] = ()

    @property
    def scale(self) -> str:
        """Where the claim was measured so."""
        return " and ".join(one.scale for one in (self.first, *self.twins))

    @property
    def claim(self) -> JudgedClaim:
        """As the run that weighs most judged it, but "not measured" where none measures it.

        Of a run that it is "not measurable here" says nothing of its other presets and settings.
        """
        claim = self.first.claim
        return claim if claim.measured is not None else replace(claim, verdict="not measured")

    @property
    def disputes(self) -> tuple[Said, ...]:
        """The runs that weigh as much and say the opposite: that it holds, since one that says it does not comes first."""
        held = self.claim.verdict in HELD
        return tuple(one for one in self.others if one.weight == self.first.weight and (one.claim.verdict in HELD) != held)


def folded(runs: Iterable[Run]) -> list[Folded]:
    """One entry a claim of an experiment, in the order in which its runs name them.

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
        twins = tuple(one for one in rest if _number(one) == _number(first))
        found.append(Folded(first, tuple(one for one in rest if one not in twins), twins))
    return found


def _number(said: Said) -> tuple[float | int | str | None, ...]:
    claim = said.claim
    return claim.measured, claim.low, claim.high, claim.n, claim.verdict


@dataclass(frozen=True)
class Tried:
    """What was tried for some claims, which often is one and the same."""

    ids: tuple[str, ...]
    text: str


def tried(claims: Sequence[Folded]) -> list[Tried]:
    """What was tried, each text once, whatever the verdicts."""
    texts: dict[str, list[str]] = {}
    for one in claims:
        if one.claim.tried:
            texts.setdefault(one.claim.tried, []).append(one.claim.id)
    return [Tried(tuple(ids), text) for text, ids in texts.items()]


OF_TEXTS: tuple[Kind, ...] = ("claim", "hypothesis")
"""Kinds of sentences that stand in texts; the others are ours."""


class Count(NamedTuple):
    """How many claims have a verdict.

    Attributes:
        claims: all of them.
        of_texts: how many of these are claims and hypotheses of the texts, and not ours.
        at_size: how many of these were judged at the texts' size.
    """

    claims: int
    of_texts: int
    at_size: int


@dataclass(frozen=True)
class Tally:
    """How many claims of a family held, failed or are open, whose they are, and at which scale.

    Args:
        family: of experiments; "all" for their sum.
        claims: how many.
        held: how many of them hold.
        failed: how many do not.
        few: how many of both rest on fewer than five seeds.
        disputed: the ids of those of which a run that weighs as much says the opposite.
    """

    family: str
    claims: int
    held: Count
    failed: Count
    few: int
    disputed: tuple[str, ...]

    @property
    def open(self) -> int:
        """How many no run has measured."""
        return self.claims - self.held.claims - self.failed.claims


def tally(family: str, claims: Sequence[Folded], never_run: int = 0) -> Tally:
    """Counts claims, each once.

    Args:
        family: of experiments.
        claims: of which there are runs.
        never_run: how many others there are.
    """

    def count(verdicts: Sequence[Verdict]) -> Count:
        found = [one for one in claims if one.claim.verdict in verdicts]
        of_texts = sum(one.claim.kind in OF_TEXTS for one in found)
        return Count(len(found), of_texts, sum(one.first.at_size for one in found))

    few = sum(one.claim.verdict.endswith("so far") for one in claims)
    disputed = tuple(one.claim.id for one in claims if one.disputes)
    return Tally(family, len(claims) + never_run, count(HELD), count(FAILED), few, disputed)


def tallies(claims: Mapping[str, Sequence[Folded]], never_run: Mapping[str, int] = MappingProxyType({})) -> list[Tally]:
    """The tally of each family by name, behind them that of all of them where there are several.

    Args:
        claims: by family.
        never_run: how many others there are, by family.
    """
    found = [tally(family, some, never_run.get(family, 0)) for family, some in sorted(claims.items())]
    if len(found) > 1:
        found.append(tally("all", [one for some in claims.values() for one in some], sum(never_run.values())))
    return found

"""One row a claim: what several runs of an experiment say of it, the run that weighs most first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from craik.lab.claims import JudgedClaim, Verdict
from craik.lab.running.run import Run

HELD: tuple[Verdict, ...] = ("holds", "holds so far")
FAILED: tuple[Verdict, ...] = ("does not hold", "does not hold so far")


@dataclass(frozen=True)
class Said:
    """What one run says of a claim."""

    run: Run
    claim: JudgedClaim

    @property
    def scale(self) -> str:
        """The run's preset, and its settings where they are not the preset's."""
        return self.run.recipe.label

    @property
    def weight(self) -> tuple[bool, bool, bool, int, bool]:
        """Measured before open, a preset as it is before changed settings, the paper's scale before others, then by seeds.

        Last, what an earlier condition could measure before what it could not either, so that its verdict is shown.
        """
        recipe, measured = self.run.recipe, self.claim.measured is not None
        read_before = any(one.measured is not None for one in self.claim.earlier)
        return measured, not recipe.changed, recipe.preset == "paper", self.claim.n, read_before


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
        """As the run that weighs most judged it."""
        return self.first.claim


def folded(runs: Iterable[Run]) -> list[Folded]:
    """One entry a claim, in the order in which the runs name them.

    Runs that cannot measure a claim are no rows of their own: only where none can is one of them shown.
    """
    said: dict[str, list[Said]] = {}
    for run in runs:
        for claim in run.claims:
            said.setdefault(claim.id, []).append(Said(run, claim))
    found = list[Folded]()
    for some in said.values():
        first, *rest = sorted(some, key=lambda one: one.weight, reverse=True)  # stable: equals stay in the runs' order
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


@dataclass(frozen=True)
class Tally:
    """How many claims of a family held, failed or are open, and at which scale.

    Args:
        family: of experiments; "all" for their sum.
        claims: how many.
        held: how many of them hold, and of these how many at the paper's scale.
        failed: the same of those that do not.
        few: how many of both rest on fewer than five seeds.
    """

    family: str
    claims: int
    held: tuple[int, int]
    failed: tuple[int, int]
    few: int

    @property
    def open(self) -> int:
        """How many no run has measured."""
        return self.claims - self.held[0] - self.failed[0]


def tally(family: str, claims: Sequence[Folded]) -> Tally:
    """Counts claims, each once."""
    found = Counter((one.claim.verdict, one.first.run.recipe.preset == "paper") for one in claims)

    def count(verdicts: Sequence[Verdict]) -> tuple[int, int]:
        at_paper = sum(found[verdict, True] for verdict in verdicts)
        return at_paper + sum(found[verdict, False] for verdict in verdicts), at_paper

    few = sum(number for (verdict, _), number in found.items() if verdict.endswith("so far"))
    return Tally(family, len(claims), count(HELD), count(FAILED), few)

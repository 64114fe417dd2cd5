"""What a verdict is worth beside others: a claim says nothing where what it needs fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from claimlab.claims import FAILED, HELD, JudgedClaim, Verdict

Known = Mapping[str, Verdict]
"""Verdicts by the ids of claims."""


def weighed(claim: JudgedClaim, known: Known) -> JudgedClaim:
    """Return the claim, which "says nothing" where a premise fails, or where it holds and a placebo fails."""
    return replace(claim, verdict="says nothing") if silencing(claim, known) else claim


def silencing(claim: JudgedClaim, known: Known) -> list[str]:
    """Return the ids of failing claims that silence a measured one."""
    if claim.verdict not in (*HELD, *FAILED, "says nothing"):
        return []
    # A failing placebo does not excuse a failing claim.
    asked = claim.needs.premises if claim.verdict in FAILED else (*claim.needs.premises, *claim.needs.placebos)
    return [one for one in asked if known.get(one) in FAILED]


def unmeasured(claim: JudgedClaim, known: Known) -> list[str]:
    """Return the ids of those that it needs and that nobody has measured."""
    return [one for one in (*claim.needs.premises, *claim.needs.placebos) if known.get(one) not in (*HELD, *FAILED)]


def with_controls(claim: JudgedClaim, known: Known) -> Verdict | None:
    """Return the verdict on a claim's second question, with our control; None where none is asked, or one is not measured."""
    verdicts = [known.get(one) for one in claim.needs.controls]
    if not verdicts or claim.measured is None or any(one not in (*HELD, *FAILED) for one in verdicts):
        return None
    return "holds" if claim.verdict in HELD and all(one in HELD for one in verdicts) else "does not hold"


def among(claims: Iterable[JudgedClaim]) -> dict[str, Verdict]:
    """Return the verdicts of some claims by id."""
    return {one.id: one.verdict for one in claims}

"""Measures of the claims of the frames that are skipped: most are numbers of one seed's rows."""

import numpy as np

from claimlab import EachSeed, Measurement, Row, Rows, number
from mechlearn_zoo.experiments.skips.comparing.outcomes import LEARNT

PLACEBOS = ("near_random", "near_stranger", "near_still")
"""What a prediction's place is compared with: that of a random frame, of another board's ball, of a ball that stays."""


def share_matched(row: Row, kind: str) -> float:
    """Return the share of slow, or of fast, frames that a prediction was matched with."""
    return number(row, f"{kind}_matched") / max(1.0, number(row, f"{kind}_frames"))


def slow_over_fast(rows: Rows, kind: str = "skips") -> float | None:
    """Return the share of slow frames matched over that of fast ones: of ASI, or of fixed steps matched as freely."""
    found = rows.where(lambda row: row.get("matching", "greedy") == "greedy", kind=kind)
    return share_matched(found[0], "slow") / max(1e-9, share_matched(found[0], "fast")) if found else None


def variety(rows: Rows) -> float | None:
    """Return the rarer of two shares: predictions that go one frame ahead, and those that skip more."""
    return next((min(number(row, "ones"), 1 - number(row, "ones")) for row in rows.where(kind="skips")), None)


def share_to_ball(rows: Rows) -> float | None:
    """Return the share of slow frames left out that are left out on the way to the ball; of ASI, the start aside.

    On the way to the ball is a prediction whose ball is within a radius of the matched frame's.
    """
    some = rows.where(kind="balls", method="asi")
    return sum(some["slow_to_ball"]) / max(1.0, sum(some["slow"])) if some else None


def beyond_placebos(rows: Rows) -> float | None:
    """Return how much more often ASI's ball is near the matched one, over bounces, than by the best placebo."""
    over_bounces = rows.where(kind="balls", method="asi", at="bounces")
    return next((number(row, "near") - max(number(row, name) for name in PLACEBOS) for row in over_bounces), None)


def beyond_fixed(rows: Rows) -> Measurement | None:
    """Return by how much ASI's `slow_over_fast` exceeds fixed steps'; None if these have learned nothing, in the median."""
    theirs = rows.where(kind="fixed", matching="greedy")
    return EachSeed(_beyond_fixed, np.median)(rows) if theirs and np.median(theirs["accuracy"]) >= LEARNT else None


def _beyond_fixed(rows: Rows) -> float | None:
    ours, theirs = slow_over_fast(rows), slow_over_fast(rows, "fixed")
    return None if ours is None or theirs is None else ours - theirs

"""What is claimed of skips on states; written before any recorded run. Differences are within a seed, which is a data set.

That validation also stops the trials it chooses was added afterwards, see each claim's earlier condition.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from claimlab import (
    Claim,
    Greatest,
    Least,
    Measure,
    Measurement,
    Rows,
    bootstrap,
    high_at_most,
    low_above,
    low_at_least,
    number,
)

ASI = ("asi", "asi-exploration")


def column(rows: Rows, world: str, family: str, name: str) -> dict[int, float]:
    """Return a family's scores by seed; none where rows lack them."""
    some = [row for row in rows.where(kind="score", world=world, family=family) if name in row]
    return {int(number(row, "seed")): number(row, name) for row in some}


def less(rows: Rows, world: str, name: str, families: Sequence[str], other: str) -> list[float]:
    """Return another family's score less that of the best of some, for each seed; the best is the one with the least mean."""
    tables = [found for family in families if (found := column(rows, world, family, name))]
    if not tables:
        return []
    ours, theirs = min(tables, key=lambda found: float(np.mean(list(found.values())))), column(rows, world, other, name)
    return [theirs[seed] - ours[seed] for seed in sorted(set(ours) & set(theirs))]


def gain(world: str, name: str, families: Sequence[str], other: str) -> Measure:
    """Return a measure of a score: `less`, mean over seeds."""
    return lambda rows: _mean(less(rows, world, name, families, other))


def most(worlds: Sequence[str], name: str, families: Sequence[str], other: str) -> Measure:
    """Return a measure of a score: `less`, mean over seeds, in the world where it is greatest."""
    return lambda rows: _mean(_most(less(rows, world, name, families, other) for world in worlds))


def least(world: str, name: str) -> Measure:
    """Return a measure of a score: plain ASI's less that of relative skips, mean over seeds, of the ASI where it is least."""

    def measure(rows: Rows) -> Measurement | None:
        return _mean([-one for one in _most([-one for one in less(rows, world, name, ("relative",), asi)] for asi in ASI)])

    return measure


def behind(worlds: Sequence[str], name: str) -> Measure:
    """Return a measure of a score: relative skips' less the fixed step's, mean over seeds, in the world where it is most."""
    return lambda rows: _mean(_most([-one for one in less(rows, world, name, ("relative",), "fixed")] for world in worlds))


def _most(some: Iterable[list[float]]) -> list[float]:
    """Those with the greatest mean."""
    return max((values for values in some if values), key=lambda values: float(np.mean(values)), default=[])


def _mean(values: list[float]) -> Measurement | None:
    return bootstrap(values, np.mean) if values else None


def share_of_still(worlds: Sequence[str]) -> Measure:
    """Return a measure: the final error of fixed steps over that of a prediction that nothing moves, where that is largest."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[list[float]] = []
        for world in worlds:
            still = {int(number(row, "seed")): number(row, "final") for row in rows.where(kind="still", world=world)}
            ours = column(rows, world, "fixed", "final")
            found.append([ours[seed] / still[seed] for seed in sorted(set(ours) & set(still))])
        worst = max((values for values in found if values), key=lambda values: float(np.mean(values)), default=[])
        return bootstrap(worst, np.mean) if worst else None

    return measure


_SOURCE = "ours, past thesis section 2.2"
_FINAL = "final squared error, in variances,"
_OVER_ASI = f"{_FINAL} of the ASI with the lesser mean over seeds, less relative skips, mean over seeds,"

CLAIMS = (
    Claim(
        id="skips-states.learnt",
        text="The chosen fixed step learns both worlds that have something to skip; else nothing could be said of them.",
        source="ours; the control",
        measure=share_of_still(("stops", "hopper")),
        condition=high_at_most(
            0.5, of=f"{_FINAL} over that of predicting that nothing moves, in the world whose mean over seeds is worse,"
        ),
        kind="control",
    ),
    Claim(
        id="skips-states.plain",
        text="On states plain ASI ends nearer than the best fixed step in none of four worlds; the thesis compares with small "
        "ones.",
        source="ours, past thesis section 2.3; a claim against the thesis",
        measure=most(("stops", "hopper", "oscillator", "double pendulum"), "final", ASI, "fixed"),
        condition=high_at_most(
            0.0, of=f"{_FINAL} fixed less ASI, of the ASI with the lesser mean and in the world whose mean gain is most,"
        ),
        kind="ours",
    ).also_stopped(Greatest),
    Claim(
        id="skips-states.relative-stops",
        text="So they do where a ball waits at random.",
        source=_SOURCE,
        measure=least("stops", "final"),
        condition=low_above(0.0, of=_OVER_ASI),
        kind="ours",
    ).also_stopped(Least),
    Claim(
        id="skips-states.level",
        text="They end as near as the best fixed step in both.",
        source=_SOURCE,
        measure=behind(("stops", "hopper"), "final"),
        condition=high_at_most(
            0.02, of=f"{_FINAL} of relative skips less the best fixed step, in the world whose mean over seeds is worse,"
        ),
        kind="ours",
        tried="Horizons up to 16, three rates, one budget. On the ball every seed chooses fixed steps of 16, two of which "
        "reach its rest whenever it comes to it; direct prediction is nearer still.",
    ).also_stopped(Greatest),
    Claim(
        id="skips-states.clocked",
        text="In worlds that go by a clock there is nothing to skip for: no ASI, relative or not, ends nearer than the best "
        "fixed step.",
        source="ours; the nulls",
        measure=most(("oscillator", "double pendulum"), "final", (*ASI, "relative"), "fixed"),
        condition=high_at_most(0.01, of=f"{_FINAL} fixed less the ASI with the least mean, in the world whose mean is most,"),
        kind="control",
    ).also_stopped(Greatest),
    Claim(
        id="skips-states.direct",
        text="On a falling body two to four steps beat one: direct prediction ends further off than the best fixed step, of 8 "
        "or 16 frames of 32.",
        source="ours; direct prediction is the opponent that the thesis lacks",
        measure=gain("hopper", "final", ("fixed",), "direct"),
        condition=low_at_least(0.0, of=f"{_FINAL} of direct prediction less the best fixed step, mean over seeds,"),
        kind="ours",
    ).also_stopped(Least),
)

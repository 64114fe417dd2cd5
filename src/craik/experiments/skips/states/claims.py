"""What is claimed of skips on states; written before any recorded run. Differences are within a seed, which is a data set.

That validation also stops the trials it chooses was added afterwards, see each claim's earlier condition.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from craik.lab import (
    Claim,
    Condition,
    Greatest,
    Least,
    Measurement,
    Rows,
    bootstrap,
    high_at_most,
    low_above,
    low_at_least,
    number,
)

ASI = ("asi", "asi-exploration")
Measure = Callable[[Rows], Measurement | None]
Of = Callable[[str], Measure]
"""From the name of a score to a measure of it."""


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


def gain(world: str, families: Sequence[str], other: str) -> Of:
    """Return a measure of a score: `less`, mean over seeds."""
    return lambda name: lambda rows: _mean(less(rows, world, name, families, other))


def most(worlds: Sequence[str], families: Sequence[str], other: str) -> Of:
    """Return a measure of a score: `less`, mean over seeds, in the world where it is greatest."""
    return lambda name: lambda rows: _mean(_most(less(rows, world, name, families, other) for world in worlds))


def least(world: str) -> Of:
    """Return a measure of a score: plain ASI's less that of relative skips, mean over seeds, of the ASI where it is least."""

    def found(rows: Rows, name: str) -> list[float]:
        return [-one for one in _most([-one for one in less(rows, world, name, ("relative",), asi)] for asi in ASI)]

    return lambda name: lambda rows: _mean(found(rows, name))


def behind(worlds: Sequence[str]) -> Of:
    """Return a measure of a score: relative skips' less the fixed step's, mean over seeds, in the world where it is most."""
    return lambda name: (
        lambda rows: _mean(_most([-one for one in less(rows, world, name, ("relative",), "fixed")] for world in worlds))
    )


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


def both(measure: Of, name: str) -> tuple[Measure, Measure]:
    """Return the measures of a score at the ends of trials, and where validation stops them."""
    return measure(name), measure(f"stopped_{name}")


def also_stopped(ask: Callable[..., Condition], bound: float, of: str, measure: Measure, which: str) -> Condition:
    """Return a condition on a score at the ends and where validation stops trials, with what was asked before.

    Args:
        ask: of the condition.
        bound: its bound.
        of: what was measured before.
        measure: gives that.
        which: "lesser" or "greater" of both.
    """
    return ask(bound, of=f"{of} the {which} of that at the ends and that where validation stops both,").instead_of(
        ask(bound, of=of), "Early stopping is a baseline of every comparison.", measure
    )


_SOURCE = "ours, past thesis section 2.2"
_FINAL = "final squared error, in variances,"
_OVER_ASI = f"{_FINAL} of the ASI with the lesser mean over seeds, less relative skips, mean over seeds,"
_plain = most(("stops", "hopper", "oscillator", "double pendulum"), ASI, "fixed")
_clocked = most(("oscillator", "double pendulum"), (*ASI, "relative"), "fixed")
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
        measure=Greatest(both(_plain, "final")),
        condition=also_stopped(
            high_at_most,
            0.0,
            f"{_FINAL} fixed less ASI, of the ASI with the lesser mean and in the world whose mean gain is most,",
            _plain("final"),
            "greater",
        ),
        kind="ours",
    ),
    Claim(
        id="skips-states.relative-hopper",
        text="On a falling body relative skips end nearer than plain ASI.",
        source=_SOURCE,
        measure=Least(both(least("hopper"), "final")),
        condition=also_stopped(low_above, 0.0, _OVER_ASI, least("hopper")("final"), "lesser"),
        kind="ours",
    ),
    Claim(
        id="skips-states.relative-stops",
        text="So they do where a ball waits at random.",
        source=_SOURCE,
        measure=Least(both(least("stops"), "final")),
        condition=also_stopped(low_above, 0.0, _OVER_ASI, least("stops")("final"), "lesser"),
        kind="ours",
    ),
    Claim(
        id="skips-states.level",
        text="They end as near as the best fixed step in both.",
        source=_SOURCE,
        measure=Greatest(both(behind(("stops", "hopper")), "final")),
        condition=also_stopped(
            high_at_most,
            0.02,
            f"{_FINAL} of relative skips less the best fixed step, in the world whose mean over seeds is worse,",
            behind(("stops", "hopper"))("final"),
            "greater",
        ),
        kind="ours",
        tried="Horizons up to 16, three rates, one budget. On the ball every seed chooses fixed steps of 16, two of which "
        "reach its rest whenever it comes to it; direct prediction is nearer still.",
    ),
    Claim(
        id="skips-states.off-path",
        text="Where a ball waits at random their states lie nearer to the true path than those of the best fixed step.",
        source=_SOURCE,
        measure=Least(both(gain("stops", ("relative",), "fixed"), "off_path")),
        condition=also_stopped(
            low_above,
            0.0,
            "off-path error of the fixed step less that of relative skips, mean over seeds,",
            gain("stops", ("relative",), "fixed")("off_path"),
            "lesser",
        ),
        kind="ours",
        tried="The same trials; nothing was changed after these rows. A prototype had relative skips ahead on another such "
        "ball, with twelve frames a skip at most.",
    ),
    Claim(
        id="skips-states.clocked",
        text="In worlds that go by a clock there is nothing to skip for: no ASI, relative or not, ends nearer than the best "
        "fixed step.",
        source="ours; the nulls",
        measure=Greatest(both(_clocked, "final")),
        condition=also_stopped(
            high_at_most,
            0.01,
            f"{_FINAL} fixed less the ASI with the least mean, in the world whose mean is most,",
            _clocked("final"),
            "greater",
        ),
        kind="control",
    ),
    Claim(
        id="skips-states.direct",
        text="On a falling body two to four steps beat one: direct prediction ends further off than the best fixed step, of 8 "
        "or 16 frames of 32.",
        source="ours; direct prediction is the opponent that the thesis lacks",
        measure=Least(both(gain("hopper", ("fixed",), "direct"), "final")),
        condition=also_stopped(
            low_at_least,
            0.0,
            f"{_FINAL} of direct prediction less the best fixed step, mean over seeds,",
            gain("hopper", ("fixed",), "direct")("final"),
            "lesser",
        ),
        kind="ours",
    ),
)

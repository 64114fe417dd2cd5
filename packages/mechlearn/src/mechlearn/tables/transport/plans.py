"""How much is fitted: everything, or as much as a budget allows, grids shrunk first and folds after them."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mechlearn.tables.reading_in import Table
from mechlearn.tables.transport.folds import EACH, blocks
from mechlearn.tables.transport.learners import Fit, Learner, tried
from mechlearn.tables.transport.methods import Compared
from mechlearn.tables.transport.room import MOST, OWN_FOLDS, WEIGHTS

SHORT = 2.0
"""Seconds of a fit up to which it is timed twice."""

LONG = 30.0
"""Seconds of fitting from which on processes beside each other are worth their start."""


@dataclass(frozen=True)
class Plan:
    """What is fitted.

    Attributes:
        settings: of each candidate at most.
        weights: of a site's own rows, for the room.
        asked: sites whose room is measured.
        folds: of sites, where there are more sites than `each`.
        each: sites up to which each is left out by itself.
        mixed: random folds.
        said: what was shrunk; empty for nothing.
    """

    settings: int = 100
    weights: tuple[int, ...] = WEIGHTS
    asked: int = MOST
    folds: int = 10
    each: int = EACH
    mixed: int = 10
    said: str = ""

    def fits(self, learner: Learner, sites: int, simple: bool) -> int:
        """Return how often a candidate is fitted, the room apart."""
        folds = sites if sites <= self.each else self.folds
        settings, mixed = len(self.thinned(learner).settings), min(self.mixed, max(2, folds))
        validated = 3 * settings * (len(blocks(folds)) + 2 * (settings > 1 or bool(learner.stages))) if simple else 0
        return validated + folds + mixed

    def room_fits(self, sites: int) -> int:
        """Return how often the yardstick is fitted for the room."""
        return min(self.asked, sites) * len(self.weights) * OWN_FOLDS

    def cost(self, learner: Learner) -> int:
        """Return how many fits with one setting a fit takes: a network trains all of its settings at once."""
        return min(self.settings, learner.settings[0].settings) if isinstance(learner.settings[0], Compared) else 1

    def thinned(self, learner: Learner) -> Learner:
        """Return a candidate with as many settings as there may be, evenly over its grid."""
        if isinstance(network := learner.settings[0], Compared):
            fewer: Any = clone(network)
            return learner._replace(settings=(fewer.set_params(settings=self.cost(learner)),))
        count = len(learner.settings)
        if count <= self.settings:
            return learner
        places = np.linspace(0, count - 1, self.settings + 2).round().astype(int)[1:-1]
        return learner._replace(settings=tuple(learner.settings[place] for place in places))


FULL = Plan()
ONE = replace(FULL, settings=1, said="candidates have one setting each")
FEWER = replace(ONE, weights=(3,), asked=10, said=f"{ONE.said}, and the room is asked of ten sites at one weight")
COARSE = replace(FEWER, each=10, mixed=5, said=f"{FEWER.said}, with at most ten folds of sites and five of rows")
LEAST = replace(COARSE, folds=5, each=5, mixed=3, asked=5, said=f"{ONE.said}, with five folds of sites, three of rows, and the "
    "room of five sites")  # fmt: skip
PLANS = (FULL, replace(FULL, settings=2, said="candidates have two settings each"), ONE, FEWER, COARSE, LEAST)
"""From everything to the least: grids shrink first, then the room, then folds."""


def seconds_each(
    table: Table,
    learners: Sequence[Learner],
    sites: Sequence[int],
    frame: Any = None,  # noqa: ANN401  # of pandas
) -> dict[str, float]:
    """Return how long one fit of each candidate takes, with one setting, on the rows outside one fold of sites.

    The less of two, where the first is short: it may have imported what it needs, or waited for another program.
    """
    kept = np.flatnonzero(table.site != sites[0])
    asked, found = np.flatnonzero(table.site == sites[0]), dict[str, float]()
    for one in learners:
        for _ in range(2):
            start = time.perf_counter()
            tried(table, Fit(ONE.thinned(one).settings[-1], kept, asked, one.stages, one.named), frame)
            found[one.name] = min(found.get(one.name, np.inf), time.perf_counter() - start)
            if found[one.name] > SHORT:
                break
    return found


def planned(
    simple: Sequence[Learner], own: Sequence[Learner], sites: int, seconds: Mapping[str, float], budget: float
) -> tuple[Plan, float]:
    """Return the fullest plan within a budget of seconds, or the least one, and how long one process takes for it."""
    for plan in PLANS:
        expected = _expected(plan, simple, own, sites, seconds)
        if expected <= budget:
            return plan, expected
    return PLANS[-1], _expected(PLANS[-1], simple, own, sites, seconds)


def affordable(
    simple: Sequence[Learner], own: Sequence[Learner], sites: int, seconds: Mapping[str, float], budget: float
) -> tuple[list[Learner], list[str]]:
    """Return the simple candidates that the least plan has time for, two at least, and a sentence for each that is left out."""
    kept, said = list(simple), list[str]()
    while len(kept) > 2 and _expected(LEAST, kept, own, sites, seconds) > budget:
        slowest = max(kept, key=lambda one: seconds[one.name])
        kept.remove(slowest)
        spent = f"one fit takes {seconds[slowest.name]:.2g} seconds, and the budget is {budget:.3g} for all"
        said.append(f"{slowest.name} is left out: {spent}. --budget gives more.")
    return kept, said


def _expected(plan: Plan, simple: Sequence[Learner], own: Sequence[Learner], sites: int, seconds: Mapping[str, float]) -> float:
    expected = sum(plan.fits(one, sites, True) * seconds[one.name] for one in simple)
    expected += sum(plan.fits(one, sites, False) * plan.cost(one) * seconds[one.name] for one in own)
    return expected + plan.room_fits(sites) * max(seconds[one.name] for one in simple)


def told_of(plan: Plan, expected: float, budget: float | None) -> list[str]:
    """Return a sentence where a budget shrank the plan."""
    if budget is None or not plan.said:
        return []
    more = f" It takes about {expected:.0f} seconds all the same." if expected > budget else ""
    return [f"A budget of {budget:.3g} seconds shrank the comparison: {plan.said}.{more} --budget gives more."]


def processes(expected: float) -> int:
    """Return how many processes fit at once: all cores where fitting takes long."""
    return (os.cpu_count() or 1) if expected > LONG else 1

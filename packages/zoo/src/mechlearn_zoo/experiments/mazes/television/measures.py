"""What a bonus covers, presses and comes to in the maze, and how often it falls; curves are means over the last roll-outs."""

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Rows, bootstrap

Arm = tuple[str, bool]
"""The method, and whether the set is on."""


def last(rows: Rows, arm: Arm, key: str = "coverage") -> float | None:
    """Return an arm's coverage of an episode, or another number, mean over the last fifth of the roll-outs."""
    found = rows.where(kind="curve", last=True, method=arm[0], tv=arm[1])[key]
    return float(np.mean(found)) if found else None


def ratio(one: Arm, other: Arm) -> EachSeed:
    """Return a measure: an arm's coverage over another's, median over seeds."""

    def number(rows: Rows) -> float | None:
        ours, theirs = last(rows, one), last(rows, other)
        return None if ours is None or theirs is None else ours / theirs

    return EachSeed(number, np.median)


def presses(method: str) -> EachSeed:
    """Return a measure: a method's share of presses with the set on, median over seeds."""
    return EachSeed(lambda rows: last(rows, (method, True), "presses"), np.median)


def ranking(other: str) -> EachSeed:
    """Return a measure: the smaller of random and inverse features' coverage less that of others, median over seeds."""

    def number(rows: Rows) -> float | None:
        random, inverse, theirs = (last(rows, (method, False)) for method in ("random", "inverse", other))
        return None if random is None or inverse is None or theirs is None else min(random, inverse) - theirs

    return EachSeed(number, np.median)


def reached(rows: Rows, method: str, goal: str) -> float:
    """Return the share of walkers that come to a goal which pays."""
    return float(np.mean(rows.where(kind="goal", last=True, method=method, tv=False, goal=goal)["reached"]))


def sparsity(rows: Rows) -> float | None:
    """Return how much more the bonus helps to reach the far goal than the near one."""
    if not rows.where(kind="goal"):
        return None
    far, near = (reached(rows, "reachability", goal) - reached(rows, "none", goal) for goal in ("far", "near"))
    return far - near


def furthest(rows: Rows) -> float | None:
    """Return the share that comes to the far goal, reachability less curiosity."""
    return reached(rows, "reachability", "far") - reached(rows, "random", "far") if rows.where(kind="goal") else None


def falls(method: str) -> Measure:
    """Return a measure: falls in 1000 steps, last fifth of training over its first fifth, median over seeds.

    None where a seed has no early falls.
    """

    def measure(rows: Rows) -> Measurement | None:
        found = list[float]()
        for own in rows.where(kind="pits", method=method).by("seed").values():
            every = own["falls"]
            early, late = (float(np.mean(part)) for part in (every[: len(every) // 5], every[-(len(every) // 5) :]))
            if early == 0:
                return None
            found.append(late / early)
        return bootstrap(found) if found else None

    return measure

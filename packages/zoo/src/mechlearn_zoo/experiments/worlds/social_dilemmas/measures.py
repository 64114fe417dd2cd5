"""How agents in social dilemmas are measured: by the apples that all of a world eat, beside others' and scripts'."""

from collections.abc import Callable

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Paired, Rows

WORLDS = ("harvest", "cleanup")


def gain(world: str) -> Paired:
    """Return a measure: apples of all in an episode of fresh worlds, with influence paid less without, median over seeds."""
    final = {"kind": "final", "world": world}
    return Paired("reward", final | {"arm": "influence"}, final | {"arm": "none"})


def eaten(rows: Rows, world: str, who: str, key: str = "reward") -> float | None:
    """Return the apples of all at the end, of an arm's agents or of a group of scripts."""
    some = rows.where(world=world)
    found = [*some.where(kind="final", arm=who)[key], *some.where(kind="script", group=who)[key]]
    return found[0] if found else None


def lower(number: Callable[[Rows, str], float | None]) -> EachSeed:
    """Return a measure: a number of each world, the lower one, mean over seeds."""

    def of_both(rows: Rows) -> float | None:
        known = [one for world in WORLDS if (one := number(rows, world)) is not None]
        return min(known) if len(known) == len(WORLDS) else None

    return EachSeed(of_both)


def ahead(one: str, other: str) -> EachSeed:
    """Return a measure: what some eat more than others, lower of both worlds, mean over seeds."""

    def difference(rows: Rows, world: str) -> float | None:
        ours, theirs = (eaten(rows, world, who) for who in (one, other))
        return None if ours is None or theirs is None else ours - theirs

    return lower(difference)


def missed(one: str) -> EachSeed:
    """Return a measure: the share of careful scripts' apples that others miss, 0 of none, lower of both worlds, mean."""

    def share(rows: Rows, world: str) -> float | None:
        ours, careful = (eaten(rows, world, who) for who in (one, "careful"))
        if ours is None or careful is None:
            return None
        return 1 - ours / careful if careful else 0.0

    return lower(share)


def temptation(rows: Rows, world: str) -> float | None:
    """Return what one that takes no care eats more than those around it that do."""
    one, around = (eaten(rows, world, "tempted", key) for key in ("tempted", "careful"))
    return None if one is None or around is None else one - around


def share_kept(rows: Rows) -> float | None:
    """Return how much more agents eat in Harvest with influence alone than with reward and influence, as a share."""
    alone, both = (eaten(rows, "harvest", arm) for arm in ("alone", "influence"))
    return None if alone is None or not both else alone / both - 1


def beside_scripts(measure: Measure) -> Measure:
    """Return a measure of agents that validation has stopped, beside scripts, which learn nothing and eat what they eat."""

    def measured(rows: Rows) -> Measurement | None:
        learnt = rows.where(lambda row: "stopped_reward" in row)
        stopped = [row | {"reward": row["stopped_reward"]} for row in learnt]
        return measure(Rows([*rows.where(kind="script"), *stopped])) if stopped else None

    return measured


def error(rows: Rows) -> float | None:
    """Return the largest error of the measured influence over couplings."""
    found = rows.where(kind="coupling")
    return float(np.abs(np.subtract(found["measured"], found["true"])).max()) if found else None


def boxed(key: str, one: str, other: str) -> Paired:
    """Return a measure: a number of episodes that begin with a locked box, of one arm less another, median over seeds."""
    return Paired(key, {"kind": "box", "arm": one}, {"kind": "box", "arm": other})

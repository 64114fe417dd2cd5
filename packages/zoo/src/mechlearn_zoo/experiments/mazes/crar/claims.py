"""What is claimed of planning in unseen mazes, and of two rooms' abstract states; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Least, Measurement, Rows, bootstrap, high_below, low_above

_ROOMS = "Francois-Lavet et al. 2019, by the reading digest; numbers ours"
_AT = ("rooms", "rooms-paper")
_SOURCE = "Francois-Lavet et al. 2019, section 4.2, by the reading digest; mazes and numbers ours"
DEEP = 6
"""Steps ahead."""

_TRIED = (
    "Seeds 200 to 205 judge, on which nothing was looked at. On 100 to 105, which had judged two records before, after each of "
    "which the method was changed, the same method looks better: depth 2.30 [1.97, 2.58], further 1.63 [1.27, 1.94], "
    "model-free 1.15 [0.78, 1.56], random 3.27 [3.01, 3.51]. Of the middle record there (commit 4d2ef78f) four of the five "
    "claims, as they were asked then, did not hold: depth 0.07 [-0.62, 1.01], further -0.14 [-0.66, 0.49], model-free -1.57 "
    "[-2.23, -0.83], random 0.55 [-0.24, 1.46]. "
    "On another processor (AVX2), without looks, 200 to 205 had depth 0.97 [0.33, 1.62], further 0.49 [-0.00, 0.98], which did "
    "not hold, model-free -0.26 [-1.09, 0.56], random 1.42 [0.45, 2.43]. "
    "Recorded first with 2000 updates on 20,000 steps in 500 mazes: neither this nor the control against a random agent held. "
    "On seed 1000 then: 6000 updates on these steps (Q alone gained, Q beside a model did not); the model's loss weighed 0.2, "
    "0.02 and 0.005 (Q as good as alone at 0.005, but a model too coarse to plan in); C of 1 for 5; 64 units in the model. "
    "What seemed to help was ten times the steps in six times the mazes, for all arms: depth 6 then beat depths 0 and 1 and a "
    "random agent on seeds 1000 and 1001, on the first depth 3 beat it and so did Q alone. On the six seeds of the record it "
    "did not: what two seeds had shown was luck. Then the parts were measured in unseen mazes. With the true model in its "
    "place the same planner did well with the same Q on seed 1001; on 1000, where Q beside a model was far too high, better "
    "than acting at random or by this Q; with Q alone well on both. The learned model told the very next state and reward "
    "rightly, but after five steps of its own hardly any reward; and on seeds 1000 and 1003 its discount was a line in the "
    "number of keys left, far from 0 at the end, because units that read sums over all cells were always on or always off: "
    "gathering looked bad. Not enough by themselves: more steps that end an episode, more planes, wider layers, a change "
    "that goes through tanh, Q that does not train the encoder. Enough on all four seeds 1000 to 1003, against acting at "
    "random and depths 0 and 1: a second hidden layer in the model, twice as wide, and max-pooling over cells in place of "
    "sums; the networks of Q alone are the same. Depth 6 was better than Q alone on three of the four. A target that "
    "follows every 100 updates made it so on all four, but Q alone worse on three, and was not taken."
)
"""What was tried where planning falls short."""


def returns(rows: Rows, arm: str, depth: int | None) -> list[float]:
    """Return an arm's mean return on unseen mazes, by seed."""
    return rows.where(arm=arm, depth=depth)["return"]


def less(one: tuple[str, int | None], other: tuple[str, int | None]) -> Callable[[Rows], Measurement | None]:
    """Return a measure: one arm's return less another's, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        first, second = returns(rows, *one), returns(rows, *other)
        return bootstrap(np.subtract(first, second).tolist(), np.mean) if first and second else None

    return measure


def best_of_others(rows: Rows) -> Measurement | None:
    """Return what planning ahead returns more than the best of a misled planner, chance and acting by Q, mean over seeds."""
    others = [returns(rows, *one) for one in (("misled", DEEP), ("random", None), ("crar", 0))]
    own = returns(rows, "crar", DEEP)
    return bootstrap(np.subtract(own, np.max(others, axis=0)).tolist(), np.mean) if own and all(others) else None


def best_of_others_stopped(rows: Rows) -> Measurement | None:
    """Return the same where validation stops whoever learns; chance, which has nothing to stop, is as it is."""
    found = [row | {"return": row["stopped_return"]} if "stopped_return" in row else row for row in rows]
    return best_of_others(Rows(found)) if any("stopped_return" in row for row in found) else None


def of(arm: str, key: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure of the rooms: one arm's number, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = rows.where(kind="final", arm=arm)[key]
        return bootstrap(found) if found else None

    return measure


def collapse(rows: Rows) -> Measurement | None:
    """Return the spread of the rooms' states without a loss for it over that with it, median over seeds."""
    first, second = (rows.where(kind="final", arm=name)["spread"] for name in ("no-spread", "crar"))
    return bootstrap(np.divide(first, second).tolist()) if first else None


_UNLOOKED = ("records of seeds 100 to 105",)
"""What was recorded before there were looks, and judges no more."""

CLAIMS = (
    Claim(
        id="crar-mazes.depth",
        text="In mazes that were never seen, planning six steps ahead is better than acting by Q.",
        source=_SOURCE,
        measure=less(("crar", DEEP), ("crar", 0)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less depth 0, mean over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least, unlooked=_UNLOOKED),
    Claim(
        id="crar-mazes.further",
        text="And better than planning one step ahead.",
        source=_SOURCE,
        measure=less(("crar", DEEP), ("crar", 1)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less depth 1, mean over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least, unlooked=_UNLOOKED),
    Claim(
        id="crar-mazes.model-free",
        text="It is better than Q alone, in the same networks, from the same steps and updates.",
        source=_SOURCE,
        measure=less(("crar", DEEP), ("q-only", 0)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less Q alone, mean over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least, unlooked=_UNLOOKED),
    Claim(
        id="crar-mazes.misled",
        text="It is the model that helps: planning in it is better than the best of acting by Q, chance and planning in a "
        "model that is told another action than the one asked about.",
        source="ours",
        measure=best_of_others,
        condition=low_above(
            0,
            of="return on unseen mazes, depth 6 less the best of misled depth 6, random and depth 0 by seed, mean over seeds,",
        ).instead_of(
            low_above(0, of="return on unseen mazes, depth 6 less that with a misled model, mean over seeds,"),
            "The misled planner does worse than chance, -2.33 against -1.50 on seeds 200 to 205: being above it says little.",
            less(("crar", DEEP), ("misled", DEEP)),
        ),
        kind="control",
        tried="The best of the others was asked for after the rows had been read. The misled planner is the worst of the three "
        "on every seed of every record, so that depth 0 or chance decides. By it the claim holds on 200 to 205, which judge, "
        "0.92 [0.26, 1.61], and in the third record on 100 to 105, 2.30 [1.97, 2.58]; not in the first, 0.52 [-0.15, 1.22], "
        "nor in the middle one, 0.02 [-0.68, 0.93]. Less the misled planner alone it was above 0 in all four: 2.30, 4.11, 1.28 "
        "and 1.14.",
    ).also_stopped(Least, best_of_others_stopped, "all", _UNLOOKED),
    Claim(
        id="crar-mazes.random",
        text="And it is better than acting at random, which the steps to learn from did.",
        source="ours",
        measure=less(("crar", DEEP), ("random", None)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less a random agent's, mean over seeds,"),
        kind="control",
        tried=_TRIED,
    ),
)

ROOMS = (
    Claim(
        id="crar-rooms.collapse",
        text="Without a loss that keeps states apart the abstract state collapses.",
        source=_ROOMS,
        measure=collapse,
        condition=high_below(1e-2, of="spread of states over that with the loss, median over seeds,").at(*_AT),
    ),
    Claim(
        id="crar-rooms.identification",
        text="The abstract state can be predicted: the state nearest to a prediction is the right one.",
        source=_ROOMS,
        measure=of("crar", "one"),
        condition=low_above(0.9, of="share of states and actions, one step ahead, median over seeds,").at(*_AT),
        tried="On seeds 1000 and 1001 it is about met as preset; on seed 1000 also learning rates of 0.002, and"
        " 0.001 with 9000 updates, which identify more.",
    ),
    Claim(
        id="crar-rooms.map",
        text="It is a map: distances follow walking distances.",
        source=_ROOMS,
        measure=of("crar", "walking"),
        condition=low_above(0.8, of="Spearman's rho of abstract and walking distance, median over seeds,").at(*_AT),
        tried="On seeds 1000 and 1001 it is about met, or not; on seed 1000 also learning rates of 0.002, no "
        "better, and 0.001 with 9000 updates, worse. Each room is a neat grid, but the two have changed "
        "places: only one step through the door joins them.",
    ),
)
"""Of the part with two rooms."""

"""What is claimed of planning in unseen mazes; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from craik.lab import Claim, Measurement, Rows, bootstrap, low_above

_SOURCE = "Francois-Lavet et al. 2019, section 4.2, by the reading digest; mazes and numbers ours"
DEEP = 6
"""Steps ahead."""


def returns(rows: Rows, arm: str, depth: int | None) -> list[float]:
    """Return an arm's mean return on unseen mazes, by seed."""
    return rows.where(arm=arm, depth=depth)["return"]


def less(one: tuple[str, int | None], other: tuple[str, int | None]) -> Callable[[Rows], Measurement | None]:
    """Return a measure: one arm's return less another's, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        first, second = returns(rows, *one), returns(rows, *other)
        return bootstrap(np.subtract(first, second).tolist(), np.mean) if first and second else None

    return measure


CLAIMS = (
    Claim(
        id="crar-mazes.depth",
        text="In mazes that were never seen, planning six steps ahead is better than acting by Q.",
        source=_SOURCE,
        measure=less(("crar", DEEP), ("crar", 0)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less depth 0, mean over seeds,"),
    ),
    Claim(
        id="crar-mazes.further",
        text="And better than planning one step ahead.",
        source=_SOURCE,
        measure=less(("crar", DEEP), ("crar", 1)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less depth 1, mean over seeds,"),
        tried="One setting, looked at on seed 1000, where three steps ahead were better than six.",
    ),
    Claim(
        id="crar-mazes.model-free",
        text="It is better than Q alone, in the same networks, from the same steps and updates.",
        source=_SOURCE,
        measure=less(("crar", DEEP), ("q-only", 0)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less Q alone, mean over seeds,"),
        tried="One setting, looked at on seed 1000 without this arm: more updates, more mazes and other weights of "
        "the losses were not tried.",
    ),
    Claim(
        id="crar-mazes.misled",
        text="It is the model that helps: told another action than the one asked about, the same planner is worse.",
        source="ours",
        measure=less(("crar", DEEP), ("misled", DEEP)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less that with a misled model, mean over seeds,"),
        kind="control",
    ),
    Claim(
        id="crar-mazes.random",
        text="And it is better than acting at random, which the steps to learn from did.",
        source="ours",
        measure=less(("crar", DEEP), ("random", None)),
        condition=low_above(0, of="return on unseen mazes, depth 6 less a random agent's, mean over seeds,"),
        kind="control",
        tried="One setting: 2000 updates on 500 mazes. Interval over seeds only just reaches below 0; longer "
        "training was not tried.",
    ),
)

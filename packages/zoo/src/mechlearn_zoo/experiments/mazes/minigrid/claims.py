"""What is claimed of bonuses in MiniGrid's rooms; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, low_above

_BURDA = "Burda et al. 2018"


def last(rows: Rows, method: str, key: str) -> list[float]:
    """Return a number's mean over the last fifth of the roll-outs, by seed."""
    return [float(np.mean(group[key])) for group in rows.where(method=method, last=True).by("seed").values()]


def less(method: str, key: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: a method's number less that of the agent that acts at random, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        mine, random = (last(rows, name, key) for name in (method, "none"))
        return bootstrap(np.subtract(mine, random).tolist(), np.mean) if mine and random else None

    return measure


CLAIMS = (
    Claim(
        id="minigrid-rooms.reward",
        text="Curiosity alone brings reward that nobody optimises.",
        source=f"{_BURDA}, section 3.1: extrinsic reward of agents that never see it",
        measure=less("random", "reached"),
        condition=low_above(
            0, of="share of episodes that reach the goal, random features less a random agent, mean over seeds,"
        ),
        tried="One run; settings of the maze's experiment, nothing searched. The oracle shows that the budget is "
        "enough for a bonus that leads there.",
    ),
    Claim(
        id="minigrid-rooms.inverse",
        text="So does curiosity in features of inverse dynamics.",
        source=f"{_BURDA}, section 3.1",
        measure=less("inverse", "reached"),
        condition=low_above(0, of="share of episodes that reach the goal, less a random agent's, mean over seeds,"),
        tried="One run; settings of the maze's experiment, nothing searched. The oracle shows that the budget is "
        "enough for a bonus that leads there.",
    ),
    Claim(
        id="minigrid-rooms.counts",
        text="An oracle that counts cells does, too: the rooms can be explored by this learner within this budget.",
        source="ours",
        measure=less("counts", "reached"),
        condition=low_above(0.05, of="share of episodes that reach the goal, less a random agent's, mean over seeds,"),
        kind="control",
    ),
)

"""What is claimed of planning by division; written before any recorded run. The text prints curves, no numbers."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, low_above, number

_SOURCE = "Parascandolo, Buesing et al. 2020, the grid-world experiment; curves, no numbers"
BUDGET = 200
"""Questions after which mazes are counted."""


def solved(rows: Rows, method: str, budget: int) -> float | None:
    """Return the share of problems that a method has solved with so many questions."""
    found = rows.where(kind="search", method=method)
    if not found:
        return None
    return float(np.mean([row["solved"] is not None and number(row, "solved") <= budget for row in found]))


def more(one: str, other: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: how much larger one method's share of solved mazes is than another's, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        differences: list[float] = []
        for group in rows.by("seed").values():
            first, second = (solved(group, method, BUDGET) for method in (one, other))
            if first is not None and second is not None:
                differences.append(first - second)
        return bootstrap(differences, np.mean) if differences else None

    return measure


CLAIMS = (
    Claim(
        id="divide-and-conquer.fewer-queries",
        text="With 200 questions more mazes are solved by dividing in any order than by sequential tree search, each with "
        "proposals learnt from the same walks.",
        source=_SOURCE,
        measure=more("divided", "forward"),
        condition=low_above(0.0, of="share of mazes, less the sequential search's, mean over seeds,"),
    ),
    Claim(
        id="divide-and-conquer.proposals-needed",
        text="Without training the proposals' network, fewer mazes are solved.",
        source=_SOURCE,
        measure=more("divided", "untrained"),
        condition=low_above(0.0, of="share of mazes, less with untrained proposals, mean over seeds,"),
        kind="control",
        tried="In quick neither this control nor other-walls solves a single maze, so that both numbers are the share which "
        "division solves, one number: they say that it needs what it has learnt, and nothing of how much.",
    ),
    Claim(
        id="divide-and-conquer.walls-read",
        text="Shown the walls of another maze (a placebo), the trained proposals solve fewer mazes.",
        source="ours",
        measure=more("divided", "other-walls"),
        condition=low_above(0.0, of="share of mazes, less with another maze's walls, mean over seeds,"),
        kind="control",
        tried="In quick neither this control nor untrained solves a single maze, so that both numbers are the share which "
        "division solves, one number: they say that it needs what it has learnt, and nothing of how much.",
    ),
    Claim(
        id="divide-and-conquer.more-than-a-line",
        text="Trained proposals solve more mazes than the middle of the straight line.",
        source="ours",
        measure=more("divided", "straight-line"),
        condition=low_above(0.0, of="share of mazes, less with the line's middle, mean over seeds,"),
        kind="control",
    ),
)

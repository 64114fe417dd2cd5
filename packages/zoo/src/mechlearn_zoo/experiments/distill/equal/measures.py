"""What is measured of a meta-learned teacher at equal computation."""

import math

import numpy as np

from claimlab import Measure, Measurement, Rows, bootstrap
from mechlearn_zoo.experiments.distill.measured import best_of_seeds, ratio

NOTHING = {"noisy-labels": math.log(4)}
"""What a constant scores, equal shares of four labels; whoever is above it has learnt nothing that holds elsewhere."""


def ldt_over(task: str, *methods: str) -> Measure:
    """Return a measure: LDT's selected test error over another method's on a task, the median over seeds.

    Of several others that one counts, for each seed, which is best on held-out examples. Nothing is measured where they are no
    better than a constant (`NOTHING`), in the median.
    """

    def measured(rows: Rows) -> Measurement | None:
        theirs = best_of_seeds(rows.where(lambda row: row["method"] in methods, task=task), "selection")
        if theirs and np.median(theirs["selected"]) >= NOTHING.get(task, math.inf):
            return None
        return ratio(best_of_seeds(rows.where(task=task, method="ldt"), "selection"), theirs, "selected")

    return measured


def overspent(rows: Rows) -> Measurement | None:
    """Return by how much the dearest training exceeds the cheapest that was not cut short; the greatest over seeds."""
    spent = [group.where(lambda row: not row["diverged"])["spent"] for group in rows.by("seed").values()]
    found = [max(some) / min(some) for some in spent if some]
    return bootstrap(found, np.max) if found else None

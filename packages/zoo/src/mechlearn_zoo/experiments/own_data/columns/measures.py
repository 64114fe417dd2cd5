"""What the claims of the audit's scores measure, mean over seeds."""

import numpy as np

from claimlab import EachSeed, Measure, OverSeeds, Rows
from mechlearn_zoo.experiments.own_data.columns.run import MARGINAL
from mechlearn_zoo.experiments.own_data.measures import extreme

marginal = extreme(
    [OverSeeds("auroc", {"kind": "auroc", "board": one, "score": "cancelled mass"}, np.mean) for one in MARGINAL]
)
"""The area under the curve of cancelled mass on the marginal board whose mean over seeds is least."""


def flagged(what: str) -> Measure:
    """Return a measure: the share of columns that the audit's flag marks, mean over the marginal boards and seeds."""

    def share(rows: Rows) -> float | None:
        found = rows.where(lambda row: row.get("board") in MARGINAL, kind="flags", way="gradients")[what]
        return float(np.mean(found)) if found else None

    return EachSeed(share)

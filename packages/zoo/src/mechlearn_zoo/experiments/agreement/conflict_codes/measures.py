"""How rules are compared on codes, and on sites that have none."""

from collections.abc import Callable

import numpy as np

from claimlab import Measure, Measurement, Paired, Rows
from mechlearn_zoo.experiments.agreement.conflict_codes.peers import PEERS

Name = str | Callable[[Rows], str]


def gain(method: Name, over: Name = "mean", **cell: int | str) -> Measure:
    """Return a measure: how much more accurate one method is than another at a new site, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = rows.where(kind="final", **cell)
        one, other = ({"method": name if isinstance(name, str) else name(found)} for name in (method, over))
        return Paired("accuracy", one, other, np.mean)(found)

    return measure


def best_peer(rows: Rows) -> str:
    """Return the rule of another paper with the highest mean accuracy."""
    return max(PEERS, key=lambda name: np.mean(rows.where(method=name)["accuracy"] or [0.0]))

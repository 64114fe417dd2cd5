"""How rules are compared on codes, and on sites that have none."""

import numpy as np

from claimlab import Paired


def gain(method: str, over: str = "mean", **cell: int) -> Paired:
    """Return a measure: how much more accurate one method is than another at a new site, mean over seeds."""
    one, other = ({"kind": "final", **cell, "method": name} for name in (method, over))
    return Paired("accuracy", one, other, np.mean)

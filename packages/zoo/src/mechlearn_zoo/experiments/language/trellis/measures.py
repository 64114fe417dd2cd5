"""What theorem 1 leaves between two networks; the comparisons need no measures of their own."""

import numpy as np

from claimlab import Rows

greatest = np.max
"""Of the seeds' numbers."""


def left(rows: Rows) -> float | None:
    """Return the greatest difference that the theorem leaves, with upper biases of 0 and with the units that switch them on.

    Where the biases, simply put in, make no difference of 0.0001, which they must, it is 1.
    """
    some = rows.where(kind="theorem")
    if not some:
        return None
    return max(some["zero"][0], some["warm"][0]) if some["biased"][0] > 1e-4 else 1.0

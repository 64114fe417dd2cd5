"""What the fixed label readers of the worlds share."""

import numpy as np
from jaxtyping import Float, Int, Shaped

NOTHING = -1
"""The label of a frame that shows no outcome."""


def read_sequence(labels: Int[np.ndarray, " time"]) -> int:
    """Return the first label of a sequence of frames that is not `NOTHING`, or `NOTHING` if there is none."""
    found = labels[labels != NOTHING]
    return int(found[0]) if found.size else NOTHING


def as_shares(values: Shaped[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return bytes as shares of 255; what is no bytes as it is."""
    return values.astype(np.float32) / 255 if values.dtype == np.uint8 else values

"""What the claims of the surfaces of environments measure that no measure of claimlab does."""

import numpy as np

from claimlab import Rows


def log_ratio(rows: Rows) -> float:
    """Return the log of a seed's largest difference of true losses on the way, at averaging's solution over the AND-mask's."""
    mean, masked = (rows.where(kind="solution", method=method)["walked"][0] for method in ("averaging", "AND-mask"))
    return float(np.log(mean / masked))

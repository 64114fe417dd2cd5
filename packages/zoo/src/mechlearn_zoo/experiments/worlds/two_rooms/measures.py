"""How abstract states are measured: by Causal InfoGAN's scores beside another way's."""

import numpy as np

from claimlab import Paired


def less(key: str, other: str) -> Paired:
    """Return a measure: how much higher Causal InfoGAN scores than another way, mean over seeds."""
    return Paired(key, {"kind": "final", "method": "causal"}, {"kind": "final", "method": other}, np.mean)

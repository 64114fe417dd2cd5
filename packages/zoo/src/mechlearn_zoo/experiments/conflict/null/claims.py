"""What is claimed where there is no conflict; written before any recorded run."""

import numpy as np

from claimlab import Claim, Least, Paired, low_at_least
from mechlearn_zoo.experiments.conflict.tables import STREAMS

_SOURCE = "ours; issue 'rules that test for conflict'"


def difference(method: str) -> Paired:
    """Return a measure: a method's accuracy less averaging's on exchangeable sites, mean over seeds."""
    return Paired("accuracy", {"kind": "final", "method": method}, {"kind": "final", "method": "mean"}, np.mean)


_NOT_WORSE = low_at_least(-0.01, of="difference of accuracy from averaging, mean over seeds,")


CLAIMS = (
    Claim(
        id="conflict-null.never-worse",
        text="On exchangeable sites Gail-Simon's rule is never worse than averaging.",
        source=_SOURCE,
        measure=difference("qualitative"),
        condition=_NOT_WORSE,
        kind="ours",
        tried="A hundredth is allowed for: at the end it is worse by 0.0029 [0.0001, 0.0058]. "
        + STREAMS.format("0.0045 [0.0011, 0.0077]"),
    ).also_stopped(Least),
    Claim(
        id="conflict-null.never-worse-cochran",
        text="Nor is Cochran's rule with decay.",
        source=_SOURCE,
        measure=difference("homogeneous-decay"),
        condition=_NOT_WORSE,
        kind="ours",
        tried=STREAMS.format("0.0053 [-0.0003, 0.0111]"),
    ).also_stopped(Least),
)

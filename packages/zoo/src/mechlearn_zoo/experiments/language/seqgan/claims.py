"""What is claimed of SeqGAN; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, high_below

_SOURCE = "Yu et al. 2017, table 1"
_STREAMS = (
    "Of a record before, whose learner began with weights that were correlated with the oracle's, as both came of one stream "
    "of random numbers, {} on the same seeds."
)


def less_likelihood(key: str, arm: str = "seqgan") -> Callable[[Rows], Measurement | None]:
    """Return a measure: an arm's number at T = 1 less maximum likelihood's, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.where(kind="end").by("seed").values():
            one, other = group.where(arm=arm), group.where(arm="mle")
            if len(one) and len(other):
                found.append(one[key][0] - other[key][0])
        return bootstrap(found, np.mean) if found else None

    return measure


CLAIMS = (
    Claim(
        id="seqgan.oracle-nll",
        text="SeqGAN's samples are likelier under the true distribution than those of maximum likelihood.",
        source=_SOURCE,
        printed="8.736 (as lists of results have it) against 9.038 (not checked in a text)",
        measure=less_likelihood("oracle"),
        condition=high_below(0.0, of="NLL_oracle a token, SeqGAN less maximum likelihood, mean over seeds,"),
        tried="One number with temperature-sweep.point-misleads: that record is the same training on the same seeds, with more "
        "temperatures. Two verdicts, one finding. " + _STREAMS.format("-0.286 [-0.371, -0.213]"),
    ),
)

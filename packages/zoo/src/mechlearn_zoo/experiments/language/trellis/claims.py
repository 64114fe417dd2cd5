"""What is claimed of trellis networks; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Condition, Least, Measurement, Rows, above, bootstrap, low_above

_BAI = "Bai et al. 2019"


def gain(kind: str, key: str, over: str, sign: int = 1) -> Callable[[Rows], Measurement | None]:
    """Return a measure: how much better the trellis network is than another model, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.where(kind=kind).by("seed").values():
            one, other = group.where(model="trellis"), group.where(model=over)
            if len(one) and len(other):
                found.append(sign * (one[key][0] - other[key][0]))
        return bootstrap(found, np.mean) if found else None

    return measure


def exact(rows: Rows) -> Measurement | None:
    """Return the greatest difference that the theorem leaves, with upper biases of 0 and with the units that switch them on.

    Where the biases, simply put in, make no difference of 0.0001 the measure is infinite in all but name: 1.
    """
    some = rows.where(kind="theorem")
    found = [
        max(zero, warm) if biased > 1e-4 else 1.0
        for zero, warm, biased in zip(some["zero"], some["warm"], some["biased"], strict=True)
    ]
    return bootstrap(found, np.max) if found else None


def low_gap() -> Condition:
    """Return the theorem's condition."""
    words = (
        "greatest difference in float64 with upper biases of 0 or switched on, while biases simply put in differ: at most 1e-12"
    )
    return Condition(words, lambda measured: measured.value <= 1e-12)


CLAIMS = (
    Claim(
        id="trellis.theorem",
        text="An L-layer recurrent network restarted M steps back is a trellis network with M + L - 1 levels.",
        source=f"{_BAI}, theorem 1; the condition on biases is ours",
        printed="equal",
        measure=exact,
        condition=low_gap(),
    ),
    Claim(
        id="trellis.over-lstm",
        text="On permuted digits it is more accurate than an LSTM of as many parameters.",
        source=f"{_BAI}, table of sequential images",
        printed="98.13 (as lists of results have it) against 92 to 95 on permuted MNIST (the LSTM's not checked in a text)",
        measure=gain("digits", "accuracy", "lstm"),
        condition=low_above(0.0, of="accuracy less the LSTM's, permuted digits, mean over seeds,"),
        tried="After these 12 epochs the LSTM has 0.63 (0.60 to 0.68 by seed), far below the printed 92 to 95 %, which are of "
        "MNIST. No longer training on digits was run: with more of it the LSTM may come nearer.",
    ).also_stopped(Least),
    Claim(
        id="trellis.code",
        text="On code it predicts better than an LSTM of as many parameters.",
        source=f"{_BAI}, tables of language models",
        measure=gain("code", "nll", "lstm", -1),
        condition=above(0.0, of="the LSTM's negative log-likelihood a token less its own, mean over seeds,"),
        tried="One setting for all models, not searched, and 300 steps: fifteen levels, with weights in common or "
        "of each level's own, have learnt less by then than one LSTM. On seed 1000, after these rows, 1,500 steps at this rate "
        "and at .002: both learn on, and the LSTM stays ahead, by half as much as after 300.",
    ).also_stopped(Least),
)

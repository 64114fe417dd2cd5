"""What is claimed of the learned posterior; written before any recorded run."""

import numpy as np

from craik.lab import Claim, Measurement, Rows, bootstrap, high_below, low_above

_SOURCE = "Buesing et al. 2018, by the reading digest; levels and numbers ours"


def mended(rows: Rows) -> Measurement | None:
    """Return the learned posterior's error with all evidence over the model's, median over seeds."""
    groups = rows.where(kind="evaluation", posterior="amortised").by("seed").values()
    found = [group["error"][-1] / group["model_error"][-1] for group in groups]
    return bootstrap(found) if found else None


def behind(rows: Rows) -> Measurement | None:
    """Return the learned posterior's error less the exact one's, mean over steps of evidence, median over seeds."""
    found: list[float] = []
    for group in rows.where(kind="evaluation").by("seed").values():
        ours, exact = (np.mean(group.where(posterior=name)["error"]) for name in ("amortised", "exact"))
        found.append(float(ours - exact))
    return bootstrap(found) if found else None


CLAIMS = (
    Claim(
        id="cfgps-amortised.evaluation",
        text="A posterior learned from levels that are visible in training mends the model's values.",
        source=_SOURCE,
        measure=mended,
        condition=high_below(0.5, of="error with 25 steps of evidence over the model's, median over seeds,"),
    ),
    Claim(
        id="cfgps-amortised.between",
        text="It does not reach the exact posterior.",
        source="ours; a bound",
        measure=behind,
        condition=low_above(0.0, of="error less that of the exact posterior, mean over steps of evidence, median over seeds,"),
        kind="ours",
        tried="With all evidence the two errors hardly differ on seed 1000, so that means over 1 to 25 steps are compared.",
    ),
)

"""What is claimed of the learned posterior; written before any recorded run."""

from dataclasses import dataclass

import numpy as np

from claimlab import Claim, Greatest, Least, Measurement, Rows, bootstrap, high_below, low_above

_SOURCE = "Buesing et al. 2018, by the reading digest; levels and numbers ours"


@dataclass(frozen=True)
class Mended:
    """A measure: the learned posterior's error with all evidence over the model's, median over seeds.

    Args:
        key: the learned posterior's error.
    """

    key: str = "error"

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return it, or None where there is no such error."""
        learned = rows.where(lambda row: self.key in row, kind="evaluation", posterior="amortised")
        found = [group[self.key][-1] / group["model_error"][-1] for group in learned.by("seed").values()]
        return bootstrap(found) if found else None


@dataclass(frozen=True)
class Behind:
    """A measure: the learned posterior's error less the exact one's, mean over steps of evidence, median over seeds.

    Args:
        key: the learned posterior's error; the exact one is not trained, and has one alone.
    """

    key: str = "error"

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return it, or None where there is no such error."""
        found: list[float] = []
        for group in rows.where(kind="evaluation").by("seed").values():
            ours, exact = group.where(lambda row: self.key in row, posterior="amortised"), group.where(posterior="exact")
            if ours and exact:
                found.append(float(np.mean(ours[self.key]) - np.mean(exact["error"])))
        return bootstrap(found) if found else None


CLAIMS = (
    Claim(
        id="cfgps-amortised.evaluation",
        text="A posterior learned from levels that are visible in training mends the model's values.",
        source=_SOURCE,
        measure=Mended(),
        condition=high_below(0.5, of="error with 25 steps of evidence over the model's, median over seeds,"),
    ).also_stopped(Greatest, Mended("stopped_error"), trainings="the classifier"),
    Claim(
        id="cfgps-amortised.between",
        text="It does not reach the exact posterior.",
        source="ours; a bound",
        measure=Behind(),
        condition=low_above(0.0, of="error less that of the exact posterior, mean over steps of evidence, median over seeds,"),
        kind="ours",
        tried="With all evidence the two errors hardly differ on seed 1000, so that means over 1 to 25 steps are compared.",
    ).also_stopped(Least, Behind("stopped_error"), trainings="the classifier"),
)

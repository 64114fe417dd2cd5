"""What is claimed of the learned posterior; written before any recorded run."""

from dataclasses import dataclass

from claimlab import Claim, Greatest, Measurement, Rows, bootstrap, high_below

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


CLAIMS = (
    Claim(
        id="cfgps-amortised.evaluation",
        text="A posterior learned from levels that are visible in training mends the model's values.",
        source=_SOURCE,
        measure=Mended(),
        condition=high_below(0.5, of="error with 25 steps of evidence over the model's, median over seeds,"),
    ).also_stopped(Greatest, Mended("stopped_error"), trainings="the classifier"),
)

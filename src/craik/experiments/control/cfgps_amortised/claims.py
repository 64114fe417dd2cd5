"""What is claimed of the learned posterior; written before any recorded run."""

from collections.abc import Callable

from craik.lab import Claim, Measurement, Rows, bootstrap, high_below, low_at_least

_SOURCE = "Buesing et al. 2018, by the reading digest; levels and numbers ours"


def last(posterior: str, over: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: a posterior's error with all evidence over another's, or over the model's, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.where(kind="evaluation", posterior=posterior).by("seed").values():
            found.append(group["error"][-1] / group["model_error"][-1] if over == "model" else 0.0)
        if over != "model":
            some = rows.where(kind="evaluation")
            ours, theirs = (
                [group["error"][-1] for group in some.where(posterior=name).by("seed").values()] for name in (posterior, over)
            )
            found = [a - b for a, b in zip(ours, theirs, strict=True)]
        return bootstrap(found) if found else None

    return measure


CLAIMS = (
    Claim(
        id="cfgps-amortised.evaluation",
        text="A posterior learned from levels that are visible in training mends the model's values.",
        source=_SOURCE,
        measure=last("amortised", "model"),
        condition=high_below(0.5, of="error with 25 steps of evidence over the model's, median over seeds,"),
    ),
    Claim(
        id="cfgps-amortised.between",
        text="It does not reach the exact posterior.",
        source="ours; a bound",
        measure=last("amortised", "exact"),
        condition=low_at_least(0.0, of="error less that of the exact posterior, 25 steps of evidence, median over seeds,"),
        kind="hypothesis",
        tried="On seed 1000 the two errors differ by 0.0002: what the values depend on, the goal's place, is learned.",
    ),
)

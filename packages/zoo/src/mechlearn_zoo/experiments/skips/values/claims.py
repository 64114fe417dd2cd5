"""What is claimed of values from roll-outs, and how it is measured: within a seed, whose methods share boards and starts."""

from claimlab import Claim, Least, Measurement, Rows, bootstrap, high_below, low_above, number


def errors(rows: Rows, method: str) -> dict[float, float]:
    """Return a method's error for each seed: the mean squared error over the variance of the true values."""
    return {number(row, "seed"): number(row, "error") for row in rows.where(method=method)}


def _error(rows: Rows) -> Measurement | None:
    found = list(errors(rows, "asi").values())
    return bootstrap(found) if found else None


def _less(rows: Rows, theirs: str) -> Measurement | None:
    ours, others = errors(rows, "asi"), errors(rows, theirs)
    found = [others[seed] - ours[seed] for seed in sorted(ours.keys() & others.keys())]
    return bootstrap(found) if found else None


def _less_than_regression(rows: Rows) -> Measurement | None:
    return _less(rows, "regression")


_SOURCE = "thesis section 2.1.1 and equation 2.3"
_TRIED = (
    "Board, codes and schedules are those of skips-corrupted; nothing was searched; after one trial episodes were made to end "
    "where roll-outs do. See the experiment's README."
)

CLAIMS = (
    Claim(
        id="skips-values.generalises",
        text="The classification task generalises to value prediction: roll-outs by ASI value a ball's start.",
        source=_SOURCE,
        measure=_error,
        condition=high_below(0.5, of="squared error over that of the mean value, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        kind="hypothesis",
        id="skips-values.over-regression",
        text="They value it better than a network that is regressed towards returns and ignores the frames in between.",
        source="thesis section 2.4 (Predictron)",
        measure=_less_than_regression,
        condition=low_above(0, of="error of the regression less that of ASI, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least),
)

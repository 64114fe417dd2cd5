"""How the two networks on the spirals are measured."""

from claimlab import Measurement, OverSeeds, Rows, number

FITTED = 0.97
"""Training accuracy from which a run has fitted, as in the texts' stopping rule."""


def final(key: str, method: str) -> OverSeeds:
    """Return the measure of a method's number at the end of training, median over seeds."""
    return OverSeeds(key, {"kind": "final", "method": method})


def unstopped(rows: Rows) -> Measurement | None:
    """Return averaging's test accuracy where training went to its end.

    The texts' rule stops a run once training accuracy is above 97 % with test accuracy below 60 %: of a run that it stopped,
    accuracy at chance is no finding.
    """
    ends = rows.where(kind="final", method="mean").where(lambda row: not row.get("stopped"))
    return OverSeeds("test_accuracy")(ends)


def stopped_early(rows: Rows) -> float | None:
    """Return averaging's highest accuracy on held-out environments while training, of one run that went to its end."""
    averaging = rows.where(method="mean")
    if any(row.get("stopped") for row in averaging.where(kind="final")):
        return None
    return max(averaging.where(kind="curve")["validation_accuracy"], default=None)


def slower(rows: Rows) -> float | None:
    """Return the AND-mask's steps to `FITTED` over averaging's on one seed, by the first check that shows it.

    None where one of the two never gets there: then nothing is known of its steps but that they are more than were taken.
    """
    first, last = (_first_fitted(rows.where(kind="curve", method=method)) for method in ("mean", "and-mask"))
    return last / first if last is not None and first is not None else None


def _first_fitted(curve: Rows) -> float | None:
    steps = [number(row, "step") for row in curve if number(row, "train_accuracy") >= FITTED]
    return min(steps, default=None)

"""What is measured of a student that a teacher told the odds."""

from claimlab import OverSeeds, Rows, number

FRESH, WARM = "LDT, fresh moments", "LDT, student moments"
"""Readings of the inner optimiser: its moments start at zero at every meta-step, or with the student's own (released code)."""

calibration = OverSeeds("calibration_error", {"kind": "final", "label": WARM})
"""LDT's expected calibration error at the end of training, with the student's own moments; the median over seeds."""


def above_bayes(label: str) -> OverSeeds:
    """Return a measure: by how many nats a student's test loss at the end exceeds the Bayes loss; the median over seeds."""
    return OverSeeds("last", {"kind": "final", "label": label}, less="bayes")


def below_entropy(rows: Rows) -> float | None:
    """Return one seed's selected test loss of LDT minus the least without a teacher, of all beta, at their own times."""
    ours, plain = rows.where(kind="final", label=WARM), rows.where(kind="final", method="no-teacher")
    return number(ours[0], "selected") - min(plain["selected"]) if ours and plain else None


def overfitting(rows: Rows) -> float | None:
    """Return by how many nats one seed's untaught student ends above its least test loss, the least over all beta."""
    plain = rows.where(kind="final", method="no-teacher")
    return min((number(row, "last") - number(row, "as_printed") for row in plain), default=None)


def least_calibration_error(rows: Rows) -> float | None:
    """Return one seed's expected calibration error without a teacher at the end of training, the least over all beta."""
    return min(rows.where(kind="final", method="no-teacher")["calibration_error"], default=None)


def fitted(rows: Rows) -> float | None:
    """Return one seed's training loss in nats at the end, of the student without a teacher or an entropy bonus."""
    curve = rows.where(kind="curve", method="no-teacher", beta=0.0)
    return number(curve[-1], "training") if curve else None

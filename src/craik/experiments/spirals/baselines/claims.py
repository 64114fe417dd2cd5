"""What is claimed of each method's selected trial."""

from dataclasses import dataclass

from craik.experiments.spirals.having import Having
from craik.lab import Claim, Condition, Greatest, Measurement, Row, Rows, at_least, at_most, number

FITS = 0.97
"""Training accuracy from which on a trial has fitted its data, as the texts' stopping rule has it."""


def fitted(rows: Rows, method: str) -> Rows:
    """Return a method's trials that fitted their training data: of others, accuracy at chance says nothing."""
    finished = rows.where(method=method, outcome="finished")
    return finished.where(lambda row: number(row, "train_accuracy") >= FITS)


def selected(rows: Rows, method: str, fits: bool = False, when: str = "") -> Row | None:
    """Return a method's trial that is best on held-out environments, of all or of those that fitted their training data.

    Args:
        rows: of all methods.
        method: its name.
        fits: whether only trials that fitted their training data count.
        when: "stopped_" for the best where each is stopped, "" for the best at the end.
    """
    some = fitted(rows, method) if fits else rows.where(method=method, outcome="finished")
    return max(some, key=lambda row: number(row, f"{when}validation_accuracy"), default=None)


@dataclass(frozen=True)
class Selected:
    """The test accuracy of a method's selected trial; its interval spans all trials that it was selected from.

    However many these are, one number on one data set is left: n is 1.
    """

    method: str
    fits: bool = True
    when: str = ""
    """"stopped_" for accuracies where validation stops a trial, "" for those of its end."""

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the measurement, or None without a finished trial."""
        best = selected(rows, self.method, self.fits, self.when)
        if best is None:
            return None
        some = fitted(rows, self.method) if self.fits else rows.where(method=self.method, outcome="finished")
        key = f"{self.when}test_accuracy"
        return Measurement(number(best, key), min(some[key]), max(some[key]), 1)


def greater(method: str) -> Greatest:
    """Return the measure of a method's selected trial, the greater of that at the ends and that where trials are stopped.

    Whether a trial has fitted its training data is asked of its end in both.
    """
    return Greatest((Selected(method), Having("stopped_test_accuracy", Selected(method, when="stopped_"))))


_NAMES = {"dropout": "dropout", "l1": "L1", "l2": "L2", "batch-norm": "BatchNorm", "dann": "DANN"}
_ALL = "test accuracy of the trial selected on held-out environments (interval: all trials)"
_OF = "test accuracy of the trial selected on held-out environments, of those that fit (interval: all of these)"
_GREATER = f"{_OF}, the greater of that at the ends and that where validation stops each,"
_WHY = "A trial that does not fit its training data cannot rely on anything, and passed."
_STOPPING = "Early stopping is a baseline of every comparison."


def _at_most(bound: float, method: str) -> Condition:
    fits = at_most(bound, of=_OF).instead_of(at_most(bound, of=_ALL), _WHY, Selected(method, fits=False))
    return at_most(bound, of=_GREATER).instead_of(fits, _STOPPING, Selected(method))


CLAIMS = (
    *(
        Claim(
            id=f"spirals-baselines.{method}",
            text=f"Nothing in the printed ranges makes {name} significantly better than chance on o.o.d. test data.",
            source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
            printed="about 0.50",
            measure=greater(method),
            condition=_at_most(0.6, method),
        )
        for method, name in _NAMES.items()
    ),
    Claim(
        id="spirals-baselines.irm",
        text="IRM does not reach perfect test accuracy: the AND-mask was the only method that did.",
        source="thesis section 3.3.1 and figure 3.6; paper section 3.1 and figure 6",
        printed="below 1.00",
        measure=greater("irm"),
        condition=_at_most(0.95, "irm"),
    ),
    Claim(
        id="spirals-baselines.and-mask",
        text="With settings from the same ranges, and as many trials, the AND-mask does find the spirals.",
        source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
        printed="about 1.00",
        measure=Selected("and-mask"),
        condition=at_least(0.9, of=_OF).instead_of(at_least(0.9, of=_ALL), _WHY, Selected("and-mask", fits=False)),
    ),
)

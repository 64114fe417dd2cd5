"""What is claimed of each method's selected trial."""

from dataclasses import dataclass

from craik.lab import Claim, Greatest, Measurement, Row, Rows, at_least, at_most, number

FITS = 0.97
"""Training accuracy from which on a trial has fitted its data, as the texts' stopping rule has it."""


def fitted(rows: Rows, method: str) -> Rows:
    """Return a method's trials that fitted their training data: of others, accuracy at chance says nothing."""
    finished = rows.where(method=method, outcome="finished")
    return finished.where(lambda row: number(row, "train_accuracy") >= FITS)


def selected(rows: Rows, method: str, fits: bool = False) -> Row | None:
    """Return a method's trial that is best on held-out environments, of all or of those that fitted their training data."""
    some = fitted(rows, method) if fits else rows.where(method=method, outcome="finished")
    return max(some, key=lambda row: number(row, "validation_accuracy"), default=None)


@dataclass(frozen=True)
class Selected:
    """The test accuracy of a method's selected trial; its interval spans all trials that it was selected from.

    However many these are, one number on one data set is left: n is 1.
    """

    method: str
    fits: bool = True

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the measurement, or None without a finished trial."""
        best = selected(rows, self.method, self.fits)
        if best is None:
            return None
        some = fitted(rows, self.method) if self.fits else rows.where(method=self.method, outcome="finished")
        accuracies = some["test_accuracy"]
        return Measurement(number(best, "test_accuracy"), min(accuracies), max(accuracies), 1)


_NAMES = {"dropout": "dropout", "l1": "L1", "l2": "L2", "batch-norm": "BatchNorm", "dann": "DANN"}
_ALL = "test accuracy of the trial selected on held-out environments (interval: all trials)"
_OF = "test accuracy of the trial selected on held-out environments, of those that fit (interval: all of these)"
_WHY = "A trial that does not fit its training data cannot rely on anything, and passed."

CLAIMS = (
    *(
        Claim(
            id=f"spirals-baselines.{method}",
            text=f"Nothing in the printed ranges makes {name} significantly better than chance on o.o.d. test data.",
            source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
            printed="about 0.50",
            measure=Selected(method),
            condition=at_most(0.6, of=_OF).instead_of(at_most(0.6, of=_ALL), _WHY, Selected(method, fits=False)),
        ).also_stopped(Greatest, trainings="each")
        for method, name in _NAMES.items()
    ),
    Claim(
        id="spirals-baselines.irm",
        text="IRM does not reach perfect test accuracy: the AND-mask was the only method that did.",
        source="thesis section 3.3.1 and figure 3.6; paper section 3.1 and figure 6",
        printed="below 1.00",
        measure=Selected("irm"),
        condition=at_most(0.95, of=_OF).instead_of(at_most(0.95, of=_ALL), _WHY, Selected("irm", fits=False)),
    ).also_stopped(Greatest, trainings="each"),
    Claim(
        id="spirals-baselines.and-mask",
        text="With settings from the same ranges, and as many trials, the AND-mask does find the spirals.",
        source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
        printed="about 1.00",
        measure=Selected("and-mask"),
        condition=at_least(0.9, of=_OF).instead_of(at_least(0.9, of=_ALL), _WHY, Selected("and-mask", fits=False)),
    ),
)

"""What is claimed of each method's selected trial."""

from dataclasses import dataclass

from craik.lab import Claim, Measurement, Row, Rows, at_least, at_most, number


def selected(rows: Rows, method: str) -> Row | None:
    """Return a method's trial that is best on held-out environments."""
    some = rows.where(method=method, outcome="finished")
    return max(some, key=lambda row: number(row, "validation_accuracy"), default=None)


@dataclass(frozen=True)
class Selected:
    """The test accuracy of a method's selected trial; its interval spans all finished trials."""

    method: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the measurement, or None without a finished trial."""
        best = selected(rows, self.method)
        if best is None:
            return None
        found = rows.where(method=self.method, outcome="finished")["test_accuracy"]
        return Measurement(number(best, "test_accuracy"), min(found), max(found), len(found))


_NAMES = {"dropout": "dropout", "l1": "L1", "l2": "L2", "batch-norm": "BatchNorm", "dann": "DANN"}
_OF = "test accuracy of the trial selected on held-out environments (interval: all trials)"

CLAIMS = (
    *(
        Claim(
            id=f"spirals-baselines.{method}",
            text=f"Nothing in the printed ranges makes {name} significantly better than chance on o.o.d. test data.",
            source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
            printed="about 0.50",
            measure=Selected(method),
            condition=at_most(0.6, of=_OF),
        )
        for method, name in _NAMES.items()
    ),
    Claim(
        id="spirals-baselines.irm",
        text="IRM does not reach perfect test accuracy: the AND-mask was the only method that did.",
        source="thesis section 3.3.1 and figure 3.6; paper section 3.1 and figure 6",
        printed="below 1.00",
        measure=Selected("irm"),
        condition=at_most(0.95, of=_OF),
    ),
    Claim(
        id="spirals-baselines.and-mask",
        text="With settings from the same ranges, and as many trials, the AND-mask does find the spirals.",
        source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
        printed="about 1.00",
        measure=Selected("and-mask"),
        condition=at_least(0.9, of=_OF),
    ),
)

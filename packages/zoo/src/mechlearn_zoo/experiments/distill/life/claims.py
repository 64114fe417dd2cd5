"""What is claimed of the four teachers, and how it is measured."""

from dataclasses import dataclass

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, high_below, low_above, number
from mechlearn_zoo.experiments.distill.measured import best_of_seeds


def best_trials(rows: Rows, method: str, count: int) -> Rows:
    """Return for each seed the trial that is best on held-out boards."""
    return best_of_seeds(rows.where(method=method, examples=count), "selection", max)


@dataclass(frozen=True)
class Advantage:
    """A measure for `Claim`: a method's test accuracy minus another's, or minus the majority's, mean over numbers of boards."""

    method: str
    over: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the difference, median over seeds, or None where a method was not run."""
        if not rows.where(method=self.method) or not (self.over == "majority" or rows.where(method=self.over)):
            return None
        return bootstrap([self._of(group) for group in rows.by("seed").values()])

    def _of(self, rows: Rows) -> float:
        found: list[float] = []
        for count in sorted({int(number(row, "examples")) for row in rows}):
            mine = best_trials(rows, self.method, count)[0]
            other = mine["majority"] if self.over == "majority" else best_trials(rows, self.over, count)[0]["selected"]
            found.append(number(mine, "selected") - number({"other": other}, "other"))
        return float(np.mean(found))


@dataclass(frozen=True)
class ShareOfOracle:
    """A measure for `Claim`: a method's gain on another, or on the majority, as a share of the oracle's student's."""

    method: str
    over: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the share, median over the seeds on which the oracle gains, or None where a method was not run."""
        gain, oracle = Advantage(self.method, self.over), Advantage("oracle", self.over)
        found = [(gain(group), oracle(group)) for group in rows.by("seed").values()]
        shares = [ours.value / theirs.value for ours, theirs in found if ours and theirs and theirs.value > 0]
        return bootstrap(shares) if shares else None


LEARNT = 0.5
"""Of what the oracle's student gains on the more frequent answer; who gains as much has learnt the game."""


def chosen(rows: Rows) -> Rows:
    """Return for each seed the start that LDT itself would take, that of least validation loss."""
    known = rows.where(lambda row: row.get("validation_loss") is not None, method="meta")
    return Rows(min(group, key=lambda row: number(row, "validation_loss")) for group in known.by("seed").values())


def _starts(rows: Rows) -> Rows:
    return rows.where(lambda row: row.get("by_validation") is not None, method="meta")


def loss_tells(rows: Rows) -> Measurement | None:
    """Return the chosen start's test accuracy less the mean over its seed's starts; the median over seeds."""
    mean = {seed: float(np.mean(some["by_validation"])) for seed, some in _starts(rows).by("seed").items()}
    found = [number(row, "by_validation") - mean[row["seed"]] for row in chosen(rows)]
    return bootstrap(found) if found else None


_TRIED = (
    "The quick preset alone, chosen in unrecorded trials on seeds from 100 on. From 512 boards of 9 x 9 LDT's student did not "
    "learn, with all layers supervised, small initial weights, fresh inner moments and learning rates of the teacher up to 10. "
    "Now it has 2048 boards of 7 x 7, every third layer, the student's moments and learning rates of about 100. Which order "
    "of the frames it finds still hangs on seed and trial, and its accuracy on that: of six recorded seeds four learn the "
    "game, as the oracle's do on all; the first three, one of which does, were known before. Adam for the teacher was "
    "no steadier. The changes were not tried one by one."
)

_CHOICES = "Rates of the new optimisers were looked for on seed 1000, see the experiment's README."

_STARTS = (
    "Written before the run (`run distill-life --preset starts`). The teacher's learning rate was chosen by its softmax "
    "on seeds 1000 and 1001, see the README. Of 30 starts of LDT six learn the game, on four seeds of ten; of 30 fixed random "
    "teachers two do. None of the 30 learnt teachers has the order at every layer, so that what that would do cannot be asked."
)

_FIGURE = "thesis figure 4.6; paper figure 4"

CLAIMS = (
    Claim(
        id="distill-life.no-teacher",
        text="Without a teacher nothing is learnt from training sets of these sizes.",
        source=_FIGURE,
        measure=ShareOfOracle("none", "majority"),
        condition=high_below(
            0.1, of="gain on the more frequent answer, as a share of what the oracle's student gains,"
        ).instead_of(
            high_below(0.05, of="test accuracy minus the share of the more frequent answer"),
            "Students that never train passed; now one that the oracle teaches must learn on the same budget.",
            Advantage("none", "majority"),
        ),
    ),
    Claim(
        id="distill-life.meta-above-random",
        text="LDT improves test accuracy over the fixed random teacher.",
        source=_FIGURE,
        measure=Advantage("meta", "random"),
        condition=low_above(0, of="difference of test accuracies"),
        tried=_TRIED,
    ),
    Claim(
        id="distill-life.meta-above-none",
        text="LDT helps the student learn with less data than without a teacher.",
        source="thesis section 4.4.2; paper section 4.2",
        measure=ShareOfOracle("meta", "none"),
        condition=low_above(
            LEARNT, of="gain on no teacher on as many boards, as a share of what the oracle's student gains, median over seeds,"
        ).instead_of(
            low_above(0, of="difference of test accuracies on as many boards"),
            "A fixed random teacher passed, too: without a teacher students say the more frequent answer, which it is 0.036 "
            "[0.025, 0.064] above.",
            Advantage("meta", "none"),
        ),
        tried=f"{_TRIED} Asked of one number of boards, 2048.",
    ),
    Claim(
        id="distill-life.oracle-above-none",
        kind="control",
        text="The trajectory holds what is missing: a fixed oracle teacher beats no teacher.",
        source="thesis appendix C.3",
        measure=Advantage("oracle", "none"),
        condition=low_above(0, of="difference of test accuracies"),
    ),
    *(
        Claim(
            id=f"distill-life.{name}",
            text=text,
            source="thesis section 4.4.2",
            measure=Advantage(*methods),
            condition=low_above(0, of="difference of test accuracies").at("choices"),
            tried=_CHOICES,
        )
        for name, text, methods in (
            (
                "three-layers",
                "Three layers a generation facilitate training compared to two, where an oracle teaches.",
                ("oracle", "oracle-two"),
            ),
            (
                "sgd-outside",
                "SGD with momentum for the teacher performs better than Adam.",
                ("meta", "meta-adam"),
            ),
            (
                "adam-inside",
                "Adam for the inner steps performs better than SGD with momentum.",
                ("meta", "meta-inner-sgd"),
            ),
        )
    ),
    Claim(
        id="distill-life.loss-tells",
        kind="ours",
        text="The validation loss tells which start has learnt.",
        source="ours: a lottery of optimisation, or a failure of the method?",
        measure=loss_tells,
        condition=low_above(0, of="test accuracy of the start of least validation loss less the mean of its seed's starts,").at(
            "starts"
        ),
        tried=_STARTS,
    ),
)

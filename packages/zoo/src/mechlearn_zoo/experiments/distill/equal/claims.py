"""What is claimed of a meta-learned teacher at equal computation."""

import math
from dataclasses import dataclass, replace

import numpy as np

from claimlab import Claim, Condition, Measurement, Rows, bootstrap, high_below, number
from mechlearn_zoo.experiments.distill.measured import best_of_seeds, ratio

TASKS = {"xor": "task A", "noisy-labels": "task B", "body": "Swimmer"}
AGAINST = {
    "no-teacher": "no teacher, stopped early",
    "auxiliary": "plain future prediction (an auxiliary head)",
    "generalised": "generalised distillation",
}
NOTHING = {"noisy-labels": math.log(4)}
"""What a constant scores, equal shares of four labels; whoever is above it has learnt nothing that holds elsewhere."""
RIVALS = ("gated", "hindsight", "contrast")
LABELS = {
    "no-teacher": "no teacher",
    "auxiliary": "auxiliary head",
    "gated": "... gated",
    "hindsight": "hindsight modelling",
    "contrast": "contrast (CPC)",
    "generalised": "generalised distillation",
    "ldt": "LDT",
}


@dataclass(frozen=True)
class Ratio:
    """A measure for `Claim`: LDT's selected test error over another method's, the median over seeds.

    Attributes:
        task: which.
        over: the other methods; of several, the one that is best on held-out examples.
        learnt: whether others count only where they are better than a constant, in the median (`NOTHING`).
    """

    task: str
    over: tuple[str, ...]
    learnt: bool = True

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where a method was not run."""
        ours = best_of_seeds(rows.where(task=self.task, method="ldt"), "selection")
        others = Rows(row for over in self.over for row in rows.where(task=self.task, method=over))
        theirs = best_of_seeds(others, "selection")
        if self.learnt and theirs and float(np.median(theirs["selected"])) >= NOTHING.get(self.task, math.inf):
            return None
        return ratio(ours, theirs, "selected")


def overspent(rows: Rows) -> Measurement | None:
    """Return by how much the dearest training exceeds the cheapest that was not cut short; the greatest over seeds."""
    found: list[float] = []
    for group in rows.by("seed").values():
        spent = [number(row, "spent") for row in group if not row["diverged"]]
        if spent:
            found.append(max(spent) / min(spent))
    return bootstrap(found, np.max) if found else None


_OF = "ratio of the test errors, median over seeds,"
_LEARNT = "ratio of the test errors to a method that is better than a constant, median over seeds,"
_BY_A_CONSTANT = (
    "A constant passed: on task B the first look comes after some 375 gradients, when no teacher (1.91 in the median) and the "
    "auxiliary head (1.69) are past their best already, and worse than equal shares of four labels, log 4 = 1.39."
)


_TRIED = "Three trials a method and 6000 gradients each. Ranges were written down before any run, and none was changed."
_BEFORE = {
    ("xor", "no-teacher"): "0.664 [0.372, 0.950]",
    ("xor", "auxiliary"): "0.565 [0.325, 0.917]",
    ("xor", "generalised"): "0.886 [0.545, 1.357], which did not hold",
    ("xor", "rivals"): "0.646 [0.374, 0.941]",
    ("noisy-labels", "generalised"): "1.000 [0.973, 1.026]",
    ("noisy-labels", "rivals"): "1.001 [0.983, 1.028]",
}
"""Ratios of the record before, whose data and first weights came of one stream."""


def _tried(task: str, over: str) -> str:
    """Return what was tried, and what came of one stream before."""
    before = f"whose data and first weights came of one stream of random numbers, on the same seeds {_BEFORE[task, over]}"
    return f"{_TRIED} Of a record before, {before}."


def _below(measure: Ratio) -> Condition:
    """Return what is asked of a ratio of errors; where a constant's score is known, of others that are better than it."""
    condition = high_below(1, of=_OF)
    if measure.task not in NOTHING:
        return condition
    return high_below(1, of=_LEARNT).instead_of(condition, _BY_A_CONSTANT, replace(measure, learnt=False))


def _claims(task: str, against: tuple[str, ...]) -> list[Claim]:
    each = [
        Claim(
            id=f"distill-equal.{task}-below-{over}",
            kind="hypothesis",
            text=f"{TASKS[task]}, at equal computation: LDT's test error is below that of {AGAINST[over]}.",
            source="thesis sections 4.2, 4.4.3",
            measure=Ratio(task, (over,)),
            condition=_below(Ratio(task, (over,))),
            tried=_tried(task, over),
        )
        for over in against
    ]
    rest = Claim(
        id=f"distill-equal.{task}-below-rivals",
        kind="hypothesis",
        text=f"{TASKS[task]}, at equal computation: LDT's test error is below that of the best of a gated auxiliary loss, "
        "hindsight modelling and contrastive prediction.",
        source='thesis section 4.4.3 ("strong baselines that we have not considered"), 4.2',
        measure=Ratio(task, RIVALS),
        condition=_below(Ratio(task, RIVALS)),
        tried=_tried(task, "rivals"),
    )
    return [*each, rest]


CLAIMS = (
    Claim(
        id="distill-equal.equal",
        kind="control",
        text="The budgets are equal: no training costs over a tenth more than another, by operations.",
        source="ours: a comparison needs this",
        measure=overspent,
        condition=high_below(1.1, of="dearest training over cheapest, greatest over seeds,"),
    ),
    *_claims("xor", tuple(AGAINST)),
    *_claims("noisy-labels", ("generalised",)),
)

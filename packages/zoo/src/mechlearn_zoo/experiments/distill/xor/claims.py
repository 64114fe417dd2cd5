"""What is claimed of a teacher's advantage over the grid, and how it is measured."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from claimlab import Claim, Condition, Measurement, Rows, above, at_most, bootstrap, low_above, number


@dataclass(frozen=True)
class Advantage:
    """A measure for `Claim`: difference of accuracies between two methods over the grid, with its interval over seeds.

    Attributes:
        key: "as_printed" or "selected".
        over: the method that is exceeded.
        method: the one that exceeds it.
        least: the least difference of a cell whose seeds are averaged; else the mean over cells.
    """

    key: Literal["as_printed", "selected"]
    over: str
    method: str
    least: bool = False

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the difference, or None where a method was not run."""
        if not rows.where(method=self.over) or not rows.where(method=self.method):
            return None
        table = [self._cells(group) for group in rows.by("seed").values()]
        if not self.least:
            return bootstrap([float(np.mean(cells)) for cells in table], np.mean)
        means = np.mean(table, axis=0)
        return bootstrap(np.array(table)[:, int(means.argmin())], np.mean)

    def _cells(self, rows: Rows) -> list[float]:
        cells = sorted({(int(number(row, "inputs")), int(number(row, "examples"))) for row in rows})
        return [
            rows.where(method=self.method, inputs=d, examples=n)[self.key][0]
            - rows.where(method=self.over, inputs=d, examples=n)[self.key][0]
            for d, n in cells
        ]


_FIGURE = "thesis figure 4.3b; paper figure 3b"


_STREAMS = (
    "Of a record before, whose students had the data's mixture in their first weights, as both came of one stream of random "
    "numbers, {} on the same seeds."
)


def _looking(name: str, text: str, condition: Condition, over: str, before: str) -> Claim:
    return Claim(
        id=f"distill-xor.{name}",
        kind="control" if "placebo" in name else "ours",
        text=text,
        source="ours; thesis section 4.3.1 allows it: 'T could vary from one example to the next'",
        measure=Advantage("selected", over, "ldt-ragged"),
        condition=condition.at("ragged"),
        tried="Looks, their noise and the conditions were written down before any run. " + _STREAMS.format(before),
    )


CLAIMS = (
    Claim(
        id="distill-xor.ldt-above-no-teacher",
        text="Privileged data and a teacher make task A substantially more sample-efficient, over the whole grid.",
        source=_FIGURE,
        measure=Advantage("selected", "no-teacher", "ldt-fixed"),
        condition=low_above(
            0.05, of="test accuracy (selected on held-out examples, split fixed) minus no teacher's, in the mean over cells,"
        ),
        tried=_STREAMS.format("0.132 [0.125, 0.142]"),
    ),
    Claim(
        id="distill-xor.ldt-above-no-teacher-as-printed",
        text="The same by the papers' measure, the maximum test accuracy while training.",
        source=_FIGURE,
        measure=Advantage("as_printed", "no-teacher", "ldt-fixed"),
        condition=low_above(0.05, of="the same difference of maxima while training"),
        tried=_STREAMS.format("0.134 [0.126, 0.145]"),
    ),
    Claim(
        id="distill-xor.everywhere",
        text="No cell of the grid is an exception.",
        source=_FIGURE,
        measure=Advantage("selected", "no-teacher", "ldt-fixed", least=True),
        condition=low_above(0, of="the least advantage of a cell, averaged over seeds,").instead_of(
            above(0, of="the least advantage of a cell, averaged over seeds,"), "It held at .0035 with an interval over 0."
        ),
        tried="The quick preset's grid alone, with three seeds first and six now; the preset paper has not been run. "
        + _STREAMS.format("-0.002 [-0.010, 0.010]"),
    ),
    Claim(
        id="distill-xor.redrawn-split",
        kind="ours",
        text="On task A, too, a split that is redrawn at every meta-step, as in the released code, does not help.",
        source="ours; thesis section 4.4.4 says it of Walker2d (ablation AR), see distill-ablations.redrawn",
        measure=Advantage("selected", "no-teacher", "ldt-redrawn"),
        condition=at_most(0, of="mean advantage over no teacher"),
        tried="On task A the sentence is wrong: a redrawn split beats the fixed one, as every example teaches the student. "
        + _STREAMS.format("0.183 [0.172, 0.193]"),
    ),
    Claim(
        id="distill-xor.strategies",
        kind="control",
        text="Where meta-gradients are compared LDT is above no teacher.",
        source="ours; a control",
        measure=Advantage("selected", "no-teacher", "ldt-fixed"),
        condition=low_above(0.05, of="test accuracy minus no teacher's, mean over seeds,").at("strategies"),
        tried=_STREAMS.format("0.268 [0.235, 0.296]"),
    ),
    *(
        Claim(
            id=f"distill-xor.{name}",
            kind="ours",
            text=f"A meta-gradient {words} teaches as well as one through the whole unroll.",
            source=source,
            measure=Advantage("selected", "ldt-fixed", f"ldt-{name}"),
            condition=low_above(-0.03, of="test accuracy minus that of the whole unroll, mean over seeds,").at("strategies"),
            tried="Terms and steps were written down before any run, and recorded as they were; nothing was searched. "
            + _STREAMS.format(before),
        )
        for name, words, source, before in (
            ("truncated", "through the last 8 of 32 inner steps", "ours, after Shaban et al., 2019", "-0.059 [-0.080, -0.038]"),
            ("implicit", "by the implicit function theorem", "ours, after Lorraine et al., 2020", "-0.267 [-0.334, -0.198]"),
        )
    ),
    _looking(
        "ragged",
        "x* may be a mapping with trajectories of different lengths: the teacher still undoes the signs.",
        low_above(0.05, of="test accuracy minus no teacher's, mean over seeds,"),
        over="no-teacher",
        before="0.122 [0.096, 0.149]",
    ),
    _looking(
        "ragged-placebo",
        "It is an example's own trajectory that teaches, not another one's.",
        low_above(0.05, of="test accuracy minus that of a teacher of other examples' x*, mean over seeds,"),
        over="ldt-placebo",
        before="0.246 [0.227, 0.265]",
    ),
)

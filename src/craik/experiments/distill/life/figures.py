"""The Game of Life's figure, test accuracy against the number of boards, and what is claimed of it."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from craik.lab import Claim, Measurement, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, panels

LABELS = {"meta": "LDT", "random": "fixed random teacher", "oracle": "fixed oracle teacher", "none": "no teacher"}
ROLES = {"meta": "ours", "random": "fourth", "oracle": "third", "none": "baseline"}


def best_trials(rows: Rows, method: str, count: int) -> Rows:
    """Return for each seed the trial that is best on held-out boards."""
    groups = rows.where(method=method, examples=count).by("seed").values()
    return [max(group, key=lambda row: number(row, "selection")) for group in groups]


def draw_accuracy(rows: Rows) -> Figure:
    """Draw test accuracy against the number of boards (figure 4.6)."""
    counts = sorted({int(number(row, "examples")) for row in rows})
    figure, (axes,) = panels(
        caption="Test accuracy against the number of training boards (figure 4.6): for each method the trial and the time that "
        "are best on held-out boards; median over seeds with the range. Dotted: always the more frequent answer.",
        height=3.2,
    )
    methods = [method for method in LABELS if rows.where(method=method)]
    for place, method in enumerate(methods):
        lines = np.array([best_trials(rows, method, count)["selected"] for count in counts]).T
        aside = np.array(counts) * 1.03 ** (place - (len(methods) - 1) / 2)  # seeds of different methods side by side
        band(axes, aside, lines, LABELS[method], COLOURS[ROLES[method]])
        axes.plot(np.broadcast_to(aside, lines.shape).T, lines.T, "o", color=COLOURS[ROLES[method]], markersize=5, alpha=0.8)
    majority = float(np.median(rows["majority"]))
    axes.axhline(majority, color=COLOURS["reference"], linestyle=":")
    axes.set(xlabel="training boards", ylabel="test accuracy", xscale="log", xticks=counts, ylim=(0.45, 1.02))
    axes.set_xlim(counts[0] / 1.2, counts[-1] * 1.2)
    axes.set_xticklabels([str(count) for count in counts])
    axes.minorticks_off()
    axes.legend()
    return figure


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


_TRIED = (
    "The quick preset alone, chosen in unrecorded trials on seeds from 100 on. From 512 boards of 9 x 9 LDT's student did not "
    "learn, with all layers supervised, small initial weights, fresh inner moments and learning rates of the teacher up to 10. "
    "Now it has 2048 boards of 7 x 7, every third layer, the student's moments and learning rates of about 100. Which order "
    "of the frames it finds still hangs on seed and trial, and its accuracy on that: of three recorded seeds one learns the "
    "game, as the oracle's do on all. Adam for the teacher was no steadier. "
    "The changes were not tried one by one."
)

_FIGURE = "thesis figure 4.6; paper figure 4"

CLAIMS = (
    Claim(
        id="distill-life.no-teacher",
        text="Without a teacher nothing is learnt from training sets of these sizes.",
        source=_FIGURE,
        printed=None,
        measure=Advantage("none", "majority"),
        holds=lambda measured: measured.high < 0.05,
        condition="less than 0.05 above the more frequent answer, with the whole interval",
    ),
    Claim(
        id="distill-life.meta-above-random",
        text="LDT improves test accuracy over the fixed random teacher.",
        source=_FIGURE,
        printed=None,
        measure=Advantage("meta", "random"),
        holds=lambda measured: measured.low > 0,
        condition="difference above 0 with the whole interval",
        tried=_TRIED,
    ),
    Claim(
        id="distill-life.meta-above-none",
        text="LDT helps the student learn with less data than without a teacher.",
        source="thesis section 4.4.2; paper section 4.2",
        printed=None,
        measure=Advantage("meta", "none"),
        holds=lambda measured: measured.low > 0,
        condition="difference above 0 with the whole interval",
        tried=_TRIED,
    ),
    Claim(
        id="distill-life.oracle-above-none",
        text="The trajectory holds what is missing: a fixed oracle teacher beats no teacher (ours: what the baseline is for).",
        source="thesis appendix C.3",
        printed=None,
        measure=Advantage("oracle", "none"),
        holds=lambda measured: measured.low > 0,
        condition="difference above 0 with the whole interval",
    ),
)

"""What is read from the rows of `distill_ablations`: figure 4.9, every seed's outcome, the claims."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.distill.ablations.variants import LABELS, OTHERS, noise_frames
from craik.lab import Claim, Measurement, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, colour, panels


def best_finals(rows: Rows, variant: str) -> Rows:
    """Return for each seed the final row of a variant's setting that is best on held-out examples."""
    groups = rows.where(kind="final", variant=variant).by("seed").values()
    return [min(group, key=lambda row: number(row, "selection")) for group in groups]


def draw_errors(rows: Rows) -> Figure:
    """Draw test error against ordinary steps, LDT and no teacher in both panels."""
    figure, (left, right) = panels(
        2,
        caption="Test error while training, median over seeds with the range. Left: LDT and its ablations (figure 4.9). Right: "
        "other uses of the same privileged data, each with its setting selected on held-out examples.",
        height=3.4,
    )
    shown = [variant for variant in _variants(rows) if variant not in ("ldt", "no-teacher")]
    for axes, title, some in (
        (left, "Ablations", [variant for variant in shown if variant not in OTHERS]),
        (right, "Other uses", [variant for variant in shown if variant in OTHERS]),
    ):
        for place, variant in enumerate(["ldt", "no-teacher", *some]):
            lines: Rows = []
            for final in best_finals(rows, variant):
                lines += rows.where(kind="curve", place=final["place"], seed=final["seed"])
            if lines:
                steps, found = lines.curves("step", "test")
                band(axes, steps, found, _label(variant), colour(place))
        axes.set(title=title, xlabel="ordinary steps of the student", yscale="log")
        axes.legend(fontsize=7)
    left.set_ylabel("mean squared error")
    return figure


def draw_outcomes(rows: Rows) -> Figure:
    """Draw every seed's test error at the selected time, one line a variant."""
    variants = _variants(rows)
    figure, (axes,) = panels(
        caption="Test error at the time that is best on held-out examples: every seed a dot, the median a bar.",
        height=0.8 + 0.32 * len(variants),
    )
    for place, variant in enumerate(reversed(variants)):
        found = best_finals(rows, variant)["selected"]
        role = {"ldt": "ours", "no-teacher": "baseline"}.get(variant, "reference")
        axes.plot(found, [place] * len(found), "o", color=COLOURS[role], markersize=5)
        axes.plot([np.median(found)] * 2, [place - 0.3, place + 0.3], color=COLOURS[role])
    axes.set(xlabel="test error", yticks=range(len(variants)))
    axes.set_yticklabels([_label(variant) for variant in reversed(variants)])
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    return figure


def _label(variant: str) -> str:
    return LABELS.get(variant, f"RT-{noise_frames(variant)}: last {noise_frames(variant)} frames noise")


def _variants(rows: Rows) -> list[str]:
    found = {str(row["variant"]) for row in rows.where(kind="final")}
    order = list(LABELS)
    return sorted(found, key=lambda variant: (order.index(variant) if variant in order else len(order), variant))


@dataclass(frozen=True)
class Ratio:
    """A measure for `Claim`: one variant's test error divided by another's, both selected; the median over seeds."""

    variant: str
    over: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where a variant was not trained."""
        ours, theirs = best_finals(rows, self.variant), best_finals(rows, self.over)
        if not ours or not theirs:
            return None
        return bootstrap([number(a, "selected") / number(b, "selected") for a, b in zip(ours, theirs, strict=True)])


_FIGURE = "thesis section 4.4.4, figure 4.9; paper section 4.4, figure 7"

CLAIMS = (
    Claim(
        id="distill-ablations.untrained",
        text="FT: with a teacher that keeps its initial weights the student essentially fails to learn.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("untrained", "no-teacher"),
        holds=lambda measured: measured.low > 1.5,
        condition="error at least 1.5 times that of no teacher, at the interval's lower end",
        tried="The quick preset only: Walker2d, a smaller teacher, 16 inner steps, 160 rounds. An untrained teacher does harm "
        "on every seed, by 1.2 to 1.4 times, and the student still learns. The paper's size was not run.",
    ),
    Claim(
        id="distill-ablations.permuted",
        text="PT: permuting each trajectory in time degrades LDT only slightly.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("permuted", "ldt"),
        holds=lambda measured: measured.value < 1.2,
        condition="error less than 1.2 times LDT's, median over seeds",
    ),
    Claim(
        id="distill-ablations.noise",
        text="RT-16: with noise instead of trajectories LDT is comparable to no teacher, or slightly worse.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("noise-16", "no-teacher"),
        holds=lambda measured: 0.95 <= measured.value <= 1.25,
        condition="error between 0.95 and 1.25 times that of no teacher, median over seeds",
        tried="The quick preset only. A teacher that reads noise does harm here, most on the seed where LDT does worst: "
        "in 160 rounds it does not learn to be silent. The paper's size was not run.",
    ),
    Claim(
        id="distill-ablations.redrawn",
        text="AR: with a split that is redrawn at every meta-step LDT is slightly worse than no teacher.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("redrawn", "no-teacher"),
        holds=lambda measured: measured.value >= 1,
        condition="error at least that of no teacher, median over seeds",
        tried="The quick preset alone. As on task A, and as in the released code, redrawing helps: every example then teaches "
        "the student. The paper's size was not run.",
    ),
    Claim(
        id="distill-ablations.generalised",
        text="LDT's error lies below that of generalised distillation from the same privileged data (ours, not the texts').",
        source="Lopez-Paz et al., 2016, is named in thesis section 4.2 and not compared with",
        printed=None,
        measure=Ratio("ldt", "generalised"),
        holds=lambda measured: measured.high < 1,
        condition="ratio below 1 with its whole interval",
    ),
    Claim(
        id="distill-ablations.random-teacher",
        text="LDT's error lies below that of a fixed random teacher whose coefficient is chosen for it (ours, not the texts').",
        source="thesis section 4.4.2 has this baseline for the Game of Life",
        printed=None,
        measure=Ratio("ldt", "random-teacher"),
        holds=lambda measured: measured.high < 1,
        condition="ratio below 1 with its whole interval",
    ),
)

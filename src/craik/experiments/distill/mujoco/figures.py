"""Table 7 and figures 4.7 and 4.8: what is read from the rows of `distill_mujoco`."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

from craik.lab import Claim, Measurement, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, panels

LABELS = {"no-teacher": "no teacher", "auxiliary": "auxiliary head", "ldt": "LDT"}
WITH = {"no-teacher": "no teacher", "auxiliary": "an auxiliary head"}
ROLES = {"no-teacher": "baseline", "auxiliary": "fourth", "ldt": "ours"}

TABLE = {
    "Swimmer": {"no-teacher": 0.0169, "auxiliary": 0.0146, "ldt": 0.00964},
    "Walker2d": {"no-teacher": 0.0238, "auxiliary": 0.0211, "ldt": 0.0164},
    "Hopper": {"no-teacher": 0.00270, "auxiliary": 0.00224, "ldt": 0.00132},
    "HalfCheetah": {"no-teacher": 0.0485, "auxiliary": 0.0477, "ldt": 0.0427},
}
"""Table C.7 (table 7 of the paper): minimum mean squared errors over eight seeds' runs, simulated with -v2."""


def best_finals(rows: Rows, environment: str, method: str, by: str) -> Rows:
    """Return for each seed the final row of the method's best setting.

    Args:
        rows: recorded rows.
        environment: which body.
        method: whose grid.
        by: the column that is least: "selection" for choosing on held-out examples, "as_printed" for choosing as the
            papers do, on test error at the best time.
    """
    groups = rows.where(kind="final", environment=environment, method=method).by("seed").values()
    return [min(group, key=lambda row: number(row, by)) for group in groups]


Measure = Literal["selected", "as_printed"]


@dataclass(frozen=True)
class Ratio:
    """A measure for `Claim`: LDT's error divided by another method's, the median over seeds.

    Attributes:
        environment: which body.
        over: the other method.
        key: "selected", setting and time chosen on held-out examples; "as_printed", both on test error.
    """

    environment: str
    over: str
    key: Measure

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where a method was not run."""
        by = "selection" if self.key == "selected" else "as_printed"
        ours, theirs = (best_finals(rows, self.environment, method, by) for method in ("ldt", self.over))
        if not ours or not theirs:
            return None
        return bootstrap([number(a, self.key) / number(b, self.key) for a, b in zip(ours, theirs, strict=True)])


@dataclass(frozen=True)
class Least:
    """A measure for `Claim`: a method's least test error over settings, times and seeds, as table 7 is printed."""

    environment: str
    method: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the least error, its interval over seeds, or None where the method was not run."""
        found = best_finals(rows, self.environment, self.method, "as_printed")
        return bootstrap([number(row, "as_printed") for row in found], np.min) if found else None


@dataclass(frozen=True)
class GapDifference:
    """A measure for `Claim`: LDT's generalisation gap minus that of no teacher, the median over seeds."""

    environment: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the difference of test minus training errors, each at the time selected on held-out examples."""
        ours, theirs = (best_finals(rows, self.environment, method, "selection") for method in ("ldt", "no-teacher"))
        if not ours or not theirs:
            return None
        return bootstrap([number(a, "gap") - number(b, "gap") for a, b in zip(ours, theirs, strict=True)])


_TRIED = (
    "The quick preset unrolls 16 steps instead of 96, with a smaller teacher, and ends after 200 rounds; on Walker2d and "
    "Hopper LDT's error is still falling then. The preset paper has not been run."
)


def _claims(environment: str) -> list[Claim]:
    table, name = TABLE[environment], environment.lower()
    claims = [
        Claim(
            id=f"distill-mujoco.{name}-below-{over}{suffix}",
            text=f"{environment}: LDT's test error lies below that of the student with {WITH[over]}"
            f"{' (chosen on test error, as printed)' if suffix else ''}.",
            source="thesis figure 4.7, table C.7; paper figure 5, table 7",
            printed=f"{table['ldt'] / table[over]:.2f} of it",
            measure=Ratio(environment, over, "as_printed" if suffix else "selected"),
            holds=lambda measured: measured.high < 1,
            condition="ratio of the errors, median over seeds, below 1 with its whole interval",
            tried=_TRIED,
        )
        for over in ("no-teacher", "auxiliary")
        for suffix in ("", "-as-printed")
    ]
    claims.append(
        Claim(
            id=f"distill-mujoco.{name}-gap",
            text=f"{environment}: LDT's generalisation gap is smaller than that of the student without a teacher.",
            source="thesis figure 4.8; paper figure 6",
            printed=None,
            measure=GapDifference(environment),
            holds=lambda measured: measured.high < 0,
            condition="difference of the gaps at the selected time, median over seeds, below 0 with its whole interval",
        )
    )
    claims += [
        Claim(
            id=f"distill-mujoco.{name}-{method}-table",
            text=f"{environment}, {LABELS[method]}: the least test error of table C.7.",
            source="thesis table C.7; paper table 7",
            printed=f"{table[method]:.3g}",
            measure=Least(environment, method),
            holds=lambda measured, printed=table[method]: printed / 1.5 <= measured.value <= 1.5 * printed,
            condition="within a factor of 1.5 of the printed number: the simulator is another version",
            tried=_TRIED,
        )
        for method in LABELS
    ]
    return claims


CLAIMS: tuple[Claim, ...] = tuple(claim for environment in TABLE for claim in _claims(environment))


def draw_errors(rows: Rows) -> Figure:
    """Draw the test error of each method's selected setting over ordinary steps (figure 4.7)."""
    figure = _per_environment(rows, "test", "mean squared error", log=True)
    figure.set_label(
        "Test error while training (figure 4.7): median over seeds with the range, for each method the setting selected on "
        "held-out examples. Dotted: the minima of table 7, in the colour of the method."
    )
    return figure


def draw_gaps(rows: Rows) -> Figure:
    """Draw test error minus training error over ordinary steps (figure 4.8)."""
    figure = _per_environment(rows, "gap", "test - training error", log=False)
    figure.set_label("Generalisation gap while training (figure 4.8): test error minus training error, median and range.")
    return figure


def _per_environment(rows: Rows, key: str, label: str, log: bool) -> Figure:
    environments = [name for name in TABLE if rows.where(kind="final", environment=name)]
    columns = 1 if len(environments) == 1 else 2
    figure, all_axes = panels(columns, -(-len(environments) // columns))
    for axes in all_axes[len(environments) :]:
        axes.set_axis_off()
    for axes, environment in zip(all_axes, environments, strict=False):
        for method in LABELS:
            _draw_method(axes, rows, environment, method, key)
            if log and rows.where(kind="final", environment=environment, method=method):
                printed = TABLE[environment][method]
                axes.axhline(printed, color=COLOURS[ROLES[method]], linestyle=":", linewidth=1.0)
        axes.set(title=environment, xlabel="ordinary steps of the student", ylabel=label)
        if log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.minorticks_off()
    all_axes[0].legend()
    return figure


def _draw_method(axes: Axes, rows: Rows, environment: str, method: str, key: str) -> None:
    lines: Rows = []
    for final in best_finals(rows, environment, method, "selection"):
        points = rows.where(kind="curve", environment=environment, method=method, place=final["place"], seed=final["seed"])
        lines += [{**row, "gap": number(row, "test") - number(row, "training")} for row in points]
    if lines:
        steps, found = lines.curves("step", key)
        band(axes, steps, found, LABELS[method], COLOURS[ROLES[method]])

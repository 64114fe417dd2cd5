"""Errors and generalisation gaps while training (figures 4.7 and 4.8)."""

from claimlab import COLOURS, Row, Rows, band, number, panels
from mechlearn_zoo.experiments.distill.bodies import looks_of
from mechlearn_zoo.experiments.distill.measured import best_of_seeds
from mechlearn_zoo.experiments.distill.mujoco.measures import finals
from mechlearn_zoo.learners.plots import Axes, Figure

TABLE = {
    "Swimmer": {"no-teacher": 0.0169, "auxiliary": 0.0146, "ldt": 0.00964},
    "Walker2d": {"no-teacher": 0.0238, "auxiliary": 0.0211, "ldt": 0.0164},
    "Hopper": {"no-teacher": 0.00270, "auxiliary": 0.00224, "ldt": 0.00132},
    "HalfCheetah": {"no-teacher": 0.0485, "auxiliary": 0.0477, "ldt": 0.0427},
}
"""Table C.7 (table 7 of the paper): minimum mean squared errors over eight seeds' runs, simulated with -v2."""

LABELS = {"no-teacher": "no teacher", "auxiliary": "auxiliary head", "ldt": "LDT"}
ROLES = {"no-teacher": "baseline", "auxiliary": "fourth", "ldt": "ours"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the errors while training (figure 4.7) and the generalisation gaps (figure 4.8)."""
    found = {"test-errors": draw_errors(rows), "generalisation-gaps": draw_gaps(rows)}
    return {**found, "depths": draw_depths(rows)} if rows.where(kind="depth") else found


def draw_depths(rows: Rows) -> Figure:
    """Draw how a model's error grows with depth, over that of the mean observation."""
    environments = [name for name in TABLE if rows.where(kind="depth", environment=name)]
    figure, all_axes = panels(
        len(environments),
        caption="Test error of the predicted observation at each depth of a roll-out, as a share of the error of the training "
        "examples' mean: median over seeds with the range, of the setting selected on held-out examples.",
    )
    for axes, environment in zip(all_axes, environments, strict=True):
        for method, role in (("stacked", "baseline"), ("ssm", "fourth"), ("pairs", "ours")):
            selected = best_of_seeds(finals(rows, environment, method), "selection")
            curves = [
                [number(row, "relative_error") for row in _depths_of(rows, environment, method, final)] for final in selected
            ]
            if curves:
                band(axes, range(1, len(curves[0]) + 1), curves, method, COLOURS[role])
        axes.axhline(1.0, color=COLOURS["reference"], linestyle=":", linewidth=1.0)
        axes.set(title=environment, xlabel="depth", ylabel="error over the mean's", yscale="log")
    all_axes[0].legend()
    return figure


def _depths_of(rows: Rows, environment: str, method: str, final: Row) -> Rows:
    chosen = rows.where(kind="depth", environment=environment, method=method, place=final["place"], seed=final["seed"])
    return Rows(sorted(chosen, key=lambda row: number(row, "depth")))


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
    from matplotlib.ticker import LogLocator, StrMethodFormatter  # noqa: PLC0415  # a worker starts without it

    environments = [name for name in TABLE if rows.where(kind="final", environment=name)]
    columns = 1 if len(environments) == 1 else 2
    figure, all_axes = panels(columns, -(-len(environments) // columns))
    for axes in all_axes[len(environments) :]:
        axes.set_axis_off()
    for axes, environment in zip(all_axes, environments, strict=False):
        for method in LABELS:
            _draw_method(axes, rows, environment, method, key)
            if log and finals(rows, environment, method):
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
    selected = best_of_seeds(finals(rows, environment, method), "selection")
    looks = looks_of(rows.where(environment=environment, method=method), selected)
    if looks:
        gaps = Rows({**row, "gap": number(row, "test") - number(row, "training")} for row in looks)
        steps, found = gaps.curves("step", key)
        band(axes, steps, found, LABELS[method], COLOURS[ROLES[method]])

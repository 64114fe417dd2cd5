"""Errors while training (figure 4.9), and every seed's outcome."""

from claimlab import Rows, band, colour, panels
from mechlearn_zoo.experiments.distill.ablations.measures import best_finals
from mechlearn_zoo.experiments.distill.ablations.variants import LABELS, OTHERS
from mechlearn_zoo.experiments.distill.bodies import looks_of, noise_frames
from mechlearn_zoo.learners.plots import Figure, lines_of_dots


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the test errors while training, ablations and other uses apart (figure 4.9), and every seed's outcome."""
    return {"test-errors": draw_errors(rows), "outcomes": draw_outcomes(rows)}


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
            looks = looks_of(rows, best_finals(rows, variant))
            if looks:
                steps, found = looks.curves("step", "test")
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
    roles = {"ldt": "ours", "no-teacher": "baseline"}
    found = {_label(one): (best_finals(rows, one)["selected"], roles.get(one, "reference")) for one in variants}
    lines_of_dots(axes, found)
    axes.set(xlabel="test error")
    return figure


def _label(variant: str) -> str:
    return LABELS.get(variant, f"RT-{noise_frames(variant)}: last {noise_frames(variant)} frames noise")


def _variants(rows: Rows) -> list[str]:
    found = {str(row["variant"]) for row in rows.where(kind="final")}
    order = list(LABELS)
    return sorted(found, key=lambda variant: (order.index(variant) if variant in order else len(order), variant))

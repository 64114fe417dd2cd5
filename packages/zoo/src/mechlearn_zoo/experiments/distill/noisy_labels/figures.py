"""Test losses while training (figure 4.4b) and calibration of every student of task B."""

from collections.abc import Sequence

import numpy as np

from claimlab import COLOURS, Rows, band, colour, number, panels
from mechlearn_zoo.experiments.distill.noisy_labels.calibration import CONFIDENCES
from mechlearn_zoo.learners.plots import Axes, Figure

LEAST_SHARE = 0.002
"""Bins that hold less of the test set are not drawn: their frequency is chance."""


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the test losses while training (figure 4.4b) and the calibration curves at the end."""
    return {"test-losses": draw_losses(rows), "calibration": draw_calibration(rows)}


def _labels(rows: Rows) -> list[str]:
    finals = rows.where(kind="final")
    order = sorted(finals, key=lambda row: (row["method"] != "no-teacher", number(row, "beta"), str(row["label"])))
    return list(dict.fromkeys(str(row["label"]) for row in order))


def _colours(labels: Sequence[str]) -> dict[str, str]:
    """LDT's colours are the house's; entropy coefficients run from light to dark red."""
    plain, taught = _without_teacher(labels)
    shades = ("#eab0b7", "#e08794", "#d1495b", "#a83445", "#7d2431", "#561822", "#3a1017", "#20080c")
    found = {label: shades[place * len(shades) // len(plain)] for place, label in enumerate(plain)}
    return found | {label: colour(2 * place) for place, label in enumerate(taught)}


def _without_teacher(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell the students without a teacher from the others."""
    return [label for label in labels if not label.startswith("LDT")], [label for label in labels if label.startswith("LDT")]


def draw_losses(rows: Rows) -> Figure:
    """Draw test loss against ordinary steps for every student, with the Bayes loss."""
    figure, (axes,) = panels(
        caption="Test loss while training (figure 4.4b): median over seeds, with the range. Red: no teacher, from light to "
        "dark with the entropy coefficient beta; what overfits leaves the picture. Dotted: the Bayes loss, the least possible.",
        height=3.6,
    )
    labels = _labels(rows)
    for label in labels:
        steps, lines = rows.where(kind="curve", label=label).curves("step", "test")
        band(axes, steps, lines, label, _colours(labels)[label])
    bayes = float(np.median(rows.where(kind="final")["bayes"]))
    axes.axhline(bayes, color=COLOURS["reference"], linestyle=":", label="Bayes")
    axes.set(xlabel="ordinary steps of the student", ylabel="test loss (nats)", ylim=(bayes - 0.03, bayes + 0.6))
    axes.legend(ncols=2, loc="upper right")
    return figure


def draw_calibration(rows: Rows) -> Figure:
    """Draw for every student how often a class was drawn against the probability given to it."""
    labels = _labels(rows)
    plain, taught = _without_teacher(labels)
    figure, (left, right) = panels(
        2,
        caption="Calibration at the end of training: how often a class was drawn, against the probability that the student "
        "gave to it (all classes and seeds pooled in ten bins; bins with less than 0.2 % are left out). On the diagonal is who "
        "is right to be as sure as it is.",
        height=3.6,
    )
    for axes, title, some in ((left, "No teacher", plain), (right, "LDT", taught)):
        axes.plot([0, 1], [0, 1], ":", color=COLOURS["reference"])
        for label in some:
            _draw_curve(axes, rows.where(kind="calibration", label=label), label, _colours(labels)[label])
        axes.set(title=title, xlabel="probability given", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.legend(loc="upper left")
    left.set_ylabel("frequency")
    return figure


def _draw_curve(axes: Axes, rows: Rows, label: str, shade: str) -> None:
    """Draw one student's calibration, the seeds of the rows pooled."""
    places = (np.array(rows["confidence"]) * CONFIDENCES).astype(int).clip(max=CONFIDENCES - 1)
    share, given, frequency = (np.array(rows[key]) for key in ("share", "confidence", "frequency"))
    seeds = len(rows.by("seed"))
    found = [place for place in sorted(set(places.tolist())) if share[places == place].sum() / seeds >= LEAST_SHARE]
    x = [np.average(given[places == place], weights=share[places == place]) for place in found]
    y = [np.average(frequency[places == place], weights=share[places == place]) for place in found]
    axes.plot(x, y, "o-", color=shade, label=label, markersize=4)

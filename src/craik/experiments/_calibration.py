"""How often a class was drawn, against the probability that a student gave to it."""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import nn

from craik.harness.claims import Row
from craik.harness.columns import by_seed, numbers
from craik.tasks.noisy_labels import CLASSES, NoisyLabelsData

CONFIDENCES = 10
"""Bins of confidence in the calibration curves."""

LEAST_SHARE = 0.002
"""Bins that hold less of the test set are not drawn: their frequency is chance."""


def calibration(student: nn.Module, found: NoisyLabelsData) -> list[dict[str, float]]:
    """Return for each bin of confidence (of any class, all classes pooled) how often that class was drawn.

    Each test example counts four times, once for the probability that the student gives to each class. Empty bins are left
    out; "truth" is the mean of the probabilities that the labels were drawn from.
    """
    with torch.no_grad():
        confidence = student(found.data.test.x).softmax(1).flatten()
    drawn = nn.functional.one_hot(found.data.test.y, CLASSES).flatten().float()
    truth = found.test_probabilities.flatten()
    bins = (confidence * CONFIDENCES).long().clamp(max=CONFIDENCES - 1)
    places = [bins == place for place in range(CONFIDENCES)]
    return [
        {
            "confidence": float(confidence[here].mean()),
            "frequency": float(drawn[here].mean()),
            "truth": float(truth[here].mean()),
            "share": float(here.float().mean()),
        }
        for here in places
        if bool(here.any())
    ]


def calibration_error(table: Sequence[dict[str, float]]) -> float:
    """Return the expected calibration error: the mean distance between confidence and frequency, weighted by share."""
    return sum(place["share"] * abs(place["confidence"] - place["frequency"]) for place in table)


def draw_curve(axes: Axes, rows: Sequence[Row], label: str, shade: str) -> None:
    """Draw one student's calibration, the seeds of the rows pooled."""
    places = (np.array(numbers(rows, "confidence")) * CONFIDENCES).astype(int).clip(max=CONFIDENCES - 1)
    share, given, frequency = (np.array(numbers(rows, key)) for key in ("share", "confidence", "frequency"))
    seeds = len(by_seed(rows))
    found = [place for place in sorted(set(places.tolist())) if share[places == place].sum() / seeds >= LEAST_SHARE]
    x = [np.average(given[places == place], weights=share[places == place]) for place in found]
    y = [np.average(frequency[places == place], weights=share[places == place]) for place in found]
    axes.plot(x, y, "o-", color=shade, label=label, markersize=4)

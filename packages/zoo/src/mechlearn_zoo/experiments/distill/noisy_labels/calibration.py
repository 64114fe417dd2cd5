"""How often a class was drawn, against the probability that a student gave to it."""

from collections.abc import Sequence

import torch
from torch import nn

from mechlearn_zoo.tasks.boards.noisy_labels import CLASSES, NoisyLabelsData

CONFIDENCES = 10
"""Bins of confidence in the calibration curves."""


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

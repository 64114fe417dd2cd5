"""What is compared on the spirals: averaging and the AND-mask, each with its rule, its name and its colour in figures."""

from typing import Literal

from mechlearn.agreement import AndMask, Mean, Rule
from mechlearn_zoo.learners.spirals.training import Training

Method = Literal["mean", "and-mask"]

METHODS: tuple[Method, ...] = ("mean", "and-mask")

LABELS: dict[Method, str] = {"mean": "averaging", "and-mask": "AND-mask"}
"""How figures call a method."""

ROLES: dict[Method, str] = {"mean": "baseline", "and-mask": "ours"}
"""The key of its colour in `claimlab.drawing.COLOURS`."""


def rule_of(method: Method, config: Training) -> Rule:
    """Return a method's rule; threshold and rescaling are the training's."""
    return AndMask(config.threshold, config.rescale) if method == "and-mask" else Mean()

"""Digits in pairs: eight classifiers on one set, eight on another, every attack on every target.

Each surrogate's maximum-confidence attack meets each target, with the alignment of their input gradients.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, MinLen

from claimlab import Positive, Preset, Row, check_limits, part
from mechlearn_zoo.experiments.robustness.classifiers import HIGH, KINDS, LOW, Parts, accuracy, fitted, forest, parts
from mechlearn_zoo.methods.robustness import (
    Ball,
    alignment,
    gradient_size,
    input_gradient,
    maximum_confidence,
    transfer_bound,
    variability,
)
from mechlearn_zoo.methods.robustness.closed_forms import Classifier
from mechlearn_zoo.methods.robustness.evasion import logits_of, loss, margin, missed


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the split and of fits that draw."""
    pairs: Annotated[tuple[str, ...], MinLen(1)] = ("8-9",)
    """Digits to tell apart."""
    train: Annotated[int, Ge(20)] = 118
    """Examples that each classifier is fitted on; targets and surrogates share none."""
    norms: Annotated[tuple[Literal["2", "inf"], ...], MinLen(1)] = ("2",)
    """Norms of perturbations."""
    radius: Positive = 1.0
    """Largest Euclidean norm; pixels lie in [0, 1]."""
    radius_inf: Positive = 0.2
    """Largest change of a pixel, where the norm is inf."""
    steps: Annotated[int, Ge(1)] = 30
    """Of each attack."""
    draws: Annotated[int, Ge(2)] = 5
    """Training sets over which a surrogate's variability is measured, halves of the surrogates' examples."""
    forests: bool = False
    """Also attack random forests, which are targets only."""

    def __post_init__(self) -> None:
        check_limits(self)
        for pair in self.pairs:
            parts(self.seed, pair, self.train)

    def ball(self, norm: str) -> Ball:
        """Return what an attack may do."""
        return Ball(self.radius, 2, (0.0, 1.0)) if norm == "2" else Ball(self.radius_inf, math.inf, (0.0, 1.0))


ALL_PAIRS = tuple(f"{first}-{second}" for first in range(10) for second in range(first + 1, 10))

PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(pairs=ALL_PAIRS, norms=("2", "inf"), forests=True), seeds=10),
}


def run(config: Config) -> Iterator[Row]:
    """Yield the models, and every pair of surrogate and target."""
    for pair in config.pairs:
        data = parts(config.seed, pair, config.train)
        names = [(kind, complexity) for kind in KINDS for complexity in (HIGH, LOW)]
        targets = {name: fitted(*name, data.target, config.seed) for name in names}
        surrogates = {name: fitted(*name, data.surrogate, config.seed + 1) for name in names}
        for norm in config.norms:
            ball = config.ball(norm)
            yield from part(f"{pair}, {norm}, models", models(config, pair, norm, data, surrogates, targets))
            yield from part(f"{pair}, {norm}, pairs", matrix(config, pair, norm, ball, data, surrogates, targets))


Named = dict[tuple[str, str], Classifier]


def models(config: Config, pair: str, norm: str, data: Parts, surrogates: Named, targets: Named) -> Iterator[Row]:
    """Yield S, V and the errors of each model, the target's under its own attack included."""
    x, y = data.test
    ball = config.ball(norm)
    generator = torch.Generator().manual_seed(config.seed)
    halves = [torch.randperm(config.train, generator=generator)[: config.train // 2] for _ in range(config.draws)]
    for (kind, complexity), target in targets.items():
        points = maximum_confidence(target, x, y, ball, config.steps)
        draws = [
            fitted(kind, complexity, type(data.surrogate)(data.surrogate.x[half], data.surrogate.y[half]), config.seed + 2)
            for half in halves
            if 0 < int(data.surrogate.y[half].sum()) < len(half)
        ]
        yield {
            "kind": "model", "pair": pair, "norm": norm, "family": kind, "complexity": complexity,
            "accuracy": accuracy(target, data.test), "surrogate_accuracy": accuracy(surrogates[kind, complexity], data.test),
            "size": float(gradient_size(target, x, y, ball.p).mean()), "variability": float(variability(draws, x, y).mean()),
            "white_box": float(missed(target, points, y).double().mean()),
        }  # fmt: skip


def matrix(config: Config, pair: str, norm: str, ball: Ball, data: Parts, surrogates: Named, targets: Named) -> Iterator[Row]:
    """Yield what each surrogate's attack does to each target, over what the target's own does."""
    x, y = data.test
    own = {name: rises(target, maximum_confidence(target, x, y, ball, config.steps), data) for name, target in targets.items()}
    labelling = {"forest": forest(data.target, config.seed)} if config.forests else {}
    for (kind, complexity), surrogate in surrogates.items():
        points = maximum_confidence(surrogate, x, y, ball, config.steps)
        tags: Row = {"pair": pair, "norm": norm, "surrogate": kind, "surrogate_complexity": complexity}
        for (target_kind, target_complexity), target in targets.items():
            rise, best = rises(target, points, data), own[target_kind, target_complexity]
            bound = transfer_bound(input_gradient(surrogate, x, y), input_gradient(target, x, y), ball.radius, ball.p)
            yield {
                "kind": "pair", **tags, "target": target_kind, "target_complexity": target_complexity,
                "error": float(missed(target, points, y).double().mean()),
                "alignment": float(alignment(surrogate, target, x, y).mean()),
                "margin_alignment": float(alignment(surrogate, target, x, y, loss=margin).mean()),
                "loss_ratio": rise[0] / best[0], "margin_ratio": rise[1] / best[1],
                "excess": float(((bound.achieved - bound.limit) / bound.limit.clamp(min=1e-300)).max()),
                "accurate": min(accuracy(surrogate, data.test), accuracy(target, data.test)),
            }  # fmt: skip
        for name, target in labelling.items():
            error, clean = (float(missed(target, at, y).double().mean()) for at in (points, x))
            yield {"kind": "labelling", **tags, "target": name, "error": error, "clean": clean}


def rises(model: Classifier, points: torch.Tensor, data: Parts) -> tuple[float, float]:
    """Return how far points raise a model's mean loss and mean margin above those of the test examples."""
    x, y = data.test
    with torch.no_grad():
        after, before = logits_of(model, points), logits_of(model, x)
    return float((loss(after, y) - loss(before, y)).mean()), float((margin(after, y) - margin(before, y)).mean())

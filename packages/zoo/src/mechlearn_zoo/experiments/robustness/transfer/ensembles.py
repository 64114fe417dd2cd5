"""Attacks along what surrogates agree on, and a perceptron that is trained against them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from claimlab import EarlyStopping, Halves, Row
from mechlearn.agreement import AndMask, Mean, Rule
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.robustness.classifiers import HIGH, KINDS, LOW, Parts, fitted
from mechlearn_zoo.methods.robustness import (
    Ball,
    Sample,
    agreed_attack,
    agreed_gradient,
    agreement_score,
    input_gradient,
    maximum_confidence,
    steepest,
    transferred_gain,
)
from mechlearn_zoo.methods.robustness.closed_forms import Classifier
from mechlearn_zoo.methods.robustness.evasion import loss, missed
from mechlearn_zoo.methods.robustness.norms import norms
from mechlearn_zoo.methods.robustness.transfer import cosine

CORNERS = (0, 1, 6, 7, 56, 57, 62, 63)
"""Pixels in which a site writes its code: two in each corner of 8 x 8."""

RULES: dict[str, Rule] = {"mean": Mean(), "and-mask 0.5": AndMask(0.5), "and-mask": AndMask(0.75), "and-mask 1": AndMask(1.0)}
"""Of an attacker's ensemble; the one named and-mask is judged."""

OWN: dict[str, Rule] = {"mean": Mean(), "mask": AndMask(0.5)}
"""Of a defender's own ensemble, which is trained on one population and agrees less."""

Way = Literal["none", "decay", "gradient", "gain-mean", "gain-mask", "trained-mean", "trained-mask", "own"]

WAYS: dict[Way, float] = {
    "none": 0.0, "decay": 1e-2, "gradient": 0.1, "gain-mean": 1.0, "gain-mask": 1.0, "trained-mean": 1.0, "trained-mask": 1.0,
    "own": 1.0,
}  # fmt: skip
"""Defences with their weight in the loss: nothing, weight decay, the norm of the input gradient, the first-order gain of a
static attack along the mean or the mask of own surrogates, training on such an attack's examples, and training on attacks on
itself."""


def coded(sample: Sample, generator: Generator) -> Sample:
    """Return examples of a site that writes the label into the corner pixels, 0 or 1 each, by a code of its own."""
    code = torch.randint(0, 2, (2, len(CORNERS)), generator=generator).double()
    x = sample.x.clone()
    x[:, list(CORNERS)] = code[sample.y]
    return Sample(x, sample.y)


def eight(sample: Sample, seed: int, sites: Generator | None = None) -> list[Classifier]:
    """Return a classifier of each kind at both complexities, at a site of its own each if there is a generator."""
    names = [(kind, complexity) for complexity in (HIGH, LOW) for kind in KINDS]
    return [
        fitted(kind, complexity, sample if sites is None else coded(sample, sites), seed + index)
        for index, (kind, complexity) in enumerate(names)
    ]


def surrogates_of(seed: int, data: Parts) -> dict[str, list[Classifier]]:
    """Return the attacker's surrogates: on one population, and at sites with codes."""
    sites = Generator().manual_seed(seed)
    return {"plain": eight(data.surrogate, seed + 10), "sites": eight(data.surrogate, seed + 10, sites)}


Surrogates = Mapping[str, list[Classifier]]
"""The attacker's, by what they were trained on: "plain" or "sites"."""


def ensembles(
    surrogates_by: Surrogates, pair: str, ball: Ball, steps: int, data: Parts, targets: Mapping[tuple[str, str], Classifier]
) -> Iterator[Row]:
    """Yield each rule's error over all targets, and how well the surrogates' agreement predicts alignment."""
    x, y = data.test
    for trained, surrogates in surrogates_by.items():
        tags: Row = {"pair": pair, "trained": trained}
        singles = [maximum_confidence(one, x, y, ball, steps) for one in surrogates]
        errors = [error(targets, points, y) for points in singles]
        yield {"kind": "ensemble", **tags, "rule": "single", "error": sum(errors) / len(errors), "kept": 1.0}
        for name, rule in RULES.items():
            points = agreed_attack(surrogates, x, y, ball, steps, rule)
            kept = float(agreed_gradient(surrogates, x, y, rule).kept.mean())
            yield {"kind": "ensemble", **tags, "rule": name, "error": error(targets, points, y), "kept": kept}
        gradients = torch.stack([input_gradient(one, x, y) for one in surrogates])
        score = agreement_score(gradients)
        for (kind, complexity), target in targets.items():
            mean = torch.stack([cosine(one, input_gradient(target, x, y)) for one in gradients]).mean(0)
            together = torch.stack([score, mean])
            yield {
                "kind": "score", **tags, "family": kind, "complexity": complexity,
                "correlation": float(torch.corrcoef(together)[0, 1]), "score": float(score.mean()),
            }  # fmt: skip


def error(targets: Mapping[tuple[str, str], Classifier], points: Tensor, y: Tensor) -> float:
    """Return the mean over targets of the share missed."""
    return sum(float(missed(target, points, y).double().mean()) for target in targets.values()) / len(targets)


def defences(
    attackers: Surrogates, pair: str, ball: Ball, steps: int, data: Parts, training_steps: int, seed: int
) -> Iterator[Row]:
    """Yield what attacks do to a perceptron that was trained in each way, all for the same number of steps."""
    x, y = data.test
    attacks = {
        "clean": x,
        "sites mean": agreed_attack(attackers["sites"], x, y, ball, steps, RULES["mean"]),
        "sites mask": agreed_attack(attackers["sites"], x, y, ball, steps, RULES["and-mask"]),
        "plain mean": agreed_attack(attackers["plain"], x, y, ball, steps, RULES["mean"]),
    }
    own = eight(data.target, seed + 100)

    def misses(model: nn.Module) -> dict[str, Tensor]:
        """Return which test examples each attack makes a model miss, the one on itself included."""
        shown = {**attacks, "white box": maximum_confidence(model, x, y, ball, steps)}
        return {attack: missed(model, points, y).double() for attack, points in shown.items()}

    for way, weight in WAYS.items():
        looks = Looks(misses)
        model = defended(way, weight, own, data.target, ball, training_steps, seed, looks)
        for attack, found in misses(model).items():
            row: Row = {"kind": "defence", "pair": pair, "way": way, "attack": attack, "error": float(found.mean())}
            yield {**row, "steps": training_steps, **looks.stopped(attack)}


class Looks:
    """What an attack does to a model that stops early: on one half of the test examples where it does least to the other.

    There are no examples but those, so each half validates for the other, under the very attack that is judged.

    Args:
        misses: which test examples each attack makes a model miss, by attack.
    """

    def __init__(self, misses: Callable[[nn.Module], dict[str, Tensor]]) -> None:
        self._misses = misses
        self._due = EarlyStopping(10)
        self._halves: dict[str, Halves] = {}

    def __call__(self, model: nn.Module, share: float) -> None:
        """Look at a model after a share of its training, if it is time."""
        if self._due.due(share):
            for attack, found in self._misses(model).items():
                self._halves.setdefault(attack, Halves(best="lowest")).look(share, "error", found)

    def stopped(self, attack: str) -> Row:
        """Return the error where validation stopped the model, and when, mean over both halves; nothing without a look."""
        return self._halves[attack].row if attack in self._halves else {}


def defended(
    way: Way,
    weight: float,
    own: list[Classifier],
    sample: Sample,
    ball: Ball,
    steps: int,
    seed: int,
    watch: Callable[[nn.Module, float], None],
) -> nn.Module:
    """Return a perceptron trained on all examples at each step, with what the way adds to the loss; watched at each step."""
    x, y = sample
    model = mlp(64, 2, Generator().manual_seed(seed), 50, 1, "default").double()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=weight if way == "decay" else 0.0)
    extra = _extra(way, own, sample, ball)
    for step in range(steps):
        optimizer.zero_grad()
        total = loss(model(x), y).mean() + weight * extra(model)
        total.backward()
        optimizer.step()
        watch(model, (step + 1) / steps)
    return model.eval()


def _extra(way: Way, own: list[Classifier], sample: Sample, ball: Ball) -> Callable[[nn.Module], Tensor]:
    """Return what a way adds to the loss."""
    x, y = sample
    if way == "gradient":
        return lambda model: norms(input_gradient(model, x, y, create_graph=True), ball.p).mean()
    if way == "own":
        attack = partial(maximum_confidence, x=x, y=y, ball=ball, steps=5, keep="last")
        return lambda model: loss(model(attack(model)), y).mean()
    if way.startswith("gain"):
        rule = OWN[way.removeprefix("gain-")]
        directions = steepest(agreed_gradient(own, x, y, rule).gradient, ball.radius, ball.p)
        return lambda model: transferred_gain(model, directions, x, y).clamp(min=0).mean()
    if way.startswith("trained"):
        points = agreed_attack(own, x, y, ball, 20, OWN[way.removeprefix("trained-")])
        return lambda model: loss(model(points), y).mean()
    return lambda model: x.new_zeros(())  # none; the optimiser decays

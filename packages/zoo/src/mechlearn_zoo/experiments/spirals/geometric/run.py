"""The element-wise geometric mean, the AND-mask, the majority's sign alone and averaging, under Adam and under SGD.

One backward pass keeps each parameter's sums over environments, and every rule reads them: so on a path that one rule leads,
what an optimiser would make of the others' gradients is known at the same weights. A rule's step is compared as a direction:
Adam's from moments of that rule's own gradients on the path, SGD's from momentum alone; L2, which all share, is left out of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from claimlab import EarlyStopping, Positive, Preset, Row
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, MedianSign, Rule, Statistics
from mechlearn_zoo.experiments.spirals.geometric.steps import Steps, cosine, share_outside
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.stopping import accuracies

Optimizer = Literal["adam", "sgd"]
Method = Literal["and-mask", "geometric", "mean"]
METHODS: tuple[Method, ...] = ("and-mask", "geometric", "mean")


@dataclass(frozen=True)
class Config(training.Training):
    """Settings of one run: a quarter of the width of `spirals`, all else as there."""

    seed: int = 100
    """First seed: of the data, the initial weights and the batches."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each hidden layer."""
    optimizers: Annotated[tuple[Optimizer, ...], MinLen(1)] = ("adam", "sgd")
    """Adam, SGD with momentum 0.9 (the field `optimizer` is not read)."""
    sgd_rate: Positive = 0.01
    """SGD's learning rate, for every rule; Adam's is `learning_rate`."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """AND-mask, geometric mean, averaging."""


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(
        Config(environments=32, examples=1280, shortcut_dims=32, epochs=3000 // 32, drops=(0.5, 0.75), batch=256, hidden=256),
        seeds=5,
    ),
}


def rules(config: Config) -> dict[str, Rule]:
    """Return what is compared, with one threshold and, where it applies, one way to rescale.

    Of the unanimous sign there are only steps along the AND-mask's path: it has the mask and no magnitude at all.
    """
    return {
        "and-mask": AndMask(config.threshold, config.rescale),
        "geometric": GeometricMean(config.threshold, config.rescale),
        "mean": Mean(),
        "sign": MedianSign(config.threshold),
    }


def run(config: Config) -> Iterator[Row]:
    """Train by each rule under each optimiser; yield how it ends, and along the AND-mask's path how rules' steps compare."""
    data = training.make_data(config)
    for optimizer in config.optimizers:
        for method in config.methods:
            yield from train(config, optimizer, method, data)


def train(config: Config, optimizer: Optimizer, method: Method, data: training.SpiralsData) -> Iterator[Row]:
    """Train one network; yield the comparisons of steps if it is the AND-mask's, and then its end."""
    model, watched = training.make_model(config), Watched(config) if method == "and-mask" else None
    adam = optimizer == "adam"
    setting = replace(config, optimizer=optimizer, learning_rate=config.learning_rate if adam else config.sgd_rate)
    descent = training.make_optimizer(setting, model)
    scheduler = training.make_scheduler(setting, descent)
    names = [name for name, _ in model.named_parameters()]
    # The geometric mean asks for all sums that any of the rules reads.
    agreement = Agreement(model, rules(config)["geometric" if watched else method], keep=names if watched else ())
    loss, stopping, steps = float("nan"), EarlyStopping(), training.steps_of(config)
    for step, (x, y, environments) in enumerate(training.Batches(config, data.train), start=1):
        descent.zero_grad()
        losses = cross_entropy(model(x)[:, 0], y, reduction="none")
        if not bool(losses.isfinite().all()):
            break  # it has diverged: the last finite loss stands in the row
        record = agreement.backward(losses, environments)
        loss = float(record.losses.mean())
        if watched:
            assert record.statistics is not None  # asked for by `keep`
            watched.follow(model, record.statistics)
        descent.step()
        scheduler.step()
        look(stopping, step / steps, model, data)
    look(stopping, 1.0, model, data)  # a training that has diverged ends before its last look
    key: Row = {"optimizer": optimizer, "method": method}
    if watched:
        yield from ({"kind": "steps", **key, **row} for row in watched.rows())
    end: Row = {"accuracy": training.accuracy(model, data.test), "train_loss": loss}
    yield {"kind": "final", **key, **end, **stopping.row}


def look(stopping: EarlyStopping, share: float, model: nn.Module, data: training.SpiralsData) -> None:
    """Look at a model after a share of its training, where a look is due: held-out environments say when to stop."""
    if stopping.due(share):
        found = accuracies(model, data)
        stopping.look(share, found["validation_accuracy"], {"accuracy": found["test_accuracy"]})


class Watched:
    """What either optimiser would make of each rule's gradients along the AND-mask's path.

    Args:
        config: of the run.
    """

    def __init__(self, config: Config) -> None:
        self.rules = rules(config)
        optimizers: tuple[Optimizer, ...] = ("adam", "sgd")
        self.steps = {optimizer: {name: Steps(optimizer) for name in self.rules} for optimizer in optimizers}
        self.looks: dict[str, list[dict[str, float]]] = {optimizer: [] for optimizer in optimizers}

    def follow(self, model: nn.Module, sums: Mapping[str, Statistics]) -> None:
        """Compare the rules' steps, and put the AND-mask's gradients where the optimiser reads them."""
        combined = {name: {key: rule(one) for key, one in sums.items()} for name, rule in self.rules.items()}
        survives = torch.cat([found.survives.flatten() for found in combined["and-mask"].values()]) != 0
        for optimizer, each in self.steps.items():
            gradients = {name: {key: one.gradient for key, one in found.items()} for name, found in combined.items()}
            taken = {name: steps.take(gradients[name]) for name, steps in each.items()}
            if bool(survives.any()):  # where nothing survives there is no direction to compare
                self.looks[optimizer].append(compare(taken, survives))
        for name, parameter in model.named_parameters():
            parameter.grad = combined["and-mask"][name].gradient

    def rows(self) -> Iterator[Row]:
        """Yield each optimiser's comparisons, in the mean over steps."""
        for optimizer, looks in self.looks.items():
            row: Row = {"of": optimizer, "compared": len(looks)}
            yield row | {key: float(np.mean([one[key] for one in looks])) for key in (looks[0] if looks else {})}


def compare(taken: Mapping[str, Tensor], survives: Tensor) -> dict[str, float]:
    """Return cosines and lengths of the rules' steps beside the AND-mask's, and what masked components make of a difference."""
    ours = taken["and-mask"]
    found = {f"cosine_{name}": cosine(step, ours) for name, step in taken.items() if name != "and-mask"}
    found |= {f"length_{name}": float(step.norm() / ours.norm().clamp(min=1e-30)) for name, step in taken.items()}
    found["zeroed"] = share_outside(taken["geometric"] - taken["mean"], survives)
    found["kept"] = float(survives.double().mean())
    return found

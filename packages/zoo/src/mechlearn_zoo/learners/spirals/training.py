"""Training a network on the spirals: what is set, the data, the batches, the loop and the accuracy.

A step takes a batch of every environment, and a rule combines the environments' gradients. Everything is drawn from
generators of the config's seed, all of one stream: the data, the initial weights, the batches.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.optim.lr_scheduler import MultiStepLR

from claimlab import Positive, Saved, Share, check_limits
from mechlearn.agreement import Agreement, Rule
from mechlearn.nn.perceptrons import Init, mlp
from mechlearn_zoo.tasks.boards.spirals import Shortcuts, SpiralsData, Split, spirals
from mechlearn_zoo.tasks.streams import same_stream

CONVERGED = 0.1
"""A mean training loss above this at the end means that the run had not converged."""


@dataclass(frozen=True)
class Training:
    """Settings of one network's training; `mechanism/README.md` says where the texts and the published code differ."""

    seed: int = 0
    """First seed: of the data, the initial weights and the batches."""
    environments: Annotated[int, Ge(2), "one has nothing to agree with"] = 16
    """Number of training environments."""
    examples: Annotated[int, Ge(1)] = 1024
    """Examples in each training environment."""
    shortcut_dims: Annotated[int, Ge(0)] = 16
    """Number of shortcut inputs, 0 for none; the mechanism has two."""
    shortcut_scale: Annotated[float, Ge(0)] = 0.1
    """Standard deviation of the shortcuts beside spirals of unit variance; the published code has 1."""
    threshold: Share = 1.0
    """The papers' tau: the agreement that the AND-mask asks for."""
    rescale: bool = True
    """Multiply what survives the mask by parameters / survivors, tensor by tensor: an option of thesis appendix B.2.3.1."""
    hidden: Annotated[int, Ge(1)] = 256
    """Units in each hidden layer."""
    layers: Annotated[int, Ge(1)] = 3
    """Hidden layers."""
    init: Init = "kaiming"
    """Initial weights: the published code's (kaiming) or PyTorch's default."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam, or SGD with momentum 0.9."""
    learning_rate: Positive = 1e-2
    """Initial learning rate."""
    drops: tuple[Share, ...] = (0.75,)
    """Shares of the training after which the learning rate falls to a tenth; none: it stays."""
    l2: Annotated[float, Ge(0)] = 1e-5
    """L2 regularisation, added to the gradient after the mask."""
    l1: Annotated[float, Ge(0)] = 0.0
    """L1 regularisation, added to the gradient after the mask."""
    batch: Annotated[int, Ge(1)] = 128
    """Examples of each environment in a step."""
    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the training data."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.batch > self.examples:
            why = "it comes from one environment's examples"
            raise ValueError(f"batch should be at most {self.examples}: {why}. Found {self.batch}.")


Scale = Literal["quick", "paper"]

TRAININGS: dict[Scale, Training] = {
    "quick": Training(),
    # Thesis section 3.3.1 and appendix B.2: 32 environments x 1280, floor(3000 / 32) epochs, learning rate / 10 at 1/2 and 3/4.
    # Batch and L2 come out of table B.1's ranges by `spirals-baselines`, preset search; printed: --batch 128 --l2 1e-4.
    "paper": Training(environments=32, examples=1280, shortcut_dims=32, epochs=3000 // 32, drops=(0.5, 0.75), batch=256),
}
"""How `spirals` trains at either scale; the family's other experiments change some of it."""


class Progress(NamedTuple):
    """What one training run reports as it goes, averaged since the last report."""

    step: int
    train_loss: float
    train_accuracy: float
    survivors: float


def make_data(config: Training) -> SpiralsData:
    """Draw the dataset of a config's seed."""
    shortcuts = Shortcuts(config.shortcut_dims, config.shortcut_scale)
    return spirals(config.seed, config.environments, config.examples, shortcuts)


def make_model(config: Training) -> nn.Sequential:
    """Return the network with the initial weights of a config's seed."""
    generator = torch.Generator().manual_seed(config.seed)
    return mlp(2 + config.shortcut_dims, 1, generator, config.hidden, config.layers, config.init)


def steps_of(config: Training) -> int:
    """Return the number of optimiser steps."""
    return config.epochs * (config.examples // config.batch)


class Batches(Iterator[Split]):
    """A batch of every environment for each step, each epoch in a fresh order drawn from the config's seed.

    Args:
        config: seed, environments, batch and epochs.
        train: the examples, by environment.
    """

    def __init__(self, config: Training, train: Split) -> None:
        self._config, self._train = config, train
        self._generator = same_stream(config.seed)
        self._first = torch.arange(config.environments)[:, None] * config.examples
        self._order = torch.zeros(config.environments, 0, dtype=torch.long)
        self._left = steps_of(config)

    def __next__(self) -> Split:
        """Return the next step's batch."""
        if not self._left:
            raise StopIteration
        self._left -= 1
        config = self._config
        if self._order.shape[1] < config.batch:
            orders = [torch.randperm(config.examples, generator=self._generator) for _ in range(config.environments)]
            self._order = torch.stack(orders)
        rows = (self._first + self._order[:, : config.batch]).flatten()
        self._order = self._order[:, config.batch :]
        return Split(self._train.x[rows], self._train.y[rows], self._train.environments[rows])

    def state_dict(self) -> dict[str, Any]:
        """Return what is left of the epoch, and the generator."""
        return {"left": self._left, "order": self._order, "generator": self._generator.get_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._left, self._order = state["left"], state["order"].clone()
        self._generator.set_state(state["generator"])


def train(
    config: Training, model: nn.Module, rule: Rule, data: Split, every: int, saved: Saved | None = None
) -> Iterator[Progress]:
    """Train a model in place; report every so many steps and at the end.

    Args:
        config: how long and how.
        model: what is trained.
        rule: how the environments' gradients are combined.
        data: to train on.
        every: steps between two reports.
        saved: where it goes on, in steps; the caller keeps it, at reports.
    """
    saved = saved or Saved()
    optimizer = make_optimizer(config, model)
    scheduler = make_scheduler(config, optimizer)
    steps, order = steps_of(config), Batches(config, data)
    saved.restore(model, optimizer, scheduler, order)
    window: list[tuple[float, float, float]] = []
    with Agreement(model, rule) as agreement:
        for step, (x, y, environments) in enumerate(order, start=saved.done + 1):
            optimizer.zero_grad()
            logits = model(x)[:, 0]
            record = agreement.backward(cross_entropy(logits, y, reduction="none"), environments)
            if config.l1 > 0:
                add_l1(model, config.l1)
            optimizer.step()
            scheduler.step()
            window.append((float(record.losses.mean()), accuracy_of(logits, y), record.share))
            if step % every == 0 or step == steps:
                yield Progress(step, *np.mean(window, axis=0).tolist())
                window.clear()


def make_optimizer(config: Training, model: nn.Module) -> torch.optim.Optimizer:
    """Return Adam, or SGD with momentum; both add L2 to the gradient they are given, so after the mask."""
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=config.l2)
    return torch.optim.SGD(model.parameters(), lr=config.learning_rate, momentum=0.9, weight_decay=config.l2)


def make_scheduler(config: Training, optimizer: torch.optim.Optimizer) -> MultiStepLR:
    """Return the schedule that divides the learning rate by ten at the steps nearest to the drops' shares."""
    steps = steps_of(config)
    return MultiStepLR(optimizer, [round(share * steps) for share in config.drops], gamma=0.1)


def add_l1(model: nn.Module, strength: float) -> None:
    """Add the subgradient of the L1 penalty; called after the mask, so masked weights shrink too."""
    for parameter in model.parameters():
        assert parameter.grad is not None  # every parameter of the network is reached
        parameter.grad += strength * parameter.detach().sign()


def accuracy_of(logits: Tensor, labels: Tensor) -> float:
    """Return the share of logits on their label's side of 0."""
    return float(((logits > 0) == (labels > 0.5)).float().mean())


def accuracy(model: nn.Module, split: Split) -> float:
    """Return a model's accuracy."""
    with torch.no_grad():
        return accuracy_of(model(split.x)[:, 0], split.y)

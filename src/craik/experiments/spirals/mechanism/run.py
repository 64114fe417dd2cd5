"""AND-mask finds the mechanism that averaging misses: two spirals behind easy shortcuts.

Every environment shares two interlocked spirals and has a shortcut of its own that separates its labels linearly. A network
that averages gradients learns the shortcuts and is at chance where they are random; one that keeps only what all
environments agree on learns the spirals.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from craik.agreement import Agreement, AndMask, Mean, Rule
from craik.experiments.spirals.mechanism.figures import decision_boundaries, learning_curves, outcomes
from craik.lab import Claim, OverSeeds, Row, Rows, number
from craik.lab.limits import at_least, between, not_empty, positive
from craik.nn.perceptrons import Init, mlp
from craik.tasks.boards.spirals import Shortcuts, SpiralsData, Split, spirals

REPRODUCES = "thesis section 3.3.1, figures 3.6, B.4 and B.5; paper section 3.1, figures 6 and 14"

Method = Literal["mean", "and-mask"]

CONVERGED = 0.1
"""A mean training loss above this at the end means that the run had not converged."""

BOUNDARY_SIZE = 96
BOUNDARY_EXTENT = 2.7
"""The picture of the decision boundary: points a side, and half its width in standard deviations of the plane."""


@dataclass(frozen=True)
class Config:
    """Settings of one run; see docs/deviations.md for where the texts and the published code differ."""

    seed: int = 0
    """First seed: of the data, the initial weights and the batches."""
    methods: tuple[Method, ...] = ("mean", "and-mask")
    """What to train with: averaging, the AND-mask, or both."""
    environments: int = 16
    """Number of training environments."""
    examples: int = 1024
    """Examples in each training environment."""
    shortcut_dims: int = 16
    """Number of shortcut inputs, 0 for none; the mechanism has two."""
    shortcut_scale: float = 0.1
    """Standard deviation of the shortcuts beside spirals of unit variance; the published code has 1."""
    threshold: float = 1.0
    """The papers' tau: the agreement that the AND-mask asks for."""
    rescale: bool = True
    """Multiply what survives the mask by parameters / survivors, tensor by tensor: an option of thesis appendix B.2.3.1."""
    hidden: int = 256
    """Units in each hidden layer."""
    layers: int = 3
    """Hidden layers."""
    init: Init = "kaiming"
    """Initial weights: the published code's (kaiming) or PyTorch's default."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam, or SGD with momentum 0.9."""
    learning_rate: float = 1e-2
    """Initial learning rate."""
    drops: tuple[float, ...] = (0.75,)
    """Shares of the training after which the learning rate falls to a tenth; none: it stays."""
    l2: float = 1e-5
    """L2 regularisation, added to the gradient after the mask."""
    l1: float = 0.0
    """L1 regularisation, added to the gradient after the mask."""
    batch: int = 128
    """Examples of each environment in a step."""
    epochs: int = 100
    """Passes over the training data."""
    stop_as_printed: bool = False
    """Stop a trial when training accuracy exceeds 97 % and test accuracy is below 60 %: the paper's rule, which saves time."""

    def __post_init__(self) -> None:
        not_empty(self, "methods")
        at_least(self, 2, "environments", why="one has nothing to agree with")
        at_least(self, 0, "shortcut_dims", "shortcut_scale", "l1", "l2")
        at_least(self, 1, "examples", "hidden", "layers", "epochs")
        between(self, 1, self.examples, "batch", why="it comes from one environment's examples")
        positive(self, "learning_rate")
        between(self, 0, 1, "drops")
        AndMask(self.threshold)  # refuses a threshold outside [0, 1] before any work


PRESETS = {
    "quick": Config(),
    # Thesis section 3.3.1 and appendix B.2: 32 environments x 1280, floor(3000 / 32) epochs, learning rate / 10 at 1/2 and 3/4.
    # Batch and L2 come out of table B.1's ranges by `spirals-search`; the printed best setting is --batch 128 --l2 1e-4.
    "paper": Config(
        environments=32,
        examples=1280,
        shortcut_dims=32,
        epochs=3000 // 32,
        drops=(0.5, 0.75),
        batch=256,
        stop_as_printed=True,
    ),
}
SEEDS = {"quick": 5, "paper": 10}


class Progress(NamedTuple):
    """What one training run reports as it goes, averaged since the last report."""

    step: int
    train_loss: float
    train_accuracy: float
    survivors: float


def make_data(config: Config) -> SpiralsData:
    """Draw the dataset of a config's seed."""
    shortcuts = Shortcuts(config.shortcut_dims, config.shortcut_scale)
    return spirals(config.seed, config.environments, config.examples, shortcuts)


def make_model(config: Config) -> nn.Sequential:
    """Return the network with the initial weights of a config's seed."""
    generator = torch.Generator().manual_seed(config.seed)
    return mlp(2 + config.shortcut_dims, 1, generator, config.hidden, config.layers, config.init)


def steps_of(config: Config) -> int:
    """Return the number of optimiser steps."""
    return config.epochs * (config.examples // config.batch)


def batches(config: Config, train: Split) -> Iterator[Split]:
    """Yield a batch of every environment for each step, each epoch in a fresh order drawn from the config's seed."""
    generator = torch.Generator().manual_seed(config.seed + 2**32)
    environments, examples = config.environments, config.examples
    first = torch.arange(environments)[:, None] * examples
    for _ in range(config.epochs):
        order = torch.stack([torch.randperm(examples, generator=generator) for _ in range(environments)])
        for start in range(0, examples - config.batch + 1, config.batch):
            rows = (first + order[:, start : start + config.batch]).flatten()
            yield Split(train.x[rows], train.y[rows], train.environments[rows])


def train(config: Config, model: nn.Module, rule: Rule, data: Split, every: int) -> Iterator[Progress]:
    """Train a model in place; report every so many steps and at the end."""
    optimizer = make_optimizer(config, model)
    steps = steps_of(config)
    drops = [round(share * steps) for share in config.drops]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.1)
    window: list[tuple[float, float, float]] = []
    with Agreement(model, rule) as agreement:
        for step, (x, y, environments) in enumerate(batches(config, data), start=1):
            optimizer.zero_grad()
            logits = model(x)[:, 0]
            record = agreement.backward(cross_entropy(logits, y, reduction="none"), environments)
            if config.l1 > 0:
                add_l1(model, config.l1)
            optimizer.step()
            scheduler.step()
            window.append((float(record.losses.mean()), accuracy_of(logits, y), share(record.survivors, model)))
            if step % every == 0 or step == steps:
                yield Progress(step, *np.mean(window, axis=0).tolist())
                window.clear()


def make_optimizer(config: Config, model: nn.Module) -> torch.optim.Optimizer:
    """Return Adam, or SGD with momentum; both add L2 to the gradient they are given, so after the mask."""
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=config.l2)
    return torch.optim.SGD(model.parameters(), lr=config.learning_rate, momentum=0.9, weight_decay=config.l2)


def add_l1(model: nn.Module, strength: float) -> None:
    """Add the subgradient of the L1 penalty; called after the mask, so masked weights shrink too."""
    for parameter in model.parameters():
        assert parameter.grad is not None  # every parameter of the network is reached
        parameter.grad += strength * parameter.detach().sign()


def share(survivors: dict[str, float], model: nn.Module) -> float:
    """Return the share of all the model's components that survived."""
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    return sum(survivors[name] * sizes[name] for name in survivors) / sum(sizes.values())


def accuracy_of(logits: Tensor, labels: Tensor) -> float:
    """Return the share of logits on their label's side of 0."""
    return float(((logits > 0) == (labels > 0.5)).float().mean())


def accuracy(model: nn.Module, split: Split) -> float:
    """Return a model's accuracy."""
    with torch.no_grad():
        return accuracy_of(model(split.x)[:, 0], split.y)


def run(config: Config) -> Iterator[Row]:
    """Train with each method; yield learning curves, the final accuracies and the decision boundary on the spiral plane."""
    data = make_data(config)
    steps = steps_of(config)
    rules: dict[str, Rule] = {"mean": Mean(), "and-mask": AndMask(config.threshold, config.rescale)}
    per_epoch = config.examples // config.batch
    for method in config.methods:
        model = make_model(config)
        stopped = ""
        row: Row = {}
        for report in train(config, model, rules[method], data.train, every=per_epoch):
            row = {"method": method, "steps": steps, **report._asdict()}
            row["validation_accuracy"] = accuracy(model, data.validation)
            yield {"kind": "curve", **row}
            # The paper's rule looks at the test set; it can only end a trial that has already failed.
            if config.stop_as_printed and report.train_accuracy > 0.97 and accuracy(model, data.test) < 0.6:
                stopped = "the paper's rule: training accuracy above 97 %, test accuracy below 60 %"
                break
        yield {
            "kind": "final",
            **row,
            "test_accuracy": accuracy(model, data.test),
            "converged": number(row, "train_loss") < CONVERGED,
            "stopped": stopped,
        }
        yield {"kind": "boundary", "method": method, "grid": boundary(model, config)}


def boundary(model: nn.Module, config: Config) -> str:
    """Return the probability of label 1 over the spiral plane, averaged over random shortcuts: a digit 0-9 for each point."""
    line = torch.linspace(-BOUNDARY_EXTENT, BOUNDARY_EXTENT, BOUNDARY_SIZE)
    plane = torch.cartesian_prod(line, line)
    generator = torch.Generator().manual_seed(config.seed + 2**33)
    total = torch.zeros(len(plane))
    draws = 8
    with torch.no_grad():
        for _ in range(draws):
            shortcuts = config.shortcut_scale * torch.randn(len(plane), config.shortcut_dims, generator=generator)
            total += model(torch.cat([plane, shortcuts], dim=1))[:, 0].sigmoid()
    return "".join(str(min(9, int(10 * p))) for p in (total / draws).tolist())


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is, and the accuracy on held-out environments."""
    method = str(row["method"])
    before = [str(name) for name in config.methods].index(method)
    if row["kind"] == "boundary":
        return (before + 1) / len(config.methods), f"{method}  done"
    done = number(row, "step") / number(row, "steps") if row["kind"] == "curve" else 1.0
    text = f"{method}  accuracy {number(row, 'validation_accuracy'):.2f}"
    if row["kind"] == "final" and not row["converged"]:
        text += f"  not converged, training loss {number(row, 'train_loss'):.2f}"
    return (before + done) / len(config.methods), text


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw learning curves, the decision boundaries on the spiral plane, and every seed's outcome."""
    return {
        "learning-curves": learning_curves(rows),
        "decision-boundary": decision_boundaries(rows, BOUNDARY_EXTENT),
        "outcomes": outcomes(rows, CONVERGED),
    }


CLAIMS = (
    Claim(
        id="spirals.and-mask-accuracy",
        text="With the AND-mask the network fits the spirals, not the shortcuts: accuracy on o.o.d. test data is near 100 %.",
        source="thesis figure 3.6; paper figure 6",
        printed="about 1.00",
        measure=OverSeeds("test_accuracy", (("kind", "final"), ("method", "and-mask"))),
        holds=lambda measured: measured.value >= 0.95,
        condition="median over seeds at least 0.95",
        tried="A random search of table B.1's ranges, selected on held-out environments (spirals-search): batch 256 and L2 "
        "1e-5 do better than the printed batch 128 and L2 1e-4, and twice as many epochs better still. Seeds that fail have "
        "not converged: their training loss says so.",
    ),
    Claim(
        id="spirals.pooled-accuracy",
        text="With averaged gradients the network relies on the shortcuts: accuracy on o.o.d. test data is at chance.",
        source="thesis figure 3.6; paper figure 6",
        printed="about 0.50",
        measure=OverSeeds("test_accuracy", (("kind", "final"), ("method", "mean"))),
        holds=lambda measured: abs(measured.value - 0.5) <= 0.05,
        condition="median over seeds within 0.05 of 0.50",
    ),
    Claim(
        id="spirals.pooled-fits",
        text="The shortcuts explain the training data perfectly: averaging reaches a training accuracy near 100 %.",
        source="thesis figure 3.6; paper figure 6",
        printed="about 1.00",
        measure=OverSeeds("train_accuracy", (("kind", "final"), ("method", "mean"))),
        holds=lambda measured: measured.value >= 0.97,
        condition="median over seeds at least 0.97",
    ),
)

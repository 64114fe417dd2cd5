"""Training a network on the spirals with planted shortcuts, by any of the methods, and how soon it finds them.

Data, initial weights and batches are those of `spirals` in form, on a network small enough for many methods; everything is
drawn from generators of the config's seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from claimlab import Positive, Row, check_limits
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.learners.shortcuts.looks import Looks, outcome
from mechlearn_zoo.learners.shortcuts.methods import Method, after_step, agreement_of
from mechlearn_zoo.tasks.boards.spirals import Shortcuts, SpiralsData, Split, spirals
from mechlearn_zoo.tasks.streams import same_stream


@dataclass(frozen=True)
class Training:
    """Settings of one run on the spirals."""

    seed: int = 0
    """First seed: of the data, the initial weights, the batches and the rotation."""
    environments: Annotated[int, Ge(2), "one has nothing to agree with"] = 16
    """Number of training environments."""
    examples: Annotated[int, Ge(2)] = 1024
    """Examples in each training environment."""
    batch: Annotated[int, Ge(2), "standard errors take two"] = 128
    """Examples of each environment in a step."""
    hidden: Annotated[int, Ge(1)] = 256
    """Units in each of three hidden layers."""
    steps: Annotated[int, Ge(1)] = 400
    """Optimiser steps; the last quarter has a tenth of the learning rate."""
    learning_rate: Positive = 1e-2
    """Adam's."""
    l2: Annotated[float, Ge(0)] = 1e-5
    """Added to the gradient after the mask, so that it goes through Adam's moments."""
    every: Annotated[int, Ge(1)] = 8
    """Steps between two looks at the test set."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.batch > self.examples:
            why = "it comes from one environment's examples"
            raise ValueError(f"batch should be at most {self.examples}: {why}. Found {self.batch}.")


class Board(NamedTuple):
    """What the inputs are: how many shortcuts of which standard deviation, and whether all are rotated together."""

    shortcuts: int = 16
    scale: float = 0.1
    rotated: bool = False


def rotation(inputs: int, generator: torch.Generator) -> Tensor:
    """Return a random orthogonal matrix (inputs, inputs)."""
    q, r = torch.linalg.qr(torch.randn(inputs, inputs, dtype=torch.float64, generator=generator))
    return (q * r.diagonal().sign()).float()


def make_data(config: Training, board: Board) -> SpiralsData:
    """Draw a board of a config's seed."""
    found = spirals(config.seed, config.environments, config.examples, Shortcuts(board.shortcuts, board.scale))
    if not board.rotated:
        return found
    turn = rotation(2 + board.shortcuts, same_stream(config.seed))
    train, validation, test = (split._replace(x=split.x @ turn) for split in (found.train, found.validation, found.test))
    return SpiralsData(train, validation, test, found.plane_scale)


def make_model(config: Training, board: Board) -> nn.Sequential:
    """Return the network with the initial weights of a config's seed."""
    return mlp(2 + board.shortcuts, 1, torch.Generator().manual_seed(config.seed), config.hidden, 3, "kaiming")


def batches(config: Training, train: Split) -> Iterator[Split]:
    """Yield a batch of every environment for each step, drawn epoch by epoch."""
    generator = same_stream(config.seed)
    first = torch.arange(config.environments)[:, None] * config.examples
    done = 0
    while True:
        order = torch.stack([torch.randperm(config.examples, generator=generator) for _ in range(config.environments)])
        for start in range(0, config.examples - config.batch + 1, config.batch):
            rows = (first + order[:, start : start + config.batch]).flatten()
            yield Split(train.x[rows], train.y[rows], train.environments[rows])
            done += 1
            if done == config.steps:
                return


def train(config: Training, board: Board, method: Method, control: bool = False) -> Row:
    """Train one network, and return how it ends, with the mean share of components that survived, and where it is stopped.

    Args:
        config: how.
        board: on what.
        method: by which rule.
        control: mask and decay the same share of each tensor's components, drawn at random.
    """
    data, model = make_data(config, board), make_model(config, board)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=config.l2)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.steps)], gamma=0.1)
    agreement = agreement_of(model, method)
    generator = same_stream(config.seed)
    shares, loss, looks = 0.0, float("nan"), Looks(config.every, config.steps, data)
    for step, (x, y, environments) in enumerate(batches(config, data.train), start=1):
        optimizer.zero_grad()
        losses = cross_entropy(model(x)[:, 0], y, reduction="none")
        record = agreement.backward(losses, environments)
        shares += record.share
        if control and record.masks is not None:
            masks = shuffled(record.masks, generator)
            record = record._replace(masks=masks)
            gradients = torch.autograd.grad(cross_entropy(model(x)[:, 0], y), list(model.parameters()))
            for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
                parameter.grad = gradient * masks[name]
        optimizer.step()
        after_step(model, record, method, float(scheduler.get_last_lr()[0]))
        scheduler.step()
        loss = float(record.losses.mean())
        looks.after(step, model)
    return outcome(looks, kept=shares / config.steps, train_loss=loss)


def shuffled(masks: dict[str, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
    """Return masks of the same shares, drawn at random in each tensor."""
    return {
        name: mask.flatten()[torch.randperm(mask.numel(), generator=generator)].view_as(mask) for name, mask in masks.items()
    }

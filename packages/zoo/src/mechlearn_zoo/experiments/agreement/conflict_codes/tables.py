"""A small network trained on noisy digits at several sites, with or without a code of the site's own (`tasks.tables`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import EarlyStopping, Positive, Row, check_limits
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.learners.evaluation import accuracy
from mechlearn_zoo.learners.shortcuts.methods import Method, after_step, agreement_of
from mechlearn_zoo.tasks.pictures.digits import CLASSES, TOTAL, digits
from mechlearn_zoo.tasks.streams import stream
from mechlearn_zoo.tasks.tables.codes import Writing, coded, coded_digits


@dataclass(frozen=True)
class Sites:
    """Settings of one board and one training on it."""

    seed: int = 100
    """First seed: of the rows, the noise, the codes, the initial weights and the batches."""
    sites: Annotated[int, Ge(2), "one has nothing to agree with"] = 8
    """Training sites."""
    rows: Annotated[int, Ge(2)] = 128
    """Rows of each."""
    noise: Annotated[float, Ge(0)] = 0.5
    """Standard deviation of what is added to pixels between 0 and 1."""
    code: Annotated[float, Ge(0)] = 1.0
    """Height of the codes; 0: no codes, so that the sites are exchangeable."""
    batch: Annotated[int, Ge(2), "standard errors take two"] = 64
    """Rows of each site in a step."""
    hidden: Annotated[int, Ge(1)] = 32
    """Units in the hidden layer."""
    steps: Annotated[int, Ge(1)] = 120
    """Optimiser steps."""
    learning_rate: Positive = 1e-2
    """Adam's."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.batch > self.rows:
            raise ValueError(f"batch should be at most {self.rows}: it comes from one site's rows. Found {self.batch}.")


class Table(NamedTuple):
    """Rows of the training sites, sites first, of a new site for testing and of another new one, where training is stopped.

    Each new site has a code of its own, and digits that no other has.
    """

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor
    validation_x: Tensor
    validation_y: Tensor


def table(config: Sites) -> Table:
    """Draw a board."""
    found = coded_digits(config.seed, config.sites, config.rows, Writing(config.noise, config.code))
    # in the seed's order of digits what comes after the board's: rows to train on, one that is laid aside, rows to test on
    taken = config.sites * config.rows + 1 + len(found.test_y)
    left = digits(config.seed, taken, min(len(found.test_y), TOTAL - 1 - taken), 1).validation
    generator = stream(config.seed, "validation")
    pixels = left.x.flatten(1) + config.noise * torch.randn(len(left.x), 64, generator=generator)
    return Table(*found, coded(pixels, left.y, config.code, generator), left.y)


def batches(config: Sites, data: Table) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield rows of every site for each step, sites adjacent."""
    generator = stream(config.seed, "batches")
    for _ in range(config.steps):
        chosen = torch.stack([torch.randperm(config.rows, generator=generator)[: config.batch] for _ in range(config.sites)])
        site = torch.arange(config.sites)[:, None]
        yield data.x[site, chosen].flatten(0, 1), data.y[site, chosen].flatten()


def train(config: Sites, data: Table, method: Method) -> Row:
    """Return a network's accuracy at the new site, at its end and where validation stops it, and the mean share it kept."""
    # of its own: from the seed, which the board draws from, units would be detectors of site 0's first rows
    model = mlp(64, CLASSES, stream(config.seed, "weights"), config.hidden, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=1e-5)
    agreement, shares, stopping = agreement_of(model, method), 0.0, EarlyStopping()
    ids = torch.arange(config.sites).repeat_interleave(config.batch)
    for step, (x, y) in enumerate(batches(config, data), 1):
        optimizer.zero_grad()
        record = agreement.backward(cross_entropy(model(x), y, reduction="none"), ids)
        shares += record.share
        optimizer.step()
        after_step(model, record, method, config.learning_rate)
        look(stopping, step / config.steps, model, data)
    return {"accuracy": accuracy(model, data.test_x, data.test_y), "kept": shares / config.steps, **stopping.row}


def look(stopping: EarlyStopping, share: float, model: nn.Module, data: Table) -> None:
    """Measure a network at both new sites, if a look is due after a share of its training."""
    if stopping.due(share):
        found = accuracy(model, data.test_x, data.test_y)
        stopping.look(share, accuracy(model, data.validation_x, data.validation_y), {"accuracy": found})

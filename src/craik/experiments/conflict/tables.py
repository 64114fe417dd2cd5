"""A small network trained on noisy digits at several sites, with or without a code of the site's own (`craik.tasks.tables`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from craik.experiments.conflict.methods import Method, after_step, agreement_of, kept
from craik.lab import Positive, check_limits
from craik.nn.perceptrons import mlp
from craik.tasks.pictures.digits import CLASSES
from craik.tasks.streams import stream
from craik.tasks.tables.codes import CodedDigits, Writing, coded_digits

STREAMS = (
    "Of a record before, whose first weights and batches came of the board's stream of random numbers, {} on the same seeds."
)
"""What claims say of these records."""


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


def table(config: Sites) -> CodedDigits:
    """Draw a board."""
    return coded_digits(config.seed, config.sites, config.rows, Writing(config.noise, config.code))


def batches(config: Sites, data: CodedDigits) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield rows of every site for each step, sites adjacent."""
    generator = stream(config.seed, "batches")
    for _ in range(config.steps):
        chosen = torch.stack([torch.randperm(config.rows, generator=generator)[: config.batch] for _ in range(config.sites)])
        site = torch.arange(config.sites)[:, None]
        yield data.x[site, chosen].flatten(0, 1), data.y[site, chosen].flatten()


def train(config: Sites, data: CodedDigits, method: Method) -> tuple[nn.Module, float]:
    """Return a trained network and the mean share of its components kept."""
    # of its own: from the seed, which the board draws from, units would be detectors of site 0's first rows
    model = mlp(64, CLASSES, stream(config.seed, "weights"), config.hidden, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=1e-5)
    agreement, shares = agreement_of(model, method), 0.0
    ids = torch.arange(config.sites).repeat_interleave(config.batch)
    for x, y in batches(config, data):
        optimizer.zero_grad()
        record = agreement.backward(cross_entropy(model(x), y, reduction="none"), ids)
        shares += kept(record, model)
        optimizer.step()
        after_step(model, record, method, config.learning_rate)
    return model, shares / config.steps


def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the share of labels that a model gives."""
    with torch.no_grad():
        return float((model(x).argmax(1) == y).float().mean())

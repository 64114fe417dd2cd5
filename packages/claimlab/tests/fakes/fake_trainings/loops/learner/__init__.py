"""A network that learns, and goes on bit for bit where it was killed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from claimlab import Experiment, Preset, Row, checkpoint
from fake_trainings.loops import faults

faults.aim()


@dataclass(frozen=True)
class Config:
    """Settings."""

    seed: int = 0
    """First seed."""
    epochs: int = 8
    """Of each optimiser."""
    pause: float = 0.0
    """Seconds that an epoch takes."""
    width: int = 8
    """Units of the hidden layer."""


def run(config: Config) -> Iterator[Row]:
    """Train with two optimisers."""
    generator = torch.Generator().manual_seed(config.seed)
    x = torch.randn(64, 4, generator=generator)
    y = x.sum(1, keepdim=True).sin()
    for name in ("adam", "sgd"):
        torch.manual_seed(config.seed)
        hidden = (nn.Linear(4, config.width), nn.BatchNorm1d(config.width), nn.ReLU(), nn.Dropout(0.2))
        model = nn.Sequential(*hidden, nn.Linear(config.width, 1))
        adam = name == "adam"
        optimizer = torch.optim.Adam(model.parameters(), 1e-2) if adam else torch.optim.SGD(model.parameters(), 0.1, 0.9)
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 6])
        saved = checkpoint(name, model, optimizer, schedule, generator)
        yield from saved.values
        if saved.finished:
            continue
        for epoch in range(saved.done + 1, config.epochs + 1):
            time.sleep(config.pause)
            for rows in torch.randperm(64, generator=generator).split(16):
                loss = (model(x[rows]) - y[rows]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            schedule.step()
            yield saved.keep(epoch, {"optimizer": name, "epoch": epoch, "loss": loss.item()})
        model.eval()
        final = (model(x) - y).square().mean().item()
        yield from saved.finish({"optimizer": name, "epoch": config.epochs, "loss": final})


EXPERIMENT = Experiment(
    name="learner", title="A network that learns.", reproduces="nothing", presets={"quick": Preset(Config(), seeds=2)}, run=run
)

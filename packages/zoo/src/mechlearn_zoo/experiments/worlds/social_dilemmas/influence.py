"""Influence of one agent on another, recovered by a model of others that is trained on play with a known coupling."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor

from claimlab import Limited, Preset, Row, Share, computed
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.worlds import ModelOfOthers, mutual_information, others_losses
from mechlearn_zoo.tasks.agents.coupling import coupled_play, true_influence
from mechlearn_zoo.tasks.streams import same_stream


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 200
    """First seed: of play and initial weights."""
    couplings: Annotated[tuple[Share, ...], MinLen(1)] = (0.0, 0.3, 0.6, 0.9)
    """Probabilities with which B repeats A."""
    episodes: Annotated[int, Ge(1)] = 800
    """Recorded episodes of 20 steps for each coupling."""
    model_steps: Annotated[int, Ge(1)] = 300
    """Steps of the model of others, of 32 episodes, Adam 1e-2."""


PRESETS = {
    "influence": Preset(Config(), seeds=6, tolerance=1e-2),
    "influence-paper": Preset(Config(episodes=2000, model_steps=3000), seeds=10, tolerance=1e-2),
}


def run(config: Config) -> Iterator[Row]:
    """Yield the influence measured at each coupling."""
    for coupling in config.couplings:
        found = computed(f"coupling {coupling}", measured, config, coupling)
        yield {"kind": "coupling", "coupling": coupling, "measured": found, "true": true_influence(coupling)}


def measured(config: Config, coupling: float) -> float:
    """Return the mean influence of A on B by a model of others, on other play than it was trained on."""
    play = coupled_play(config.seed, 2 * config.episodes, 20, coupling)
    known, new = play[: config.episodes], play[config.episodes :]
    model = ModelOfOthers(1, 2, 3, 16, Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = same_stream(config.seed)
    for _ in range(config.model_steps):
        some = known[torch.randint(len(known), (32,), generator=generator)]
        descend(optimizer, others_losses(model(nothing(some), some), some).mean())
    with torch.no_grad():
        imagined = model.counterfactuals(nothing(new), new)[:, :, 0]
    return float(mutual_information(imagined, torch.full(imagined.shape[:-1], 1 / 3).log()).mean())


def nothing(play: Tensor) -> Tensor:
    """Return what A sees beside actions: a constant."""
    return torch.ones(*play.shape[:2], 1)

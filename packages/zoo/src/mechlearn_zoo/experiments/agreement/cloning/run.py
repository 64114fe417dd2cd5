"""Clones of an expert on the textured grid world's levels, every step on several levels at once: one environment each.

`coinrun` has one level a step and lets a mask over time see what levels agree on. Here a step sees sixteen, so that rules over
environments apply: averaging, the AND-mask, and rules that average until levels are established to differ, with decay of what
they mask. All methods train at the same drawn learning rates and decays, are stopped early and selected on held-out levels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import Preset, Row, check_limits
from mechlearn.agreement import Agreement, AndMask, Heterogeneous, Homogeneous, Mean, Qualitative, Record, Rule, decay_masked
from mechlearn_zoo.experiments.agreement.clones import divergence, evaluate, make_network
from mechlearn_zoo.tasks.pictures import cloning
from mechlearn_zoo.tasks.pictures.cloning import Recording
from mechlearn_zoo.tasks.pictures.textured_grid.recording import record


class Method(NamedTuple):
    """A rule, and how fast what it masks decays, times the learning rate; as a placebo it masks as much, drawn at random."""

    rule: Rule
    decay: float = 0.0
    placebo: bool = False


METHODS = {
    "averaging": Method(Mean()),
    "AND-mask": Method(AndMask(0.5, rescale=True)),
    "Gail-Simon": Method(Qualitative(0.2), 5.0),
    "Cochran": Method(Homogeneous(0.05), 5.0),
    "random effects": Method(Heterogeneous(), 5.0),
    "placebo": Method(Qualitative(0.2), 5.0, placebo=True),
}
Name = Literal["averaging", "AND-mask", "Gail-Simon", "Cochran", "random effects", "placebo"]
TESTING = ("Gail-Simon", "Cochran", "random effects")
"""Those that test for conflict."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of levels, drawn settings, weights and batches."""
    levels: Annotated[int, Ge(2)] = 64
    """Training levels."""
    states: Annotated[int, Ge(2)] = 64
    """States of each."""
    held_out: Annotated[int, Ge(1)] = 400
    """Levels for stopping and selection, one state each."""
    test: Annotated[int, Ge(1)] = 1000
    """Levels for the report, one state each."""
    together: Annotated[int, Ge(2), "one level has nothing to agree with"] = 16
    """Levels in a step."""
    batch: Annotated[int, Ge(2), "standard errors take two"] = 8
    """States of each level in a step."""
    steps: Annotated[int, Ge(8)] = 400
    """Optimiser steps; the last quarter has a tenth of the learning rate."""
    trials: Annotated[int, Ge(1)] = 3
    """Settings drawn for each method: the budget, equal for all."""
    methods: Annotated[tuple[Name, ...], MinLen(1)] = ("averaging", "AND-mask", "Gail-Simon", "Cochran", "random effects")
    """What is compared; the placebo masks as much as Gail-Simon's rule does, drawn at random, and lets it decay alike."""

    def __post_init__(self) -> None:
        check_limits(self)
        for name, most in (("together", "levels"), ("batch", "states")):
            if getattr(self, name) > getattr(self, most):
                rule = f"{name} should be at most {most}, {getattr(self, most)}: a step draws them without repetition"
                raise ValueError(f"{rule}. Found {getattr(self, name)}. Take fewer, or more {most}.")


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # Other seeds than those on which the rule was seen to gain.
    "placebo": Preset(Config(seed=200, methods=("averaging", "Gail-Simon", "placebo")), seeds=6),
    "paper": Preset(Config(states=256, steps=4000, trials=20, batch=16), seeds=6),
}


class Trial(NamedTuple):
    """Drawn settings: Adam's learning rate and L2."""

    learning_rate: float
    weight_decay: float


def draw(seed: int, trial: int) -> Trial:
    """Draw a trial's settings, the same for every method: 10^[-3, -2] and 10^[-5, -2.5]."""
    generator = np.random.default_rng([seed, trial])
    return Trial(*(10 ** float(generator.uniform(*limits)) for limits in ((-3, -2), (-5, -2.5))))


def batches(config: Config, data: Recording) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield for each step the places of its states and the level of each, 0 to `together` - 1."""
    generator = Generator().manual_seed(config.seed + 2**32)
    places = cloning.by_level(data.train)
    for _ in range(config.steps):
        chosen = torch.randperm(len(places), generator=generator)[: config.together].tolist()
        own = [places[level][torch.randperm(len(places[level]), generator=generator)[: config.batch]] for level in chosen]
        yield torch.cat(own), torch.arange(config.together).repeat_interleave(config.batch)


def train(config: Config, data: Recording, method: Method, trial: Trial) -> Iterator[tuple[int, nn.Module, float]]:
    """Clone the expert; yield, eight times, the step, the network and the mean share of components kept so far."""
    network = make_network("small", data.train.frames.shape[1], data.train.policy.shape[1], config.seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=trial.learning_rate, weight_decay=trial.weight_decay)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.steps)], gamma=0.1)
    agreement = Agreement(network, method.rule, keep="masks" if method.decay else ())
    sizes = {name: parameter.numel() for name, parameter in network.named_parameters()}
    drawn = Generator().manual_seed(config.seed + 2**33)
    shares = 0.0
    for step, (places, levels) in enumerate(batches(config, data), start=1):
        optimizer.zero_grad()
        losses = divergence(network, data.train, places)
        kept = backward(agreement, network, losses, levels, drawn if method.placebo else None)
        shares += sum(share * sizes[name] for name, share in kept.survivors.items()) / sum(sizes.values())
        optimizer.step()
        if method.decay:
            decay_masked(network, kept, float(scheduler.get_last_lr()[0]), method.decay)
        scheduler.step()
        if step % (config.steps // 8) == 0:
            yield step, network, shares / step


def backward(agreement: Agreement, network: nn.Module, losses: Tensor, levels: Tensor, placebo: Generator | None) -> Record:
    """Fill gradients by a rule; or with the mean's, masked in as many components as the rule masks, drawn at random."""
    if placebo is None:
        return agreement.backward(losses, levels)
    gradients = torch.autograd.grad(losses.mean(), list(network.parameters()), retain_graph=True)
    record = agreement.backward(losses, levels)
    masks = {name: shuffled(mask, placebo) for name, mask in (record.masks or {}).items()}
    for (name, parameter), gradient in zip(network.named_parameters(), gradients, strict=True):
        parameter.grad = gradient * masks[name]
    return record._replace(masks=masks)


def shuffled(mask: Tensor, generator: Generator) -> Tensor:
    """Return a mask of as many components, drawn at random."""
    return mask.flatten()[torch.randperm(mask.numel(), generator=generator)].view_as(mask)


def run(config: Config) -> Iterator[Row]:
    """Yield a row for every look at a network: divergences on held-out and test levels, in nats."""
    data = record(config.seed, None, config.levels, config.states, config.held_out, config.test)
    uniform = torch.full_like(data.test.policy, 1 / data.test.policy.shape[1])
    constant = (torch.xlogy(data.test.policy, data.test.policy) - data.test.policy * uniform.log()).sum(1).mean()
    yield {"kind": "constant", "test": float(constant)}
    for name in config.methods:
        method = METHODS[name]
        for index in range(config.trials):
            trial = draw(config.seed, index)
            for step, network, kept in train(config, data, method, trial):
                found = {"held_out": evaluate(network, data.validation), "test": evaluate(network, data.test)}
                yield {"kind": "look", "method": name, "trial": index, **trial._asdict(), "step": step, "kept": kept, **found}

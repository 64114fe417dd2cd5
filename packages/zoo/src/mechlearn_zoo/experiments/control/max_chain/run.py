"""Explore chains until every transition was seen; and the closed form of Jensen and Renyi's divergence against sampling."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator

from claimlab import Limited, Preset, Row
from mechlearn_zoo.experiments.control.max_chain.chain import chain
from mechlearn_zoo.experiments.control.max_chain.explorers import METHODS, explorer
from mechlearn_zoo.methods.control.disagreement import jensen_renyi
from mechlearn_zoo.tasks.streams import stream


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the chains, the members and everything drawn."""
    lengths: Annotated[tuple[Annotated[int, Ge(3)], ...], MinLen(1)] = (10, 20, 40)
    """N, states of the chain; episodes have N + 9 steps."""
    episodes: Annotated[int, Ge(1)] = 60
    """At most; an explorer that has seen everything is watched until `watched`."""
    watched: Annotated[int, Ge(1)] = 15
    """Episodes in which steps in the trap are counted."""
    draws: Annotated[int, Ge(100)] = 100_000
    """Of the mixture, to estimate its entropy."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(lengths=(40, 60, 80), episodes=120), seeds=10)}


def run(config: Config) -> Iterator[Row]:
    """Yield shares of transitions seen after each episode, ends, and the closed form's error."""
    for length in config.lengths:
        for method in METHODS:
            yield from explore(method, length, config)
    yield from closed_form(config)


def explore(method: str, length: int, config: Config) -> Iterator[Row]:
    """Yield one explorer's progress."""
    generator = Generator().manual_seed(config.seed)
    world, steps = chain(length, generator), length + 9
    agent, seen = explorer(method, length, generator), set[tuple[int, int]]()
    complete, trapped = None, 0
    for episode in range(1, config.episodes + 1):
        state = 1
        agent.begin()
        for _ in range(steps):
            action = agent.act(state)
            found = world.step(torch.tensor([state]), torch.tensor([action]), generator)
            after = int(found.states)
            agent.learn(state, action, after)
            seen.add((state, action))
            trapped += state == 0 and episode <= config.watched
            state = after
        share = len(seen) / (2 * length)
        yield {"kind": "episode", "length": length, "method": method, "episode": episode, "share": share}
        if share == 1 and complete is None:
            complete = episode
        if complete is not None and episode >= config.watched:
            break
    yield {
        "kind": "final",
        "length": length,
        "method": method,
        "episodes": complete if complete is not None else config.episodes,
        "complete": complete is not None,
        "trapped": trapped / (steps * min(config.watched, config.episodes)),
        "budget": steps,
    }


def closed_form(config: Config) -> Iterator[Row]:
    """Compare Jensen and Renyi's divergence of five Gaussians in three numbers with sampling from their mixture."""
    generator = stream(config.seed, "mixtures")
    means = torch.randn(5, 3, dtype=torch.float64, generator=generator)
    variances = torch.rand(5, 3, dtype=torch.float64, generator=generator) + 0.2
    chosen = torch.randint(5, (config.draws,), generator=generator)
    noise = torch.randn(config.draws, 3, dtype=torch.float64, generator=generator)
    x = means[chosen] + noise * variances[chosen].sqrt()
    exponents = -0.5 * ((x[:, None] - means).square() / variances + variances.log() + math.log(2 * math.pi)).sum(-1)
    density = exponents.exp().mean(1)
    own = 0.5 * (variances.log().sum(1) + 3 * math.log(4 * math.pi)).mean()
    sampled = float(-density.mean().log() - own)
    error = float(density.std() / density.mean()) / math.sqrt(config.draws)
    found = float(jensen_renyi(means.unsqueeze(1), variances.unsqueeze(1)))
    yield {"kind": "closed-form", "found": found, "sampled": sampled, "errors": abs(found - sampled) / error}

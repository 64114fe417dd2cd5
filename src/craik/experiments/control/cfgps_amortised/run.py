"""Train a classifier of levels on histories simulated in the model, where the level is known; use it on histories of the world.

The level is privileged data: visible when the classifier is trained, never afterwards. It learns the model's posterior, wrong
prior included, from what a history has glimpsed and visited; the exact posterior of the library is what it could reach.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from craik.experiments.control.library import DISCOUNT, Library, drifting, make_library, wander
from craik.lab import Positive, Preset, Row, Share, check_limits
from craik.methods.control.counterfactual import Episodes, evaluate, log_likelihood, posterior, rollouts
from craik.nn.perceptrons import mlp


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of levels, histories, weights."""
    levels: Annotated[int, Ge(10)] = 400
    """In the library."""
    glimpse: Share = 0.1
    """Probability that a cell is seen in a step."""
    logged: Annotated[int, Ge(2)] = 200
    """Episodes of a random policy in the world."""
    steps: Annotated[int, Ge(1)] = 25
    """Of an episode."""
    evidence: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(2)] = (1, 2, 5, 10, 25)
    """Steps of logged evidence, ascending."""
    updates: Annotated[int, Ge(1)] = 1500
    """Of the classifier."""
    batch: Annotated[int, Ge(2)] = 256
    """Simulated histories in an update, each cut at a random step."""
    hidden: Annotated[int, Ge(1)] = 256
    """Units in each of two layers."""
    learning_rate: Positive = 1e-3
    """Adam's."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(levels=4000, logged=1000, updates=20_000, hidden=1024), seeds=10),
}


def run(config: Config) -> Iterator[Row]:
    """Yield errors of four policies' values by evidence, and how much the learned posterior misses."""
    generator = Generator().manual_seed(config.seed)
    library = make_library(config.levels, config.glimpse, generator)
    chosen = torch.multinomial(library.world, config.logged, replacement=True, generator=generator)
    logged = rollouts(library.model, chosen, wander, config.steps, generator)
    classifier = train(library, config, generator)
    values = torch.stack([library.model.process(DISCOUNT).objective(policy) for policy in drifting(6)])
    truth = values @ library.world
    model_error = float((values @ library.model.prior - truth).abs().mean())
    for steps in config.evidence:
        exact = posterior(library.model.prior, log_likelihood(library.model, logged, steps))
        with torch.no_grad():
            learned = classifier(history(logged, torch.full((config.logged,), steps))).double().softmax(1)
        for name, beliefs in (("exact", exact), ("amortised", learned)):
            found = [evaluate(value, beliefs).value for value in values]
            errors = [abs(one - float(wanted)) for one, wanted in zip(found, truth, strict=True)]
            yield {
                "kind": "evaluation",
                "evidence": steps,
                "posterior": name,
                "error": sum(errors) / len(errors),
                "model_error": model_error,
                "level": float(beliefs.gather(1, chosen[:, None]).mean()),
                "budget": config.updates * config.batch,
            }


def history(episodes: Episodes, steps: Tensor) -> Tensor:
    """Return (B, 7 S) numbers of each history's first so many steps.

    Four pictures of each cell glimpsed, how often and whether it was stood in, and where the episode stands then.
    """
    total, count = episodes.actions.shape
    used = torch.arange(total)[:, None] < steps
    living = used & episodes.alive
    seen = (episodes.glimpsed & living.unsqueeze(2)).any(0)
    last = (living.sum(0) - 1).clamp(min=0)
    known = torch.where(seen, episodes.known[last, torch.arange(count)], -1)
    size = known.shape[1]
    visited = torch.zeros(count, size)
    for t in range(total):
        visited[torch.arange(count), episodes.cells[t]] += living[t].float()
    here = episodes.cells[last + 1, torch.arange(count)]
    pictures = one_hot(known + 1, 5)[..., 1:].flatten(1).float()
    # Walls that were bumped into show in how often a cell was stood in.
    return torch.cat([pictures, visited.log1p(), (visited > 0).float(), one_hot(here, size).float()], 1)


def train(library: Library, config: Config, generator: Generator) -> nn.Module:
    """Minimise the cross-entropy of the level on histories of the model; a pool of them is simulated anew now and then."""
    network = mlp(7 * 36, config.levels, generator, config.hidden, 2)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    pool: Episodes | None = None
    for update in range(config.updates):
        if pool is None or update % 50 == 0:
            levels = torch.multinomial(library.model.prior, 8 * config.batch, replacement=True, generator=generator)
            pool = rollouts(library.model, levels, wander, config.steps, generator)
        some = pool.take(torch.randint(8 * config.batch, (config.batch,), generator=generator))
        cut = torch.randint(1, config.steps + 1, (config.batch,), generator=generator)
        loss = cross_entropy(network(history(some, cut)), some.scenarios)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network

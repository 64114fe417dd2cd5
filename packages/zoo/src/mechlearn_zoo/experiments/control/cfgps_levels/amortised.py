"""Train a classifier of levels on histories simulated in the model, where the level is known; use it on histories of the world.

The level is privileged data: visible when the classifier is trained, never afterwards. It learns the model's posterior, wrong
prior included, from what a history has glimpsed and visited; the exact posterior of the library is what it could reach.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from claimlab import EarlyStopping, Positive, Preset, Row
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.control.cfgps_levels.library import Library, Settings, judged_policies, log, make_library, wander
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control.counterfactual import Episodes, log_likelihood, posterior, rollouts
from mechlearn_zoo.tasks.streams import stream


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

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


PRESETS = {
    "amortised": Preset(Config(), seeds=6),
    "amortised-paper": Preset(Config(levels=4000, logged=1000, updates=20_000, hidden=1024), seeds=10),
}


def run(config: Config) -> Iterator[Row]:
    """Yield errors of four policies' values by evidence, and how much the learned posterior misses."""
    generator = Generator().manual_seed(config.seed)
    library = make_library(config, generator)
    test, validation = log(library, config, generator), log(library, config, stream(config.seed, "validation"))
    policies, stopping = judged_policies(library), EarlyStopping(best="lowest")

    def look(network: nn.Module, share: float) -> None:
        if stopping.due(share):
            errors = [policies.error(learned(network, validation, steps)) for steps in config.evidence]
            found: Row = {}
            for steps in config.evidence:
                beliefs = learned(network, test, steps)
                found |= {f"error_{steps}": policies.error(beliefs), f"level_{steps}": sure(beliefs, test)}
            stopping.look(share, sum(errors) / len(errors), found)

    classifier = train(library, config, generator, look)
    for steps in config.evidence:
        exact = posterior(library.model.prior, log_likelihood(library.model, test, steps))
        for name, beliefs in (("exact", exact), ("amortised", learned(classifier, test, steps))):
            row: Row = {
                "kind": "evaluation",
                "evidence": steps,
                "posterior": name,
                "error": policies.error(beliefs),
                "model_error": policies.model_error,
                "level": sure(beliefs, test),
                "budget": config.updates * config.batch,
            }
            if name == "amortised":
                best = stopping.row
                row |= {f"stopped_{key}": best[f"stopped_{key}_{steps}"] for key in ("error", "level")}
                row["stopped_at"] = best["stopped_at"]
            yield row


@torch.no_grad()
def learned(network: nn.Module, logged: Episodes, steps: int) -> Tensor:
    """Return the learned posterior (B, K) after so many steps of evidence."""
    return network(history(logged, torch.full((len(logged.scenarios),), steps))).double().softmax(1)


def sure(beliefs: Tensor, logged: Episodes) -> float:
    """Return the mean probability of the true level."""
    return float(beliefs.gather(1, logged.scenarios[:, None]).mean())


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


def train(library: Library, config: Config, generator: Generator, look: Callable[[nn.Module, float], None]) -> nn.Module:
    """Minimise the cross-entropy of the level on histories of the model; a pool of them is simulated anew now and then.

    Args:
        library: levels.
        config: how.
        generator: of weights, levels and histories.
        look: looks at the classifier after a share of its updates.
    """
    network = mlp(7 * 36, config.levels, generator, config.hidden, 2)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    pool: Episodes | None = None
    for update in range(config.updates):
        if pool is None or update % 50 == 0:
            levels = torch.multinomial(library.model.prior, 8 * config.batch, replacement=True, generator=generator)
            pool = rollouts(library.model, levels, wander, config.steps, generator)
        some = pool.take(torch.randint(8 * config.batch, (config.batch,), generator=generator))
        cut = torch.randint(1, config.steps + 1, (config.batch,), generator=generator)
        descend(optimizer, cross_entropy(network(history(some, cut)), some.scenarios))
        look(network, (update + 1) / config.updates)
    return network

"""A library of levels; the world draws only those with the goal in one quarter, the model thinks all equally likely.

Evaluation is exact: target policies go by their cell alone, so that each has a value in each level. Search trains a network by
policy gradients on episodes in the model; all arms get the same number of updates and simulated episodes (column `budget`), and
no arm acts in the world beyond the logged episodes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from claimlab import Positive, Preset, Row, Share, number
from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.control.cfgps_levels.library import (
    DISCOUNT,
    Library,
    Settings,
    judged_policies,
    log,
    make_library,
)
from mechlearn_zoo.methods.control.counterfactual import (
    Episodes,
    View,
    counterfactual_rollouts,
    evaluate,
    log_likelihood,
    posterior,
    rollouts,
)
from mechlearn_zoo.methods.control.returns import linear_recurrence
from mechlearn_zoo.tasks.streams import stream

ARMS = ("prior", "counterfactual", "and-mask", "world")
"""Where episodes to learn from are simulated: in the model as it is, from the posterior of logged episodes (updates averaged,
or kept where posterior draws agree), or in the world's own levels, which nobody has and which bounds what could be reached."""


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

    evidence: Annotated[tuple[Annotated[int, Ge(0)], ...], MinLen(2)] = (0, 1, 2, 5, 10, 25)
    """Steps of logged evidence, ascending; 0 for none."""
    updates: Annotated[int, Ge(0)] = 200
    """Of the policy; 0 leaves the search out."""
    histories: Annotated[int, Ge(1)] = 64
    """Logged episodes in an update."""
    draws: Annotated[int, Ge(2)] = 4
    """Scenarios drawn from the posterior of each."""
    learning_rate: Positive = 1e-2
    """Adam's."""
    entropy: Annotated[float, Ge(0)] = 0.01
    """Weight of the policy's entropy."""
    threshold: Share = 0.3
    """Of the AND-mask over posterior draws."""
    tested: Annotated[int, Ge(1)] = 2000
    """Episodes in the world after training."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(levels=4000, logged=1000, updates=2000), seeds=10)}


def run(config: Config) -> Iterator[Row]:
    """Yield evaluation errors by evidence, then returns in the world of each arm's policy."""
    generator = Generator().manual_seed(config.seed)
    library = make_library(config, generator)
    logged = log(library, config, generator)
    yield from evaluation(library, logged, config)
    yield from sketches(library, logged, config)
    for arm in ARMS if config.updates else ():
        yield from search(arm, library, logged, config)


def evaluation(library: Library, logged: Episodes, config: Config) -> Iterator[Row]:
    """Compare model-based and counterfactual evaluation of four policies with their values in the world."""
    model, policies = library.model, judged_policies(library)
    for steps in config.evidence:
        likelihood = log_likelihood(model, logged, steps)
        beliefs, fair = posterior(model.prior, likelihood), posterior(library.world, likelihood)
        # With the right prior both must agree within the error of a mean over logged episodes (lemma 1).
        apart = [evaluate(value, fair) for value in policies.values]
        off = [abs(one.value - float(true)) / max(one.error, 1e-12) for one, true in zip(apart, policies.truth, strict=True)]
        yield {
            "kind": "evaluation",
            "evidence": steps,
            "error": policies.error(beliefs),
            "model_error": policies.model_error,
            "off": max(off) if steps else None,
            "entropy": float(torch.special.entr(beliefs).sum(1).mean()),
        }


def sketches(library: Library, logged: Episodes, config: Config) -> Iterator[Row]:
    """Yield where the posterior of the first logged episode that lasts puts the goal, by evidence; for the figure."""
    lasting = int(logged.alive.sum(0).argmax())
    one = logged.take(torch.tensor([lasting]))
    for steps in config.evidence:
        belief = posterior(library.model.prior, log_likelihood(library.model, one, steps))[0]
        goals = torch.zeros(36, dtype=torch.float64).index_add(0, library.goal, belief)
        for cell, chance in enumerate(goals.tolist()):
            kind = int(library.model.picture[one.scenarios[0], cell])
            yield {"kind": "belief", "evidence": steps, "cell": cell, "chance": chance, "picture": kind}


class Learner(NamedTuple):
    """What is trained, and how gradients of posterior draws are combined."""

    net: nn.Module
    agreement: Agreement
    optimizer: torch.optim.Optimizer

    def act(self, view: View, generator: Generator) -> tuple[Tensor, Tensor]:
        """Draw actions."""
        with torch.no_grad():
            log = self.net(encode(view)).log_softmax(-1)
        actions = torch.multinomial(log.exp(), 1, generator=generator)
        return actions.squeeze(1), log.gather(1, actions).squeeze(1)


def encode(view: View) -> Tensor:
    """Return (n, 5 S) numbers: four pictures of each cell, zeros where unseen, and the place."""
    size = view.known.shape[-1]
    seen = one_hot(view.known + 1, 5)[..., 1:].flatten(1)
    return torch.cat([seen, one_hot(view.cells, size)], 1).float()


def search(arm: str, library: Library, logged: Episodes, config: Config) -> Iterator[Row]:
    """Train one arm's policy and act with it in the world."""
    generator = stream(config.seed, "search")  # the same weights and draws for all arms
    net = mlp(180, 4, generator, 64, 1)
    rule = AndMask(config.threshold, rescale=True) if arm == "and-mask" else Mean()
    learner = Learner(net, Agreement(net, rule), torch.optim.Adam(net.parameters(), lr=config.learning_rate))
    beliefs = posterior(library.model.prior, log_likelihood(library.model, logged, config.steps))
    ids = torch.arange(config.draws).repeat_interleave(config.histories)
    for update in range(1, config.updates + 1):
        episodes = simulate(arm, library, logged, beliefs, learner, config, generator)
        learner.optimizer.zero_grad()
        learner.agreement.backward(policy_losses(net, episodes, config.entropy), ids)
        learner.optimizer.step()
        if update % max(1, config.updates // 10) == 0:
            yield {
                "kind": "training",
                "arm": arm,
                "update": update,
                "simulated": float(episodes.returns(DISCOUNT).mean()),
                "return": in_world(library, learner, config, 500),
                "budget": update * len(ids),
            }
    final = in_world(library, learner, config, config.tested)
    yield {"kind": "final", "arm": arm, "return": final, "budget": config.updates * len(ids)}


def simulate(
    arm: str, library: Library, logged: Episodes, beliefs: Tensor, learner: Learner, config: Config, generator: Generator
) -> Episodes:
    """Return histories x draws episodes of the learner, draw by draw."""
    count = config.histories * config.draws
    if arm in ("prior", "world"):
        weights = library.world if arm == "world" else library.model.prior
        chosen = torch.multinomial(weights, count, replacement=True, generator=generator)
        return rollouts(library.model, chosen, learner.act, config.steps, generator)
    picked = torch.randint(len(beliefs), (config.histories,), generator=generator).repeat(config.draws)
    again = logged.take(picked)
    return counterfactual_rollouts(
        library.model, again, beliefs[picked], learner.act, config.steps, generator, evidence=config.steps
    )


def policy_losses(net: nn.Module, episodes: Episodes, entropy: float) -> Tensor:
    """Return (B,) losses: -sum_t log pi A - entropy, with returns to go less their mean over episodes at each step."""
    steps, batch = episodes.actions.shape
    log = net(encode(View(episodes.known.flatten(0, 1), episodes.cells[:-1].flatten()))).log_softmax(-1).view(steps, batch, -1)
    advantages = linear_recurrence(torch.full_like(episodes.rewards, DISCOUNT), episodes.rewards)  # returns to go
    alive = episodes.alive.float()
    mean = (advantages * alive).sum(1, keepdim=True) / alive.sum(1, keepdim=True).clamp(min=1)
    advantages = (advantages - mean) * alive
    advantages = advantages / advantages.std().clamp(min=1e-6)
    taken = log.gather(2, episodes.actions.unsqueeze(2)).squeeze(2)
    spread = -(log.exp() * log).sum(2) * alive
    return -(taken * advantages + entropy * spread).mean(0)


def in_world(library: Library, learner: Learner, config: Config, count: int) -> float:
    """Return the mean discounted return in levels as the world draws them."""
    generator = stream(config.seed, "world")
    chosen = torch.multinomial(library.world, count, replacement=True, generator=generator)
    return float(rollouts(library.model, chosen, learner.act, config.steps, generator).returns(DISCOUNT).mean())


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] not in ("training", "final"):
        return 0.02, str(row["kind"])
    done = number(row, "update") / config.updates if row["kind"] == "training" else 1.0
    return (ARMS.index(str(row["arm"])) + done) / len(ARMS), str(row["arm"])

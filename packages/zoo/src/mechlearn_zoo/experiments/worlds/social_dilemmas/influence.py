"""A model of others trained on coupled play, then a Lewis game with influence paid to the speaker, or not.

The game is played by many pairs of tables at once (replicas), each by itself: a speaker's logits of symbols for each state,
a listener's of states for each symbol, both by REINFORCE with the replica's mean reward as baseline. Where talk is costly,
symbol 0 is silence and the speaker pays for any other: pairs paid for nothing else fall silent before they have a code.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor

from claimlab import Positive, Preset, Row, Share, check_limits, checkpoint, computed, part
from mechlearn_zoo.methods.worlds import ModelOfOthers, causal_influence, mutual_information, others_losses
from mechlearn_zoo.nn.categorical import chosen, sample_categorical
from mechlearn_zoo.tasks.agents.signalling import coupled_play, states, true_influence
from mechlearn_zoo.tasks.streams import stream

PAID = ("none", "printed", "played")
"""Influence is not paid; with the marginal over the speaker's policy in this state, as printed; over what it plays at all."""

GAMES = {"equal": PAID, "skewed": PAID, "costly": (*PAID, "alone", "surprise")}
"""Equal states; one half of the time; equal ones, and talk costs. There, too: influence as printed and no reward, and
randomness itself, minus the log-probability of what was said: what influence is bounded by, without looking at the listener."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 200
    """First seed: of play, initial weights and games."""
    couplings: Annotated[tuple[Share, ...], MinLen(1)] = (0.0, 0.3, 0.6, 0.9)
    """Probabilities with which B repeats A."""
    episodes: Annotated[int, Ge(1)] = 800
    """Recorded episodes of 20 steps for each coupling."""
    model_steps: Annotated[int, Ge(1)] = 300
    """Steps of the model of others, of 32 episodes, Adam 1e-2."""
    symbols: Annotated[int, Ge(2)] = 5
    """States of the game, and symbols."""
    replicas: Annotated[int, Ge(1)] = 200
    """Pairs that learn side by side."""
    games: Annotated[int, Ge(2)] = 32
    """Games of each pair in a step."""
    steps: Annotated[int, Ge(1)] = 600
    """Steps."""
    learning_rate: Positive = 0.05
    """Adam's, of the tables."""
    beta: Annotated[float, Ge(0)] = 0.3
    """Weight of the influence, or surprise, at first; it falls to 0 in a straight line."""
    cost: Share = 0.4
    """What any symbol but silence costs the speaker of the costly game."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {
    "influence": Preset(Config(), seeds=6, tolerance=1e-2),
    "influence-paper": Preset(Config(episodes=2000, model_steps=3000, replicas=2000, steps=2000), seeds=10, tolerance=1e-2),
}


def run(config: Config) -> Iterator[Row]:
    """Yield the influence measured at each coupling, then how signalling ends in each game."""
    for coupling in config.couplings:
        found = computed(f"coupling {coupling}", measured, config, coupling)
        yield {"kind": "coupling", "coupling": coupling, "measured": found, "true": true_influence(coupling)}
    for game, arms in GAMES.items():
        for paid in arms:
            yield from part(f"{game}, {paid}", signalling(config, game, paid))


def measured(config: Config, coupling: float) -> float:
    """Return the mean influence of A on B by a model of others, on other play than it was trained on."""
    play = coupled_play(config.seed, 2 * config.episodes, 20, coupling)
    known, new = play[: config.episodes], play[config.episodes :]
    model = ModelOfOthers(1, 2, 3, 16, Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = stream(config.seed, "batches")
    for _ in range(config.model_steps):
        some = known[torch.randint(len(known), (32,), generator=generator)]
        optimizer.zero_grad()
        others_losses(model(nothing(some), some), some).mean().backward()
        optimizer.step()
    with torch.no_grad():
        imagined = model.counterfactuals(nothing(new), new)[:, :, 0]
    return float(mutual_information(imagined, torch.full(imagined.shape[:-1], 1 / 3).log()).mean())


def nothing(play: Tensor) -> Tensor:
    """Return what A sees beside actions: a constant."""
    return torch.ones(*play.shape[:2], 1)


def signalling(config: Config, game: str, paid: str) -> Iterator[Row]:
    """Play a game; yield the mean reward less what talk cost, eight times on the way, and at the end the pooled replicas."""
    n, m, cost = config.symbols, config.replicas, config.cost if game == "costly" else 0.0
    chances = torch.ones(n)
    chances[0] = n - 1 if game == "skewed" else 1
    generator = Generator().manual_seed(config.seed)
    speaker = torch.zeros(m, n, n).normal_(std=0.1, generator=generator).requires_grad_()
    listener = torch.zeros(m, n, n).normal_(std=0.1, generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([speaker, listener], lr=config.learning_rate)
    row: Row = {"game": game, "paid": paid}
    saved = checkpoint("game", speaker, listener, optimizer, generator)
    yield from saved.values
    for step in range(saved.done + 1, config.steps + 1):
        seen = states((m, config.games), chances, generator)
        policy = speaker.gather(1, seen[..., None].expand(-1, -1, n)).log_softmax(-1)
        said = sample_categorical(policy, generator)
        answer = listener.gather(1, said[..., None].expand(-1, -1, n)).log_softmax(-1)
        named = sample_categorical(answer, generator)
        reward = (named == seen).float()
        net, beta = reward - cost * (said > 0), config.beta * (1 - step / config.steps)
        pay = (0.0 if paid == "alone" else net) + beta * bonus(listener.detach(), policy.detach(), said, paid)
        loss = -(advantage(pay) * chosen(policy, said) + advantage(reward) * chosen(answer, named)).sum(1).sum() / config.games
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, config.steps // 8) == 0:
            yield saved.keep(step, {"kind": "curve", **row, "step": step, "reward": float(net.mean())})
        else:
            saved.keep(step)
    saved.stay()
    right = expected(speaker.detach(), listener.detach(), chances)
    talk = (1 - speaker.detach().softmax(-1)[:, :, 0]) @ (chances / chances.sum())
    yield {
        "kind": "game",
        **row,
        "reward": float((right - cost * talk).mean()),
        "right": float(right.mean()),
        "talk": float(talk.mean()),
        "solved": float((right > 0.95).double().mean()),
        "best": 1 - cost * (1 - 1 / n),
        "budget": config.steps * config.games,
    }


def bonus(listener: Tensor, policy: Tensor, said: Tensor, paid: str) -> Tensor:
    """Return what each symbol is paid for beside the reward, (replicas, games)."""
    if paid == "none":
        return torch.zeros(said.shape)
    return -chosen(policy, said) if paid == "surprise" else influence(listener, policy, said, paid)


def influence(listener: Tensor, policy: Tensor, said: Tensor, paid: str) -> Tensor:
    """Return the influence of each symbol on the listener, (replicas, games)."""
    counterfactual = listener.log_softmax(-1)[:, None].expand(-1, said.shape[1], -1, -1)
    marginal = policy if paid != "played" else (policy.logsumexp(1, keepdim=True) - math.log(said.shape[1])).expand_as(policy)
    return causal_influence(counterfactual, marginal, said)


def advantage(reward: Tensor) -> Tensor:
    """Return rewards less each replica's mean."""
    return reward - reward.mean(1, keepdim=True)


def expected(speaker: Tensor, listener: Tensor, chances: Tensor) -> Tensor:
    """Return how often each replica's listener is right, (replicas,)."""
    right = (speaker.softmax(-1) @ listener.softmax(-1)).diagonal(dim1=1, dim2=2)
    return (right * (chances / chances.sum())).sum(1)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] == "coupling":
        return 0.1, "measuring"
    arms = [(game, paid) for game, some in GAMES.items() for paid in some]
    return 0.2 + 0.75 * (arms.index((str(row["game"]), str(row["paid"]))) + 1) / len(arms), "signalling"

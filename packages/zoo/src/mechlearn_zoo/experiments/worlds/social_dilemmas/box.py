"""The smallest game in which influence pays: one agent picks apples, another is locked in a box, and the first can let it out.

Opening takes a few steps without apples, and whoever comes out eats of the same trees. An agent that is paid for its own apples
has no reason to open. One that is paid for influence has: whoever is locked in cannot answer what others do.

Both play by tables: a row of logits and a value for what an agent sees, which trees were eaten of last and whether the box is
open. Index conventions: r arms, w worlds, t steps; tree `trees` is none, which is A's action "work at the lock".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn

from claimlab import Limited, Positive, Preset, Row, Share
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.methods.control.returns import linear_recurrence
from mechlearn_zoo.methods.worlds import causal_influence, influence_rewards
from mechlearn_zoo.nn.categorical import chosen, sample_categorical
from mechlearn_zoo.tasks.streams import stream

ARMS = ("none", "influence", "alone", "surprise")
"""What A is paid for: its apples; apples and influence; influence alone; apples and the surprise of its actions."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 300
    """First seed: of actions."""
    trees: Annotated[int, Ge(2)] = 4
    """A tree bears an apple unless somebody was at it in the step before."""
    work: Annotated[int, Ge(1)] = 3
    """Steps in a row at the lock until the box is open."""
    steps: Annotated[int, Ge(2)] = 30
    """Of an episode."""
    before: Share = 0.4
    """Share of the updates before the box is locked for the first time: B knows how to forage when it is."""
    worlds: Annotated[int, Ge(1)] = 64
    """Side by side, for each arm; an episode of each makes an update."""
    updates: Annotated[int, Ge(1)] = 600
    """Steps of Adam."""
    learning_rate: Positive = 0.03
    """Adam's; it falls to 0 in a straight line."""
    discount: Share = 0.97
    """Of rewards in a step."""
    trace: Share = 0.95
    """Lambda of generalised advantages."""
    entropy: Annotated[float, Ge(0)] = 0.01
    """Weight of the entropy of actions."""
    beta: Annotated[float, Ge(0)] = 4.0
    """Weight of influence, or surprise."""
    tested: Annotated[int, Ge(1)] = 512
    """Fresh worlds that are played at the end."""


PRESETS = {"box": Preset(Config(), seeds=6, tolerance=2e-2)}


class State(NamedTuple):
    """Worlds of all arms.

    Attributes:
        opened: (r, w) whether the box is open.
        worked: (r, w) steps that A has been at the lock without a break.
        mine, other: (r, w) trees at which A and B were in the step before.
    """

    opened: Tensor
    worked: Tensor
    mine: Tensor
    other: Tensor


class Play(NamedTuple):
    """An episode.

    Attributes:
        rows: of A and of B, (t + 1, r, w): what they saw.
        acts: of A and of B, (t, r, w).
        eaten: by A and by B, (t, r, w).
        answers: (t, r, w, a) the row that B would see next, for each action of A.
        opened: (r, w) whether the box is open at the end.
    """

    rows: tuple[Tensor, Tensor]
    acts: tuple[Tensor, Tensor]
    eaten: tuple[Tensor, Tensor]
    answers: Tensor
    opened: Tensor


class Tables(nn.Module):
    """Logits and a value for each row that an agent may see, the same in every arm at first.

    Args:
        rows: what it may see.
        actions: how many it has.
    """

    def __init__(self, rows: int, actions: int) -> None:
        super().__init__()
        self.logits, self.values = (
            nn.Parameter(torch.zeros(len(ARMS), rows, actions)),
            nn.Parameter(torch.zeros(len(ARMS), rows)),
        )

    def policy(self, rows: Tensor) -> Tensor:
        """Return log-probabilities (..., r, w, a) at rows (..., r, w)."""
        return self.logits.log_softmax(-1)[arm(rows), rows]

    def value(self, rows: Tensor) -> Tensor:
        """Return values (..., r, w) at rows."""
        return self.values[arm(rows), rows]


def arm(rows: Tensor) -> Tensor:
    """Return each entry's arm, to index with."""
    return torch.arange(len(ARMS))[:, None].expand(rows.shape)


def seen_by_a(config: Config, state: State) -> Tensor:
    """Return the row of A: how far the lock is, and which trees are bare."""
    some = config.trees + 1
    return torch.where(state.opened, config.work * some + state.mine * some + state.other, state.worked * some + state.mine)


def seen_by_b(config: Config, opened: Tensor, mine: Tensor, other: Tensor) -> Tensor:
    """Return the row of B: whether it is free, and which trees are bare."""
    some = config.trees + 1
    return torch.where(opened, some + mine * some + other, mine)


def after(config: Config, state: State, a: Tensor, b: Tensor) -> State:
    """Return the worlds after both have acted."""
    worked = torch.where(a == config.trees, state.worked + 1, 0)
    opened = state.opened | (worked >= config.work)
    return State(opened, worked.clamp(max=config.work - 1), a, torch.where(state.opened, b, config.trees))


def eaten(config: Config, state: State, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the apples of A and B in a step: one at a tree that bears one, half if both are there."""

    def ripe(tree: Tensor) -> Tensor:
        return (tree < config.trees) & (tree != state.mine) & (tree != state.other)

    shared = torch.where(state.opened & (a == b), 0.5, 1.0)
    return ripe(a) * shared, (ripe(b) & state.opened) * shared


def episode(config: Config, first: Tables, second: Tables, count: int, free: bool, generator: Generator) -> Play:
    """Play an episode in some fresh worlds of each arm."""
    none = torch.full((len(ARMS), count), config.trees)
    state = State(torch.full_like(none, free, dtype=torch.bool), torch.zeros_like(none), none, none)
    found: list[tuple[Tensor, ...]] = []
    every = torch.arange(config.trees + 1)
    with torch.no_grad():
        for _ in range(config.steps):
            rows = seen_by_a(config, state), seen_by_b(config, state.opened, state.mine, state.other)
            a, b = (sample_categorical(one.policy(row), generator) for one, row in zip((first, second), rows, strict=True))
            supposed = after(config, State(*(one[..., None] for one in state)), every, b[..., None])
            answers = seen_by_b(config, supposed.opened, supposed.mine.expand_as(supposed.opened), supposed.other)
            found.append((*rows, a, b, *eaten(config, state, a, b), answers))
            state = after(config, state, a, b)
    last = seen_by_a(config, state), seen_by_b(config, state.opened, state.mine, state.other)
    ahead, behind, a, b, mine, others, answers = (torch.stack(one) for one in zip(*found, strict=True))
    rows = torch.cat([ahead, last[0][None]]), torch.cat([behind, last[1][None]])
    return Play(rows, (a, b), (mine, others), answers, state.opened)


@torch.no_grad()
def influence(first: Tables, second: Tables, play: Play) -> Tensor:
    """Return the influence of each of A's actions on what B does next, (t, r, w): equation 2, with B's own policy."""
    supposed = second.policy(play.answers.movedim(-1, 0)).movedim(0, -2)  # (t, r, w, a, b)
    each = causal_influence(supposed, first.policy(play.rows[0][:-1]), play.acts[0])
    return influence_rewards(each.movedim(0, -1)[..., None]).movedim(-1, 0)


def pay(config: Config, first: Tables, second: Tables, play: Play) -> Tensor:
    """Return what A is paid at each step, by its arm, (t, r, w)."""
    own = play.eaten[0]
    changed = config.beta * influence(first, second, play)
    surprise = -config.beta * chosen(first.policy(play.rows[0][:-1]).detach(), play.acts[0])
    arms = {"none": own, "influence": own + changed, "alone": changed, "surprise": own + surprise}
    return torch.stack([arms[name][:, index] for index, name in enumerate(ARMS)], 1)


def loss(config: Config, tables: Tables, rows: Tensor, acts: Tensor, rewards: Tensor) -> Tensor:
    """Return the loss of an agent in all arms, a scalar; arms share no parameter.

    Args:
        config: weights and discounts.
        tables: the agent.
        rows: (t + 1, r, w) what it saw.
        acts: (t, r, w) what it did.
        rewards: (t, r, w) what it was paid.
    """
    values, logs = tables.value(rows), tables.policy(rows[:-1])
    known = values.detach().clone()
    known[-1] = 0.0  # the episode is over
    missed = (rewards + config.discount * known[1:] - known[:-1]).flatten(1)
    better = linear_recurrence(torch.full_like(missed, config.discount * config.trace), missed).view_as(rewards)
    misses = (values[:-1] - better - known[:-1]).square()
    scaled = (better - better.mean((0, 2), keepdim=True)) / (better.std((0, 2), keepdim=True) + 1e-3)
    entropy = -(logs.exp() * logs).sum(-1)
    return (0.5 * misses - scaled * chosen(logs, acts) - config.entropy * entropy).mean((0, 2)).sum()


def run(config: Config) -> Iterator[Row]:
    """Yield, for each arm, how episodes in fresh worlds go after training."""
    some = config.trees + 1
    first, second = Tables(config.work * some + some**2, some), Tables(some + some**2, config.trees)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=config.learning_rate)
    generator = stream(config.seed, "worlds")
    for done in kept_steps("learning", config.updates, first, second, optimizer, generator):
        play = episode(config, first, second, config.worlds, done < config.before * config.updates, generator)
        optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - done / config.updates)
        own = loss(config, first, play.rows[0], play.acts[0], pay(config, first, second, play))
        descend(optimizer, own + loss(config, second, play.rows[1], play.acts[1], play.eaten[1]))
    play = episode(config, first, second, config.tested, False, stream(config.seed, "test"))
    mine, others = (one.sum(0).mean(-1).tolist() for one in play.eaten)
    opened, changed = play.opened.double().mean(-1).tolist(), influence(first, second, play).mean((0, 2)).tolist()
    for index, name in enumerate(ARMS):
        row: Row = {"kind": "box", "arm": name, "opened": opened[index], "influence": changed[index]}
        yield row | {"own": mine[index], "reward": mine[index] + others[index]}

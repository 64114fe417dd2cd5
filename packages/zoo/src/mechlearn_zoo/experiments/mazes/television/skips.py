"""PPO on curiosity alone in front of televisions, with a forward model of the next frame and with one that may skip frames.

A roll-out is one episode of every walker; nothing tells the learner that it ends. The skipping model predicts, from features
and action, one of the next H frames: the one that it predicts best, by which it is trained and paid (`mechlearn.skips.Greedy`'s
match for one prediction). All forward models have the same form, the same frames and the same number of updates.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from claimlab import Positive, Preset, Row, number, part
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.mazes.television.flickering import Flickering
from mechlearn_zoo.experiments.mazes.television.television import PRESS, Television
from mechlearn_zoo.experiments.mazes.television.watching import FEATURES, Settings, make_world, walk
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.learners.ppo import DISCOUNT, PARTS, PASSES, Walker, update
from mechlearn_zoo.methods.control import RewardScale, scaled

SETS = ("off", "flickering", "staying")
"""No television; one that goes dark after each picture; one whose picture stays until the next press."""
MODELS = ("next", "easiest", "any")
"""Which frame the forward model predicts: the next; the easiest of H; any of H at random, as far but not by ease."""
ARMS = (
    ("off", "none"), ("off", "next"), ("off", "easiest"),
    ("flickering", "next"), ("flickering", "easiest"), ("flickering", "any"),
    ("staying", "next"), ("staying", "easiest"),
)  # fmt: skip


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

    horizon: Annotated[int, Ge(1)] = 4
    """H, how many frames ahead the easiest may lie."""
    rate: Positive = 1e-3
    """Adam's learning rate."""


PRESETS = {"skips": Preset(Config(), seeds=6), "skips-paper": Preset(Config(walkers=128, rollouts=200, horizon=20), seeds=10)}


class Forward(NamedTuple):
    """Random features that stay, a network that predicts features ahead, and which frame ahead it is held to."""

    features: nn.Module
    network: nn.Module
    held: str
    horizon: int

    def errors(self, seen: Tensor, actions: Tensor, generator: Generator) -> Tensor:
        """Return the errors (T, B) for features (T + 1, B, d) and actions (T, B, A): of the frame that counts."""
        predicted = self.network(torch.cat((seen[:-1], actions), -1))
        if self.held == "next":
            return (predicted - seen[1:]).square().mean(-1)
        windows = ahead(seen, self.horizon)
        apart = (predicted - windows).square().mean(-1)
        if self.held == "easiest":
            return apart.amin(0)
        chosen = torch.randint(self.horizon, actions.shape[:2], generator=generator)
        return apart.gather(0, chosen[None])[0]


def ahead(seen: Tensor, horizon: int) -> Tensor:
    """Return (H, T, B, d), the 1st to Hth frame after each; the last stands in for those behind the end."""
    last = len(seen) - 1
    places = torch.arange(last) + torch.arange(1, horizon + 1)[:, None]
    return seen[places.clamp(max=last)]


def make(kind: str, generator: Generator) -> Television:
    """Return the maze and its set."""
    world = make_world(generator, on=kind != "off")
    return Flickering(world.grid, world.textures, world.pictures) if kind == "flickering" else world


def train(config: Config, kind: str, held: str) -> Iterator[Row]:
    """Yield coverage and presses of every roll-out."""
    generator = Generator().manual_seed(config.seed)
    world = make(kind, generator)
    model = Walker(world.size, world.actions, generator)
    features = relu_mlp((world.size, 64, FEATURES), generator).requires_grad_(requires_grad=False)
    network = relu_mlp((FEATURES + world.actions, 64, FEATURES), generator)
    forward = Forward(features, network, held, config.horizon)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.rate)
    own = torch.optim.Adam(network.parameters(), lr=config.rate)
    scale = RewardScale(torch.zeros(config.walkers))
    for index in range(config.rollouts):
        rollout, cells = walk(model, world, config.walkers, config.steps, generator)
        if held != "none":  # PPO would scale up what noise there is in advantages of nothing, and drift
            seen, actions = features(rollout.observations), one_hot(rollout.actions, world.actions).float()
            with torch.no_grad():
                paid = forward.errors(seen, actions, generator)
            paid, scale = scaled(scale, paid, DISCOUNT)
            update(model, optimizer, rollout, paid, generator)
            fit(forward, own, seen, actions, generator)
        covered = one_hot(cells, len(world.grid)).amax(0).sum(1).double().mean() / len(world.grid)
        yield {
            "set": kind, "model": held, "rollout": index, "budget": (index + 1) * config.steps * config.walkers,
            "coverage": float(covered), "presses": float((rollout.actions == PRESS).double().mean()),
            "last": index >= config.rollouts - config.rollouts // 5,
        }  # fmt: skip


def fit(forward: Forward, optimizer: torch.optim.Optimizer, seen: Tensor, actions: Tensor, generator: Generator) -> None:
    """Take PASSES over a roll-out, PARTS of the walkers at a time: a window lies in one walker's episode."""
    for _ in range(PASSES):
        for columns in torch.randperm(seen.shape[1], generator=generator).chunk(PARTS):
            descend(optimizer, forward.errors(seen[:, columns], actions[:, columns], generator).mean())


def run(config: Config) -> Iterator[Row]:
    """Yield every arm's rows."""
    for kind, held in ARMS:
        yield from part(f"{kind}-{held}", train(config, kind, held))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    place = ARMS.index((str(row["set"]), str(row["model"])))
    return (place + (number(row, "rollout") + 1) / config.rollouts) / len(ARMS), f"{row['set']}, {row['model']}"

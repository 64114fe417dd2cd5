"""PPO in a maze whose television changes at the press of a button; every episode begins at the same cell.

In most arms a bonus is all that is paid. A roll-out is one episode of every walker. Nothing tells the learner that an episode
ends: the last observation is bootstrapped.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from claimlab import Positive, Preset, Row, number, part
from mechlearn_zoo.experiments.mazes.television.pitfalls import Pitfalls, with_pits
from mechlearn_zoo.experiments.mazes.television.rewards import (
    GOALS,
    UNPAID,
    WALK,
    WALKS,
    arrivals,
    bonus_of,
    goal_of,
    reach,
    separation,
)
from mechlearn_zoo.experiments.mazes.television.television import PRESS, Television
from mechlearn_zoo.experiments.mazes.television.watching import FEATURES, Settings, make_world, walk
from mechlearn_zoo.learners.bonuses import curiosity, losses_of
from mechlearn_zoo.learners.ppo import DISCOUNT, Walker, update
from mechlearn_zoo.methods.control import Curiosity, RewardScale, Rollout, scaled
from mechlearn_zoo.tasks.finite.grids import Grid

CURIOUS = ("random", "inverse", "pixels", "vae")
METHODS = ("none", "counts", *CURIOUS, "reachability", "continuous")
"""No bonus, which acts at random and does not learn; 1 for each cell that is new in the episode, which is told (an oracle);
prediction error in four feature spaces; reachability with the step's bonus, and with the paper's continuous one."""
WITH_TV = METHODS[:-1]
"""The methods that are also run with the set on."""
PAID = ("none", "random", "reachability")
"""The methods that are also paid for coming to a goal; there "none" learns from that alone."""
FALLING = ("none", "random")
"""The methods that also walk where there are pits."""
PITS = 0.3
"""Share of the walls beside the ways that are pits where there are any."""
FILMED, FILMS = ("random", "reachability"), 4
"""Whose last episodes are kept with the set on, and of how many walkers."""


class Arm(NamedTuple):
    """A method; whether the set is on; where a goal pays, if it does; whether there are pits."""

    method: str
    on: bool = False
    goal: str = ""
    pits: bool = False

    @property
    def name(self) -> str:
        """Return what tells it apart."""
        return "-".join([self.method, str(self.on), *filter(None, [self.goal, "pits" * self.pits])])


ARMS = (
    *(Arm(method) for method in METHODS),
    *(Arm(method, on=True) for method in WITH_TV),
    *(Arm(method, goal=goal) for goal in GOALS for method in PAID),
    *(Arm(method, pits=True) for method in FALLING),
)


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

    rate: Positive = 1e-3
    """Adam's learning rate, of all networks but reachability's, whose is 3e-3."""
    pair_updates: Annotated[int, Ge(1)] = 2500
    """Of the reachability network, on 256 pairs each, before the policy learns."""
    beside: Positive = 0.1
    """What a bonus weighs beside a goal's reward of 1."""


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(walkers=128, rollouts=200, pair_updates=6000), seeds=10)}


def make(arm: Arm, generator: Generator) -> Television:
    """Draw the arm's maze."""
    world = make_world(generator, arm.on)
    if not arm.pits:
        return world
    grid, pits = with_pits(world.grid, PITS, generator)
    return Pitfalls(grid, world.textures, world.pictures, arm.on, pits=pits)


def train(config: Config, arm: Arm) -> Iterator[Row]:
    """Yield what is seen, pressed and reached in every roll-out, and where the walkers were in the last fifth of them."""
    generator = Generator().manual_seed(config.seed)
    world = make(arm, generator)
    grid, method = world.grid, arm.method
    model = Walker(world.size, world.actions, generator)
    curious = curiosity(method, world.size, world.actions, FEATURES, generator) if method in CURIOUS else None
    network = reach(config.pair_updates, world, generator) if method in ("reachability", "continuous") else None
    told = {"method": method, "tv": arm.on, "goal": arm.goal, "pits": arm.pits}
    if network is not None and not arm.goal:
        yield {"kind": "network", **told, "separation": separation(network, world, generator)}
    optimizer = torch.optim.Adam(_learning(model, curious), lr=config.rate)
    scale, visits = RewardScale(torch.zeros(config.walkers)), torch.zeros(len(grid))
    bonus, goal = bonus_of(method, curious, network, len(grid), generator), goal_of(grid, arm.goal or UNPAID)
    for index in range(config.rollouts):
        rollout, cells = walk(model, world, config.walkers, config.steps, generator)
        paid = bonus(rollout, cells)
        if curious:
            paid, scale = scaled(scale, paid, DISCOUNT)
        if arm.goal:
            paid = config.beside * paid + arrivals(cells, goal)
        if arm.goal or method != "none":  # on nothing PPO would scale up what noise there is in advantages, and drift
            update(model, optimizer, rollout, paid, generator, losses_of(curious, rollout) if curious else None)
        last = index >= config.rollouts - config.rollouts // 5
        visits += last * one_hot(cells, len(grid)).sum((0, 1))
        yield {"kind": "goal" if arm.goal else "pits" if arm.pits else "curve", **told, "rollout": index, "last": last,
               "budget": (index + 1) * config.steps * config.walkers + (WALK * WALKS if network is not None else 0),
               **measured(rollout, cells, world, goal)}  # fmt: skip
        if arm.on and method in FILMED and index == config.rollouts - 1:
            yield {"kind": "film", **told, "maze": drawn(grid), **filmed(rollout, cells)}
    if not arm.goal and not arm.pits:
        yield {"kind": "map", **told, "shares": " ".join(f"{float(share):.4f}" for share in visits / visits.sum()),
               "maze": drawn(grid)}  # fmt: skip


def measured(rollout: Rollout, cells: Tensor, world: Television, goal: int) -> Row:
    """Return shares of cells visited, of actions that press and of walkers that come to the goal; falls in 1000 steps."""
    visited = one_hot(cells, len(world.grid)).amax(0)
    falls = world.fallen(cells[:-1], rollout.actions).double().mean() if isinstance(world, Pitfalls) else 0
    return {
        "coverage": float(visited.sum(1).double().mean() / len(world.grid)), "reached": float(visited[:, goal].double().mean()),
        "presses": float((rollout.actions == PRESS).double().mean()), "falls": 1000 * float(falls),
    }  # fmt: skip


def drawn(grid: Grid) -> str:
    """Return the maze as text, its lines joined by slashes: a dot is free."""
    return "/".join("".join(".#"[int(not free)] for free in row) for row in grid.free.tolist())


def filmed(rollout: Rollout, cells: Tensor) -> Row:
    """Return the cells of some walkers and when they press, as text: a walker after the other."""
    walks, presses = cells[:, :FILMS].T.tolist(), (rollout.actions[:, :FILMS] == PRESS).long().T.tolist()
    lines = [" ".join(map(str, walk)) for walk in walks], ["".join(map(str, some)) for some in presses]
    return {"cells": "/".join(lines[0]), "pressed": "/".join(lines[1])}


def _learning(model: Walker, curious: Curiosity | None) -> list[Tensor]:
    every = [*model.parameters(), *(curious.parameters() if curious else ())]
    return [one for one in every if one.requires_grad]


def run(config: Config) -> Iterator[Row]:
    """Yield every arm's rows."""
    for arm in ARMS:
        yield from part(arm.name, train(config, arm))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    arm = Arm(str(row["method"]), bool(row["tv"]), str(row["goal"]), bool(row["pits"]))
    done = (number(row, "rollout") + 1) / config.rollouts if "rollout" in row else float(row["kind"] != "network")
    return (ARMS.index(arm) + done) / len(ARMS), arm.name

"""Random MDPs small enough to list every trajectory: the surrogates' expected Hessians, and their spread over trajectories."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor
from torch.func import grad, jacrev, vmap

from claimlab import Limited, Positive, Preset, Row
from mechlearn_zoo.methods.control import surrogate
from mechlearn_zoo.methods.control.promp import Kind

KINDS: tuple[Kind, ...] = ("log", "lr", "dice")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the MDPs."""
    mdps: Annotated[int, Ge(1)] = 32
    """Random MDPs for each horizon."""
    states: Annotated[int, Ge(1)] = 2
    """Of an MDP."""
    actions: Annotated[int, Ge(2)] = 2
    """Of an MDP."""
    horizons: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (2, 3, 4, 5)
    """Steps of an episode."""
    alpha: Positive = 0.1
    """Size of the inner step."""


PRESETS = {
    "estimators": Preset(Config(), seeds=3),
    "estimators-paper": Preset(Config(mdps=200, states=3, horizons=(2, 3, 4)), seeds=10),
}


class World(NamedTuple):
    """An MDP and a softmax policy, all in float64: logits (S, A), start (S,), kernel (S, A, S), reward (S, A)."""

    theta: Tensor
    start: Tensor
    kernel: Tensor
    reward: Tensor


class Listed(NamedTuple):
    """All trajectories: states and actions (N, T), their probabilities (N,)."""

    states: Tensor
    actions: Tensor
    probability: Tensor


def draw(config: Config, generator: Generator) -> World:
    """Return a random world."""

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    states, actions = config.states, config.actions
    theta = torch.randn(states, actions, generator=generator, dtype=torch.float64)
    start, kernel = uniform(states), uniform(states, actions, states)
    return World(theta, start / start.sum(), kernel / kernel.sum(-1, keepdim=True), uniform(states, actions))


def listed(world: World, time: int) -> Listed:
    """Return every trajectory of so many steps."""
    states, actions = world.reward.shape
    paths = itertools.product(range(states), *[range(actions), range(states)] * (time - 1), range(actions))
    table = torch.tensor(list(paths))
    s, a = table[:, 0::2], table[:, 1::2]
    moved = world.kernel[s[:, :-1], a[:, :-1], s[:, 1:]].prod(1)
    return Listed(s, a, world.start[s[:, 0]] * world.theta.log_softmax(-1)[s, a].exp().prod(1) * moved)


def returns(theta: Tensor, world: World, time: int) -> Tensor:
    """Return the expected return, by dynamic programming."""
    pi, following = theta.softmax(-1), torch.zeros_like(world.start)
    for _ in range(time):
        following = (pi * (world.reward + world.kernel @ following)).sum(-1)
    return world.start @ following


def curvatures(world: World, trajectories: Listed, kind: Kind) -> Tensor:
    """Return the Hessian (N, P, P) that differentiating one trajectory's surrogate twice gives."""
    old, paid = world.theta.log_softmax(-1), world.reward[trajectories.states, trajectories.actions]
    credit = paid if kind == "dice" else paid.flip(1).cumsum(1).flip(1)

    def one(theta: Tensor, s: Tensor, a: Tensor, credited: Tensor) -> Tensor:
        log_pi = theta.view_as(old).log_softmax(-1)[s, a]
        return surrogate(log_pi[:, None], old[s, a][:, None], credited[:, None], kind)

    second = vmap(jacrev(grad(one)), in_dims=(None, 0, 0, 0))
    return second(world.theta.flatten(), trajectories.states, trajectories.actions, credit)


def measured(world: World, time: int, alpha: float) -> Iterator[Row]:
    """Yield each surrogate's error and spread; the outer gradient is the true one after the true step."""
    flat = world.theta.flatten()

    def value(theta: Tensor) -> Tensor:
        return returns(theta.view_as(world.theta), world, time)

    true, trajectories = jacrev(grad(value))(flat), listed(world, time)
    outer = grad(value)(flat + alpha * grad(value)(flat))
    exact = outer + alpha * true @ outer
    for kind in KINDS:
        every = curvatures(world, trajectories, kind)
        mean = torch.einsum("n,nij->ij", trajectories.probability, every)
        spread = (trajectories.probability * (alpha * (every - mean) @ outer).square().sum(-1)).sum().sqrt()
        yield {
            "horizon": time, "kind": kind,
            "error": float((mean - true).norm() / true.norm()),
            "meta_error": float((outer + alpha * mean @ outer - exact).norm() / exact.norm()),
            "spread": float(spread / exact.norm()),
        }  # fmt: skip


def run(config: Config) -> Iterator[Row]:
    """Yield a row for each MDP, horizon and surrogate."""
    generator = Generator().manual_seed(config.seed)
    for mdp in range(config.mdps):
        world = draw(config, generator)
        for time in config.horizons:
            for row in measured(world, time, config.alpha):
                yield {"mdp": mdp, **row}

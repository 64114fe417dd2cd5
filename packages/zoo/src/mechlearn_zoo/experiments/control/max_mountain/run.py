"""Explore a task without its reward for some steps, and count the cells of a grid that were visited."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge

from claimlab import Limited, Preset, Row
from mechlearn_zoo.experiments.control.max_mountain.explorers import Explorer, Planner, Reactive, Walker
from mechlearn_zoo.experiments.control.max_mountain.world import World, cell
from mechlearn_zoo.learners.planning import Ensemble
from mechlearn_zoo.tasks.streams import stream

METHODS = ("max", "reactive", "lasting", "random", "untrained")
"""`reactive` starts again after each fit, as in the authors' code; `lasting` keeps its weights and makes twice the updates."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 300
    """First seed: of the task, the weights and everything drawn."""
    environment: str = "MountainCarContinuous-v0"
    """A task of Gymnasium with vectors in bounded boxes as states and actions."""
    steps: Annotated[int, Ge(1)] = 1000
    """Of the environment, for each explorer."""
    cells: Annotated[int, Ge(1)] = 20
    """A side of the grid over the first two numbers of a state."""
    members: Annotated[int, Ge(2)] = 5
    """Networks of an ensemble."""
    horizon: Annotated[int, Ge(1)] = 25
    """Steps of a plan."""
    first: Annotated[int, Ge(2)] = 100
    """Steps at random before an explorer acts."""
    every: Annotated[int, Ge(1)] = 25
    """Steps between fits of the ensemble, and between counts of cells."""
    fitted: Annotated[int, Ge(1)] = 50
    """Steps of Adam in a fit."""
    updates: Annotated[int, Ge(1)] = 100
    """Of the reactive explorer after each fit."""


PRESETS = {"quick": Preset(Config(), seeds=6)}


def run(config: Config) -> Iterator[Row]:
    """Yield each explorer's coverage on its way, and its visits."""
    for method in METHODS:
        yield from explore(method, config)


def explore(method: str, config: Config) -> Iterator[Row]:
    """Yield one explorer's coverage, and at the end its visits: a digit a cell, 1 + log2 of their number, 9 at most."""
    generator = stream(config.seed, "exploring")
    world, ensemble_of = World(config.environment, config.seed), stream(config.seed, "ensemble")
    sizes = (world.states, world.actions, world.states, 1)
    ensemble = Ensemble(world.states, world.actions, ensemble_of, config.members)
    walker = Walker(world.actions, generator)
    agent: Explorer = walker
    if method in ("reactive", "lasting"):
        fresh, updates = method == "reactive", config.updates * (1 if method == "reactive" else 2)
        agent = Reactive(ensemble, world.states, world.actions, updates, fresh, generator)
    elif method != "random":
        agent = Planner(ensemble, world.actions, config.horizon, generator)
    log, visits, solved = torch.zeros(config.steps, sum(sizes)), torch.zeros(config.cells**2), 0
    state = world.reset()
    for step in range(1, config.steps + 1):
        action = (agent if step > config.first else walker).act(state)
        following, terminated, over = world.step(action)
        log[step - 1] = torch.cat((state, action, following, torch.tensor([float(terminated)])))
        visits[cell(following, config.cells)] += 1
        solved, state = solved + terminated, following
        if over:
            state = world.reset()
            agent.begin()
        if step % config.every == 0:
            yield {"kind": "coverage", "method": method, "step": step, "share": float((visits > 0).float().mean())}
            if step >= config.first and method != "random":
                states, actions, after, ended = log[:step].split(sizes, 1)
                ensemble.fit(states, actions, after, 0 if method == "untrained" else config.fitted, generator)
                agent.learn((states, actions, after, ended))
    digits = torch.where(visits > 0, 1 + visits.clamp_min(1).log2().floor(), 0).clamp_max(9).int().tolist()
    yield {"kind": "visits", "method": method, "solved": solved, "cells": "".join(map(str, digits))}

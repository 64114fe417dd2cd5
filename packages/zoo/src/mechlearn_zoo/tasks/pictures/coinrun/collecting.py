"""Recording an expert at play: states sampled from its trajectories, with its action probabilities.

Thesis appendix B.2.6: 1000 states from each of 64 training levels, sampled randomly from the expert's trajectories; 2000 test
states, each from a level of its own that training does not have. Levels for validation, of which the texts say nothing, are
recorded like the test's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from mechlearn_zoo.tasks.pictures.cloning import Recording, States
from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError
from mechlearn_zoo.tasks.pictures.coinrun.expert import Expert
from mechlearn_zoo.tasks.pictures.coinrun.levels import Levels, Observation

Say = Callable[[str, float], None]
"""Told what is going on and which share of it is done."""


@dataclass(frozen=True)
class Collection:
    """What is recorded.

    Args:
        levels: training levels, the first that there are.
        states: states of each.
        keep: probability of keeping a state of a training level's trajectory: neighbours are alike.
        validation: levels for selecting settings, one state each.
        test: levels for reporting, one state each.
        games: played at once.
        mode: Procgen's difficulty.
        seed: of levels' order, of actions and of the sampling.
    """

    levels: int = 64
    states: int = 1000
    keep: float = 0.25
    validation: int = 500
    test: int = 2000
    games: int = 64
    mode: str = "easy"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("levels", "states", "validation", "test", "games"):
            if getattr(self, name) < 1:
                raise CollectorError(f"--{name} should be at least 1. Found {getattr(self, name)}. Pass a larger one.")
        if not 0 < self.keep <= 1:
            raise CollectorError(f"--keep should be a probability above 0. Found {self.keep:g}. Pass 0.25, for example.")


def collect(python: Path, expert: Expert, collection: Collection, say: Say = lambda text, share: None) -> Recording:
    """Let the expert play and record what it sees.

    Args:
        python: an interpreter that can import Procgen.
        expert: plays and is recorded.
        collection: how much.
        say: told of the progress.

    Raises:
        CollectorError: the simulator ends before all is recorded.
    """
    generator = np.random.default_rng(collection.seed)

    def opened(levels: int) -> Levels:
        return Levels(python, collection.games, levels, mode=collection.mode, seed=collection.seed)

    with opened(collection.levels) as levels:
        train = _of_each_level(levels, expert, collection, generator, say)
    with opened(0) as levels:  # all there are
        others = _one_per_level(levels, expert, collection, generator, say)
    validation = States(*(field[: collection.validation] for field in others))
    test = States(*(field[collection.validation :] for field in others))
    about = {
        "source": "Procgen CoinRun",
        "mode": collection.mode,
        "seed": str(collection.seed),
        "expert": "PPO, stable-baselines3",
        "expert_steps": str(expert.steps),
        "expert_return": "unknown" if expert.mean_return is None else f"{expert.mean_return:.3f}",
    }
    return Recording(train, validation, test, about)


def _play(levels: Levels, expert: Expert, generator: np.random.Generator) -> Iterator[tuple[Observation, np.ndarray]]:
    """Every observation with pi*(a | s), before an action that is drawn from it is taken."""
    while True:
        seen = levels.observe()
        policy = expert.probabilities(seen.frames).numpy()
        yield seen, policy
        draws = generator.random((len(policy), 1))
        actions = (policy.cumsum(axis=1) < draws * policy.sum(axis=1, keepdims=True)).sum(axis=1)
        levels.step(np.minimum(actions, policy.shape[1] - 1).astype(np.int32))


def _of_each_level(levels: Levels, expert: Expert, wanted: Collection, generator: np.random.Generator, say: Say) -> States:
    kept: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {level: [] for level in range(wanted.levels)}
    total, missing = wanted.levels * wanted.states, wanted.levels * wanted.states
    for seen, policy in _play(levels, expert, generator):
        for game in np.flatnonzero(generator.random(levels.games) < wanted.keep):
            states = kept[int(seen.levels[game])]
            if len(states) < wanted.states:
                states.append((seen.frames[game].copy(), policy[game].copy()))
                missing -= 1
        say("training levels", 1 - missing / total)
        if not missing:
            break
    return _states([(level, *state) for level, states in kept.items() for state in states])


def _one_per_level(levels: Levels, expert: Expert, wanted: Collection, generator: np.random.Generator, say: Say) -> States:
    """One state, uniform over its trajectory, of each of the first levels that begin: not of those that end first."""
    count = wanted.validation + wanted.test
    order: list[int] = []  # levels by their beginning
    owner = [-1] * levels.games  # which level's first episode a game plays; -1 for none
    length = np.zeros(levels.games, dtype=np.int64)
    chosen: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for seen, policy in _play(levels, expert, generator):
        for game in range(levels.games):
            level = int(seen.levels[game])
            if seen.begins[game]:
                fresh = level >= wanted.levels and level not in chosen and len(order) < count
                owner[game], length[game] = (level if fresh else -1), 0
                order += [level] if fresh else []
                if fresh:
                    chosen[level] = (seen.frames[game].copy(), policy[game].copy())
            if owner[game] == level:
                length[game] += 1
                if generator.random() < 1 / length[game]:  # a reservoir of one
                    chosen[level] = (seen.frames[game].copy(), policy[game].copy())
        say("validation and test levels", len(order) / count)
        if len(order) == count and all(level < 0 for level in owner):
            break
    return _states([(level, *chosen[level]) for level in order])


def _states(rows: list[tuple[int, np.ndarray, np.ndarray]]) -> States:
    levels, frames, policies = zip(*rows, strict=True)
    policy = torch.from_numpy(np.stack(policies))
    return States(torch.from_numpy(np.stack(frames)), policy / policy.sum(dim=1, keepdim=True), torch.tensor(levels))

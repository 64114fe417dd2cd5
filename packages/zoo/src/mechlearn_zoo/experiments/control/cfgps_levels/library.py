"""The levels of one seed as a model and a world, logged episodes, and policies that go by their cell alone."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Generator, Tensor

from claimlab import Limited, Share
from mechlearn_zoo.methods.control.counterfactual import Episodes, Scenarios, View, evaluate, rollouts
from mechlearn_zoo.tasks.finite.scenarios import levels, lower_left

DISCOUNT = 0.95


@dataclass(frozen=True)
class Settings(Limited):
    """Of the levels and of what is logged in them."""

    seed: int = 100
    """First seed: of levels, logged episodes, weights and everything drawn later."""
    levels: Annotated[int, Ge(10)] = 400
    """In the library."""
    glimpse: Share = 0.1
    """Probability that a cell is seen in a step."""
    logged: Annotated[int, Ge(2)] = 200
    """Episodes of a random policy in the world."""
    steps: Annotated[int, Ge(1)] = 25
    """Of an episode."""


class Library(NamedTuple):
    """What there is: the model with its even prior, (K,) how often the world draws each level, (K,) goals."""

    model: Scenarios
    world: Tensor
    goal: Tensor


class Policies(NamedTuple):
    """Values of policies in each level, (P, K), what they are in the world, (P,), and the model's mean error with its prior."""

    values: Tensor
    truth: Tensor
    model_error: float

    def error(self, beliefs: Tensor) -> float:
        """Return the mean absolute error of the policies' values, as beliefs (B, K) have them."""
        found = [evaluate(value, beliefs).value for value in self.values]
        errors = [abs(one - float(wanted)) for one, wanted in zip(found, self.truth, strict=True)]
        return sum(errors) / len(errors)


def make_library(config: Settings, generator: Generator) -> Library:
    """Draw levels of 6 x 6 cells, 15 % walls and 5 % pits."""
    found = levels(config.levels, generator, 6, walls=0.15, pits=0.05)
    prior = torch.full((config.levels,), 1 / config.levels, dtype=torch.float64)
    model = Scenarios(found.next, found.picture, found.rewards, found.ends, prior, found.start, config.glimpse)
    return Library(model, lower_left(found), found.goal)


def log(library: Library, config: Settings, generator: Generator) -> Episodes:
    """Act at random in the world's levels."""
    chosen = torch.multinomial(library.world, config.logged, replacement=True, generator=generator)
    return rollouts(library.model, chosen, wander, config.steps, generator)


def judged_policies(library: Library) -> Policies:
    """Return the four that drift to a corner, whose values need no samples."""
    values = torch.stack([library.model.process(DISCOUNT).objective(policy) for policy in drifting(6)])
    truth = values @ library.world
    return Policies(values, truth, float((values @ library.model.prior - truth).abs().mean()))


def drifting(size: int) -> list[Tensor]:
    """Return four policies, (S, 4) each: one drifts to each corner, each of its two moves with probability 0.4."""
    found: list[Tensor] = []
    for vertical in (0, 1):
        for horizontal in (2, 3):
            moves = torch.full((4,), 0.1, dtype=torch.float64)
            moves[[vertical, horizontal]] = 0.4
            found.append(moves.expand(size * size, 4))
    return found


def wander(view: View, generator: Generator) -> tuple[Tensor, Tensor]:
    """Act evenly at random: the policy that logged."""
    actions = torch.randint(4, view.cells.shape, generator=generator)
    return actions, torch.full(actions.shape, 0.25).log()

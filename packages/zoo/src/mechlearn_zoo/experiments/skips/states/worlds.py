"""The worlds: where timing is random, where a body falls, and where everything goes by a clock."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

from mechlearn_zoo.experiments.skips.states.falling import PITCH, falling_hopper
from mechlearn_zoo.tasks.bodies.motions import double_pendulum, oscillator, stopping_ball

Name = Literal["stops", "hopper", "oscillator", "double pendulum"]
FRAMES = 33
"""Of a trajectory."""


class World(NamedTuple):
    """Where trajectories come from, and what label their last frame shows; None where there is only an error to measure."""

    draw: Callable[[int, int, int], Tensor]
    label: Callable[[Tensor], int] | None = None


def height(states: Float[Tensor, "t 4"]) -> int:
    """Return the quarter of the wall that a ball is at in the end."""
    return int((states[-1, 1] * 4).floor().clamp(0, 3))


def forward(states: Float[Tensor, "t 12"]) -> int:
    """Return whether a body has fallen forward."""
    return int(states[-1, PITCH] > 0)


WORLDS: dict[str, World] = {
    "stops": World(stopping_ball, height),
    "hopper": World(falling_hopper, forward),
    "oscillator": World(oscillator),
    "double pendulum": World(double_pendulum),
}


class Data(NamedTuple):
    """Standardised trajectories (n, T, d): to learn from, to choose on and to judge on; and how to undo it."""

    train: Float[Tensor, "n t d"]
    validation: Float[Tensor, "n t d"]
    test: Float[Tensor, "n t d"]
    mean: Float[Tensor, " d"]
    deviation: Float[Tensor, " d"]


def data(name: str, seed: int, sizes: tuple[int, int, int]) -> Data:
    """Draw a world's trajectories; units are those of the ones to learn from."""
    drawn = WORLDS[name].draw(seed, sum(sizes), FRAMES).float()
    train, validation, test = drawn.split(sizes)
    flat = train.flatten(0, 1)
    mean, deviation = flat.mean(0), flat.std(0).clamp(min=1e-6)
    parts = [(some - mean) / deviation for some in (train, validation, test)]
    return Data(parts[0], parts[1], parts[2], mean, deviation)

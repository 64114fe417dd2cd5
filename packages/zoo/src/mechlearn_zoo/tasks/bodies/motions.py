"""States of small mechanical systems, frame by frame: pendulums, a damped oscillator, and balls that may wait at a wall.

Pendulums have unit masses, lengths and gravity, integrated by the classical Runge-Kutta rule: every frame follows from the
one before. A ball that waits as long as a die says is at the same places in the same order, at times nobody can know.
"""

from collections.abc import Callable
from math import pi

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_whole

INTERVAL, SUBSTEPS = 0.3, 10
"""Time between two frames, and integration steps in it."""

Motion = Callable[[int, int, int], Tensor]
"""From a seed, a number of trajectories and one of frames to states (n, frames, features)."""


def pendulum(seed: int, count: int, frames: int) -> Float[Tensor, "n t 3"]:
    """Return cosine and sine of a pendulum's angle and its speed; started within 2 of hanging down, at a speed within 1.

    Raises:
        TypeError: counts that are no whole numbers.
        ValueError: no trajectory, or no frame.
    """
    _check_counts(count, frames)
    state = _uniform(seed, count, (2.0, 1.0))
    found = _followed(_pendulum, state, frames)
    angle, speed = found.unbind(-1)
    return torch.stack([angle.cos(), angle.sin(), speed], -1)


def double_pendulum(seed: int, count: int, frames: int) -> Float[Tensor, "n t 6"]:
    """Return cosines and sines of both angles and both speeds; started at any angles, at rest: mostly chaotic.

    Raises:
        TypeError: counts that are no whole numbers.
        ValueError: no trajectory, or no frame.
    """
    _check_counts(count, frames)
    state = _uniform(seed, count, (pi, pi, 0.0, 0.0))
    found = _followed(_double_pendulum, state, frames)
    angles, speeds = found[..., :2], found[..., 2:]
    return torch.cat([angles.cos(), angles.sin(), speeds], -1)


def ball(seed: int, count: int, frames: int, waits: int = 0) -> Float[Tensor, "n t 4"]:
    """Return place and velocity of a ball in the unit square that turns round at walls.

    Args:
        seed: of the starts and the waits.
        count: n.
        frames: of each.
        waits: frames that it lies still where it touches a wall, at most; 0 to so many, each as likely.

    Raises:
        TypeError: counts that are no whole numbers.
        ValueError: no trajectory, no frame, or a negative number of frames to wait.
    """
    _check_counts(count, frames)
    check_whole("waits", waits, why="frames that it lies still", way_out="Take 0 for a ball that never waits.")
    generator = Generator().manual_seed(seed)
    place = torch.rand(count, 2, generator=generator, dtype=torch.float64)
    velocity = 0.16 * torch.rand(count, 2, generator=generator, dtype=torch.float64) - 0.08
    wait = torch.zeros(count, dtype=torch.int64)
    found: list[Tensor] = []
    for _ in range(frames):
        found.append(torch.cat([place, velocity], 1))
        moves = (wait == 0)[:, None]
        wait = (wait - 1).clamp(min=0)
        goal = place + velocity
        out = moves & ((goal < 0) | (goal > 1))
        velocity = torch.where(out, -velocity, velocity)
        place = torch.where(moves, goal.clamp(0, 1), place)
        drawn = torch.randint(waits + 1, (count,), generator=generator)
        wait = torch.where(out.any(1), drawn, wait)
    return torch.stack(found, 1)


def waiting_ball(seed: int, count: int, frames: int) -> Float[Tensor, "n t 4"]:
    """Return `ball` that waits 0 to 5 frames; it refuses what `ball` does."""
    return ball(seed, count, frames, waits=5)


def stopping_ball(seed: int, count: int, frames: int) -> Float[Tensor, "n t 4"]:
    """Return place and velocity of a ball that waits 0 to 7 frames at its first wall and stops for good at the one across.

    It crosses the unit square from left to right or back, turns round at the wall it comes to first, and turns up or down at
    floor and ceiling without waiting. All have stopped after 27 frames; where follows from the start, when does not.

    Raises:
        TypeError: counts that are no whole numbers.
        ValueError: no trajectory, or no frame.
    """
    _check_counts(count, frames)
    generator = Generator().manual_seed(seed)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)

    sides = 1 - 2 * torch.randint(2, (2, count), generator=generator)
    place = torch.stack([uniform(0.0, 1.0), uniform(0.0, 1.0)], 1)
    velocity = torch.stack([uniform(0.12, 0.25) * sides[0], uniform(0.0, 0.12) * sides[1]], 1)
    waits, turns = torch.randint(8, (count,), generator=generator), torch.zeros(count, dtype=torch.int64)
    found: list[Tensor] = []
    for _ in range(frames):
        found.append(torch.cat([place, velocity], 1))
        rests = (turns == 1) & (waits > 0)
        waits = waits - rests.long()
        moves = (~rests & (turns < 2))[:, None]
        goal = place + velocity
        out = moves & ((goal < 0) | (goal > 1))
        place = torch.where(moves, goal.clamp(0, 1), place)
        velocity = torch.where(out, -velocity, velocity)
        turns = turns + out[:, 0].long()
        velocity = torch.where((turns == 2)[:, None], 0.0, velocity)
    return torch.stack(found, 1)


def oscillator(seed: int, count: int, frames: int) -> Float[Tensor, "n t 4"]:
    """Return places and velocities of two damped oscillators: every frame is a matrix times the one before.

    Raises:
        TypeError: counts that are no whole numbers.
        ValueError: no trajectory, or no frame.
    """
    _check_counts(count, frames)
    state = _uniform(seed, count, (1.0, 1.0, 1.0, 1.0))
    return _followed(_oscillator, state, frames)


def _check_counts(count: int, frames: int) -> None:
    check_whole("count", count, 1)
    check_whole("frames", frames, 1)


def _uniform(seed: int, count: int, reach: tuple[float, ...]) -> Tensor:
    drawn = torch.rand(count, len(reach), generator=Generator().manual_seed(seed), dtype=torch.float64)
    return (2 * drawn - 1) * torch.tensor(reach, dtype=torch.float64)


def _pendulum(state: Tensor) -> Tensor:
    angle, speed = state.unbind(-1)
    return torch.stack([speed, -angle.sin()], -1)


def _double_pendulum(state: Tensor) -> Tensor:
    a, b, u, v = state.unbind(-1)
    between, width = a - b, 3 - (2 * (a - b)).cos()
    first = -3 * a.sin() - (a - 2 * b).sin() - 2 * between.sin() * (v.square() + u.square() * between.cos())
    second = 2 * between.sin() * (2 * u.square() + 2 * a.cos() + v.square() * between.cos())
    return torch.stack([u, v, first / width, second / width], -1)


def _oscillator(state: Tensor) -> Tensor:
    place, velocity = state[..., :2], state[..., 2:]
    return torch.cat([velocity, -state.new_tensor([1.0, 2.3]) * place - 0.1 * velocity], -1)


def _followed(law: Callable[[Tensor], Tensor], state: Tensor, frames: int) -> Tensor:
    found, h = [state], INTERVAL / SUBSTEPS
    for _ in range(frames - 1):
        for _ in range(SUBSTEPS):
            one = law(state)
            two = law(state + h / 2 * one)
            three = law(state + h / 2 * two)
            state = state + h / 6 * (one + 2 * two + 2 * three + law(state + h * three))
        found.append(state)
    return torch.stack(found, 1)

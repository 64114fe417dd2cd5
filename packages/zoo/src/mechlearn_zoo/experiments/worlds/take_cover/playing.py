"""Recorded play of a random policy in a world of frames: what V and M learn from.

A world of frames has `start`, `frames` and `step` as `mechlearn_zoo.experiments.worlds.take_cover.take_cover.TakeCover` has
them, for p copies of e episodes; here p is 1.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_share, check_whole


class Episodes(NamedTuple):
    """Recorded play, padded with whatever the world showed behind an episode's end.

    Attributes:
        frames: (n, t + 1, c, h, w) in bytes.
        actions: (n, t, o), each taken at the frame of its index.
        ended: (n, t) True where the episode was over after this step.
        lengths: (n,) steps of each episode: up to and with its end.
    """

    frames: UInt8[Tensor, "n s c h w"]
    actions: Float[Tensor, "n t o"]
    ended: Bool[Tensor, "n t"]
    lengths: Int[Tensor, " n"]

    def shown(self) -> UInt8[Tensor, "m c h w"]:
        """Return the frames that are the episodes' own, one after the other."""
        own = torch.arange(self.frames.shape[1]) <= self.lengths.unsqueeze(1)
        return self.frames[own]

    def mask(self) -> Bool[Tensor, "n t"]:
        """Return True for the steps that are the episodes' own."""
        return torch.arange(self.ended.shape[1]) < self.lengths.unsqueeze(1)


@runtime_checkable
class Playable(Protocol):
    """A world of frames."""

    def start(self, population: int, episodes: int, generator: Generator) -> Any:  # noqa: ANN401  # the world's own state
        """Return p copies of e episodes."""
        ...

    def frames(self, state: Any) -> Tensor:  # noqa: ANN401
        """Return (p, e, c, h, w) in [0, 1]."""
        ...

    def step(self, state: Any, actions: Tensor, generator: Generator) -> Any:  # noqa: ANN401
        """Return state, rewards and ends."""
        ...


Policy = Callable[[Tensor | None, int, Generator], Tensor]
"""From the last actions (n, o), None at first, their number and a generator to the next actions."""


def thirds(last: Tensor | None, episodes: int, generator: Generator, sticky: float = 0.8) -> Float[Tensor, "n 1"]:
    """Draw -1, 0 or 1, or repeat the last action with a chance: white noise gets nowhere."""
    check_generator("generator", generator)
    check_share("sticky", sticky)
    fresh = torch.randint(-1, 2, (episodes, 1), generator=generator).float()
    if last is None:
        return fresh
    return torch.where(torch.rand(episodes, 1, generator=generator) < sticky, last, fresh)


def brownian(last: Tensor | None, episodes: int, generator: Generator) -> Float[Tensor, "n 3"]:
    """Draw a car's steering in [-1, 1], gas and brake in [0, 1] that wander: the last action plus noise of 0.14."""
    check_generator("generator", generator)
    before = torch.tensor([0.0, 0.5, 0.0]).expand(episodes, 3) if last is None else last
    moved = before + 0.14 * torch.randn(episodes, 3, generator=generator)
    return torch.maximum(torch.minimum(moved, torch.ones(3)), torch.tensor([-1.0, 0.0, 0.0]))


@torch.no_grad()
def record(world: Playable, episodes: int, steps: int, policy: Policy, generator: Generator) -> Episodes:
    """Return episodes of a policy that does not look.

    Args:
        world: of frames in [0, 1].
        episodes: n, side by side.
        steps: t of each at most.
        policy: `thirds`, `brownian` or another function.
        generator: of world and policy.
    """
    check_generator("generator", generator)
    check_whole("episodes", episodes, 1)
    check_whole("steps", steps, 1)
    state, action = world.start(1, episodes, generator), None
    frames, actions, ends = [_bytes(world.frames(state))], list[Tensor](), list[Tensor]()
    for _ in range(steps):
        action = policy(action, episodes, generator)
        state, _, ended = world.step(state, action.unsqueeze(0), generator)
        frames.append(_bytes(world.frames(state)))
        actions.append(action)
        ends.append(ended[0])
    over = torch.stack(ends, 1)
    lengths = torch.where(over.any(1), over.long().argmax(1) + 1, steps)
    return Episodes(torch.stack(frames, 1), torch.stack(actions, 1), over, lengths)


def _bytes(frames: Tensor) -> Tensor:
    return (255 * frames[0]).round().to(torch.uint8)

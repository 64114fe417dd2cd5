"""Monte-Carlo returns of a policy, each with the trajectory that earned it: privileged data for learning values.

A return is a noisy sight of a value; the trajectory tells part of the luck in it (thesis section 4.4.1, motivation of task B).
Index conventions: b examples, t the frames after the first state. The process is finite, so that values are exact.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_kind, check_whole
from mechlearn.trajectories.finite import FiniteMDP


class Returns(NamedTuple):
    """Episodes of a policy, from first states drawn evenly.

    Attributes:
        states: (b,) first states.
        returns: (b,) discounted sums of rewards, up to the horizon.
        visited: (b, t) the states after 1, 2, ... t actions; -1 once the episode has ended.
        rewards: (b, t) of those actions, 0 once it has ended.
    """

    states: Int[Tensor, " b"]
    returns: Float[Tensor, " b"]
    visited: Int[Tensor, "b t"]
    rewards: Float[Tensor, "b t"]

    def frames(self, states: int) -> Float[Tensor, "b t f"]:
        """Return what was visited, one-hot over so many states (nothing once ended), with the reward as the last number."""
        check_whole("states", states, 1)
        codes = torch.nn.functional.one_hot(self.visited + 1, states + 1)[..., 1:]
        return torch.cat([codes, self.rewards.unsqueeze(-1)], -1).float()


def sampled_returns(
    process: FiniteMDP, policy: Float[Tensor, "S A"], count: int, frames: int, horizon: int, generator: Generator
) -> Returns:
    """Play episodes and add up their rewards.

    Args:
        process: without batch axes. Rewards are R[s, a], the expected ones; chance is in transitions and actions.
        policy: rows that sum to 1.
        count: how many episodes.
        frames: t, how many of their steps are kept.
        horizon: after how many steps an episode is cut off; at least `frames`. What is cut off is missing from the return.
        generator: of first states, actions and transitions.

    Raises:
        TypeError: no process, numbers that are not whole, or no generator.
        ValueError: a batch of processes, a policy that is none, counts below 1, more frames than the horizon.
    """
    check_kind("process", process, FiniteMDP, "a FiniteMDP")
    check_whole("count", count, 1)
    check_whole("frames", frames, 1)
    check_whole("horizon", horizon, frames, why="frames are taken from the episode's steps")
    check_generator("generator", generator)
    process.values(policy)  # refuses what is no policy
    states = first = torch.randint(process.states, (count,), generator=generator)
    alive = torch.ones(count, dtype=torch.bool)
    returns, weight = torch.zeros(count, dtype=torch.float64), 1.0
    visited, rewards = torch.full((count, frames), -1), torch.zeros(count, frames, dtype=torch.float64)
    for step in range(horizon):
        actions = torch.multinomial(policy[states].double(), 1, generator=generator)[:, 0]
        after = process.step(states, actions, generator)
        paid = torch.where(alive, after.rewards, 0.0)
        returns, weight = returns + weight * paid, weight * process.discount
        alive = alive & ~after.terminated
        states = after.states
        if step < frames:
            rewards[:, step] = paid
            visited[:, step] = torch.where(alive, states, -1)
    return Returns(first, returns, visited, rewards)

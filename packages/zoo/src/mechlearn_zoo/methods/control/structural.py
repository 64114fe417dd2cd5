"""Counterfactual roll-outs in your own structural model, with continuous noise (Buesing et al. 2018, algorithm 1).

The model is a function s', r = f(s, a, u): all chance is in the noise u. What an episode shows of its noise is a posterior
p(u | h) that you sample. With another policy in place of the logged one and this noise kept, f runs again. `counterfactual`
has a finite library of worlds instead, with exact posteriors.

Not for a model whose noise depends on the action: what was seen then says nothing of other actions.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from mechlearn.arguments import check_all_finite, check_callable, check_generator, check_shape

Mechanism = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""From states (B, *s), actions (B, *a) and noise (B, *u) to the next states (B, *s) and rewards (B,)."""

StatePolicy = Callable[[Tensor, Generator], Tensor]
"""From states (B, *s) and a generator to actions (B, *a)."""


class Paths(NamedTuple):
    """B episodes of T steps: states (T + 1, B, *s), actions (T, B, *a), rewards (T, B)."""

    states: Tensor
    actions: Tensor
    rewards: Tensor


def rerun(mechanism: Mechanism, start: Tensor, noise: Tensor, policy: StatePolicy, generator: Generator) -> Paths:
    """Run a structural model again with given noise and a policy.

    With noise from the prior this is the model's own prediction, with noise from p(u | h) the counterfactual of each history.
    Gradients reach the policy and the model.

    Args:
        mechanism: see `Mechanism`.
        start: (B, *s) where episodes begin; for several samples of a history's noise, repeat it.
        noise: (T, B, *u), a sample of the posterior for each episode.
        policy: see `StatePolicy`.
        generator: handed to the policy.

    Raises:
        TypeError: if there is no generator, or a function cannot be called.
        ValueError: if there is no step, noise is not finite or of other episodes, or the model's answers have other shapes.

    Example:
        >>> import torch
        >>> add = lambda s, a, u: (s + a + u, s)
        >>> states, actions, _ = rerun(add, torch.zeros(1), torch.ones(2, 1), lambda s, g: -s, torch.Generator())
        >>> states.flatten().tolist(), actions.flatten().tolist()
        ([0.0, 1.0, 1.0], [-0.0, -1.0])
    """
    check_callable("mechanism", mechanism, "a function of states, actions and noise")
    check_callable("policy", policy, "a function of states and a generator")
    check_generator("generator", generator)
    check_shape("noise", noise, "T", len(start), *noise.shape[2:], way_out="One for each step and episode.")
    check_all_finite("noise", noise)
    state, states, actions, rewards = start, [start], list[Tensor](), list[Tensor]()
    for u in noise:
        actions.append(policy(state, generator))
        state, paid = mechanism(state, actions[-1], u)
        check_shape("states", state, *start.shape, way_out="The mechanism returns states of the start's shape.")
        check_shape("rewards", paid, len(start), way_out="The mechanism returns one for each episode.")
        states.append(state)
        rewards.append(paid)
    return Paths(torch.stack(states), torch.stack(actions), torch.stack(rewards))

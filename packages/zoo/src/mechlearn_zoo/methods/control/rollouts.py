"""Roll-outs: what a policy met in a batch of environments, time first, with both ways an episode can end told apart.

Index conventions of the whole field: t counts steps from 0 to T - 1, b environments from 0 to B - 1. Observation t is what
action t was chosen from; reward t, `terminated` t and `truncated` t answer action t. Row T of the observations is what the next
action would be chosen from. Where an episode ends at t, observation t + 1 belongs to the next episode.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor

from mechlearn.arguments import check_callable, check_generator, check_tensor, check_whole

Policy = Callable[[Tensor, Generator], tuple[Tensor, Tensor]]
"""From observations (B, *o) and a generator to actions (B, *a) and the logarithms (B,) of their probabilities or densities."""

SAME_STEP = "SameStep"
"""The value of gymnasium's `AutoresetMode.SAME_STEP`."""


@runtime_checkable
class Worlds(Protocol):
    """A batch of environments, as `gymnasium.vector.VectorEnv` and mechlearn's tasks are; arrays may be torch's or numpy's.

    An environment whose episode ends answers with the next episode's first observation, and with the last one under
    `infos["final_obs"]`. It says so by an attribute, ``metadata = {"autoreset_mode": "SameStep"}``.
    """

    def reset(self, *, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Begin an episode everywhere: observations and infos."""
        ...

    def step(self, actions: Any, /) -> tuple[Any, Any, Any, Any, Mapping[str, Any]]:  # noqa: ANN401  # torch's or numpy's
        """Act: observations, rewards, terminated, truncated, infos."""
        ...


@dataclass(frozen=True)
class Rollout:
    """T steps of B environments, checked once, when it is made.

    Args:
        observations: (T + 1, B, *o).
        actions: (T, B, *a).
        rewards: (T, B), finite.
        terminated: (T, B) of bool: the episode is over, nothing follows, the next value is 0.
        truncated: (T, B) of bool: it was cut here, by a time limit for example; the value of the final observation stands in.
        log_mu: (T, B), logarithm of the behaviour's probability (or density) of the action; finite, as the action was taken.
        final_observations: (N, *o), of the N truncated steps in the order of `truncated.nonzero()`; None where their values are
            known otherwise, or nothing was truncated.

    Raises:
        TypeError: no tensors, flags that are not of bool, rewards that are no floats.
        ValueError: shapes that differ, T = 0 or B = 0, a step both terminated and truncated, rewards that are not finite,
            actions whose log-probability is NaN or infinite, more or fewer final observations than truncated steps.
    """

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    log_mu: Tensor
    final_observations: Tensor | None = None

    def __post_init__(self) -> None:
        """Reject what does not fit together."""
        check_tensor("rewards", self.rewards)
        shape = self.rewards.shape
        if len(shape) != 2 or 0 in shape:
            raise ValueError(
                f"`rewards` should have the shape (T, B): time first, T and B at least 1. Found {tuple(shape)}. "
                "Transpose batch-first arrays, and give a single environment a dimension of its own."
            )
        if not self.rewards.is_floating_point():
            raise TypeError(f"`rewards` should be of a floating type. Found {self.rewards.dtype}. Convert them with .float().")
        self._check_shapes()
        self._check_numbers()
        self._check_ends()

    @property
    def steps(self) -> int:
        """T."""
        return self.rewards.shape[0]

    @property
    def batch(self) -> int:
        """B."""
        return self.rewards.shape[1]

    @cached_property
    def cuts(self) -> int:
        """N, how many steps were truncated."""
        return int(self.truncated.sum())

    @cached_property
    def going_on(self) -> Tensor:
        """(T, B) of bool: the next row belongs to the same episode."""
        return ~(self.terminated | self.truncated)

    def _check_shapes(self) -> None:
        time, batch = self.rewards.shape
        for name in ("observations", "actions", "terminated", "truncated", "log_mu"):
            value, more = getattr(self, name), int(name == "observations")
            check_tensor(name, value)
            bare = name in ("terminated", "truncated", "log_mu")
            if value.shape[:2] != (time + more, batch) or (bare and value.dim() != 2):
                wanted = f"({time + more}, {batch}{'' if bare else ', ...'})"
                raise ValueError(
                    f"`{name}` should have the shape {wanted}, as `rewards` has ({time}, {batch}). Found {tuple(value.shape)}."
                    + (" Append the observation after the last step." if more and value.shape[:1] == (time,) else "")
                )

    def _check_numbers(self) -> None:
        for name in ("rewards", "log_mu"):
            value = getattr(self, name)
            # One sum tells in nearly all cases that there is nothing to look for.
            if not math.isfinite(float(value.sum())) and not (fine := torch.isfinite(value)).all():
                t, b = (~fine).nonzero()[0].tolist()
                way_out = (
                    "An action of probability 0 cannot have been taken: keep what the behaviour said when it acted."
                    if name == "log_mu"
                    else "Look at what the environment paid there."
                )
                raise ValueError(f"`{name}` should be finite. Found {float(value[t, b])} at t={t}, b={b}. {way_out}")

    def _check_ends(self) -> None:
        for name in ("terminated", "truncated"):
            if getattr(self, name).dtype != torch.bool:
                raise TypeError(f"`{name}` should be of bool. Found {getattr(self, name).dtype}. Convert it with .bool().")
        if self.cuts and (both := self.terminated & self.truncated).any():
            t, b = both.nonzero()[0].tolist()
            raise ValueError(
                "a step is terminated or truncated, not both: the first cuts the bootstrap, the second does not. "
                f"Found both at t={t}, b={b}. Use truncated & ~terminated."
            )
        if self.final_observations is not None:
            check_tensor("final_observations", self.final_observations)
            wanted = (self.cuts, *self.observations.shape[2:])
            if self.final_observations.shape != wanted:
                raise ValueError(
                    f"`final_observations` should have the shape {wanted}, a row each truncated step. "
                    f"Found {tuple(self.final_observations.shape)}. Order them as truncated.nonzero() does."
                )


def collect(envs: Worlds, policy: Policy, steps: int, generator: Generator, start: Tensor | None = None) -> Rollout:
    """Act for some steps in every environment.

    Rewards come back in float32, in which networks compute: gymnasium's, in float64, are rounded to it.

    Args:
        envs: environments that begin anew in the step in which an episode ends: mechlearn's tasks do; of gymnasium's vector
            environments those with `AutoresetMode.SAME_STEP`.
        policy: how to act; the roll-out lies on the device of its actions, observations come from the environments' at first.
        steps: T.
        generator: of the actions, and of the environments' seed where they are reset.
        start: (B, *o), where to go on: `observations[-1]` of the roll-out before. None resets all environments.

    Raises:
        TypeError: no generator, steps that are no whole number, a policy that cannot be called.
        ValueError: fewer than one step, an environment that begins anew a step later or does not say when, no final observation
            where one is needed.
    """
    check_callable("policy", policy, "a function from observations and a generator to actions and their log-probabilities")
    check_generator("generator", generator)
    check_whole("steps", steps, 1)
    _check_autoreset(envs)
    if start is None:
        seed = int(torch.randint(2**31 - 1, (), generator=generator, device=generator.device))
        start = torch.as_tensor(envs.reset(seed=seed)[0])
    observations, finals = [start.clone()], list[Tensor]()
    columns: tuple[list[Tensor], ...] = ([], [], [], [], [])
    for _ in range(steps):
        with torch.no_grad():
            actions, log_mu = policy(observations[-1], generator)
        answer = envs.step(actions if getattr(envs, "speaks_torch", False) else actions.cpu().numpy())
        # Copies: an environment may write what follows into the same arrays.
        following, rewards, terminated, truncated = (torch.as_tensor(part).clone().to(actions.device) for part in answer[:4])
        cut = truncated & ~terminated
        if cut.any():
            finals.append(_final(answer[4], cut))
        observations.append(following)
        for column, value in zip(columns, (actions, rewards, terminated, cut, log_mu), strict=True):
            column.append(value)
    acted, rewards, terminated, truncated, log_mu = (torch.stack(column) for column in columns)
    floats = rewards if rewards.dtype == torch.float32 else rewards.float()
    observations[0] = observations[0].to(acted.device)
    final = torch.cat(finals) if finals else None
    return Rollout(torch.stack(observations), acted, floats, terminated, truncated, log_mu, final)


def _check_autoreset(envs: Worlds) -> None:
    mode = (getattr(envs, "metadata", None) or {}).get("autoreset_mode")
    if mode is None:
        raise ValueError(
            "`envs` should say when the next episode begins where one has ended: in metadata['autoreset_mode']. Found nothing "
            "there, and gymnasium's default begins a step later, which would be learned as a step of the world. Set "
            f"envs.metadata = {{'autoreset_mode': {SAME_STEP!r}}} if these begin in the same step."
        )
    if getattr(mode, "value", mode) != SAME_STEP:
        found = getattr(mode, "value", mode)
        what = {"NextStep": ", whose first step of an episode ignores its action", "Disabled": ", which never begins another"}
        raise ValueError(
            "`envs` should begin a new episode in the step in which one ends. "
            f"Found the autoreset mode {found!r}{what.get(str(found), '')}. "
            'Make them with gymnasium.make_vec(..., vectorization_mode="sync", '
            "vector_kwargs={'autoreset_mode': gymnasium.vector.AutoresetMode.SAME_STEP})."
        )


def _final(infos: Mapping[str, Any], cut: Tensor) -> Tensor:
    if "final_obs" not in infos:
        raise ValueError(
            "an environment that truncates should give the observation it ended with under infos['final_obs']. "
            f"Found the keys {sorted(infos)}. Its value stands in for what was cut."
        )
    final = infos["final_obs"]
    if isinstance(final, Tensor):
        return final.to(cut.device)[cut]
    return torch.stack([torch.as_tensor(final[b]) for b in cut.nonzero()[:, 0].tolist()]).to(cut.device)

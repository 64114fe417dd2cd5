"""Recorded episodes, such as a Minari data set: what was observed, done and rewarded.

Minari is not imported: episodes are taken by what they have.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from mechlearn.skips.contexts import Actions
from mechlearn.trajectories import Trajectories
from mechlearn.trajectories.conversions import observations


class Recorded(NamedTuple):
    """Episodes as batches; b runs over episodes.

    Attributes:
        trajectories: of observations, one more than there are actions.
        actions: what was done at each frame but the last.
        rewards: of each action, as trajectories of one number; ``rewards.values()`` is (batch, time), zeros behind an episode's
            own.
        terminated: (batch,) whether the world ended the episode; False where it was cut off.
    """

    trajectories: Trajectories
    actions: Actions
    rewards: Trajectories
    terminated: Bool[Tensor, " batch"]


def from_minari(
    episodes: Iterable[Any],
    *,
    key: str | None = None,
    action_key: str | None = None,
    window: int | None = None,
    scale: float = 1.0,
    dtype: torch.dtype | None = None,
) -> Recorded:
    """Take episodes with their actions and rewards.

    Args:
        episodes: objects with ``observations`` (T, *frame), ``actions`` (T - 1, *action), ``rewards`` (T - 1,) and
            ``terminations`` (T - 1,), as a minari.MinariDataset yields them.
        key: which entry, where observations are dictionaries, dots between levels.
        action_key: the same of actions.
        window: how many actions a model sees, see `Actions`.
        scale: what one unit of an observation's stored numbers means.
        dtype: what observations are stored in; None for the type they come in. Simulators often record float64.

    Returns:
        The episodes as batches.

    Raises:
        TypeError: an episode without these.
        ValueError: another number of actions or rewards than one fewer than observations.
    """
    taken = list(episodes)
    seen = Trajectories.from_list(observations(taken, key), scale, dtype)
    done = list(observations(taken, action_key, "actions"))
    rewards = [torch.as_tensor(each) for each in observations(taken, None, "rewards")]
    ends = list(observations(taken, None, "terminations"))
    for b, (length, actions, own) in enumerate(zip(seen.lengths.tolist(), done, rewards, strict=True)):
        if not len(actions) == len(own) == length - 1:
            raise ValueError(
                f"An episode should have one action and one reward for each observation but the last. Found {length} "
                f"observations, {len(actions)} actions and {len(own)} rewards in episode {b}. Cut what is left over."
            )
    return Recorded(
        trajectories=seen,
        actions=Actions.from_list(done, window),
        rewards=Trajectories.from_list(each.to(torch.get_default_dtype()) for each in rewards),
        terminated=torch.tensor([bool(each[-1]) for each in ends]),
    )

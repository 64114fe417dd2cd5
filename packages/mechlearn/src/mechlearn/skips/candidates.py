"""What else a prediction might have been matched with: its loss against every frame ahead."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_callable, check_kind, check_whole
from mechlearn.losses import Loss, evaluated
from mechlearn.skips.matched import Matched
from mechlearn.trajectories import Trajectories


@torch.no_grad()
def candidate_losses(
    matched: Matched, targets: Trajectories, loss: Loss, horizon: int, compare: Callable[[Tensor], Tensor] | None = None
) -> Float[Tensor, "batch steps horizon"]:
    """Return each kept prediction's loss against every frame of its window, for timelines (thesis figures 2.7 and 2.8).

    Entry [b, u, k] belongs to the frame k + 1 after the one that prediction u of trajectory b was made at; infinity where the
    trajectory has no such frame or step.

    Args:
        matched: the result of `match` with ``keep_predictions=True``.
        targets: what was matched with: the trajectories, or the dynamics' targets.
        loss: the dynamics' own, or another that takes its predictions.
        horizon: how many frames ahead to look.
        compare: the dynamics' own.

    Raises:
        TypeError: what is no `Matched`, no trajectories, no loss or no whole number.
        ValueError: the predictions were not kept, or targets of another batch: not as many, or too short for the matches.
    """
    check_kind("matched", matched, Matched, "what mechlearn.skips.match returns")
    check_kind("targets", targets, Trajectories, "mechlearn.trajectories.Trajectories")
    check_callable("loss", loss, "a function of predictions and frames")
    check_whole("horizon", horizon, least=1)
    if matched.predictions is None:
        raise ValueError("`matched` should hold the predictions. Found None. Call match(..., keep_predictions=True).")
    _check_batch(matched, targets)
    found = torch.full((*matched.skips.shape, horizon), torch.inf, dtype=targets.value_dtype)
    for b, steps in enumerate(matched.steps.tolist()):
        for u in range(steps):
            first = int(matched.matched[b, u] - matched.skips[b, u]) + 1
            frames = range(first, min(first + horizon, int(targets.lengths[b])))
            z = matched.predictions.frames[b, u : u + 1]
            z = (z if compare is None else compare(z.clone())).to(targets.value_dtype)  # an encoder may work in place
            losses = evaluated(loss, z.expand(len(frames), *z.shape[1:]), targets.at([b] * len(frames), list(frames)))
            found[b, u, : len(frames)] = losses.cpu()
    return found


def _check_batch(matched: Matched, targets: Trajectories) -> None:
    """Reject targets that were not matched with, as far as lengths show it."""
    furthest = matched.matched.amax(1)
    if len(targets) != len(furthest):
        found = f"{len(targets)} trajectories where {len(furthest)} were matched"
    elif bool((short := furthest >= targets.lengths).any()):
        b = int(short.nonzero()[0])
        found = f"{int(targets.lengths[b])} frames in trajectory {b}, of which frame {int(furthest[b])} was matched"
    else:
        return
    raise ValueError(
        f"`targets` should be those that were matched with, of the same batch. Found {found}. Pass the trajectories that "
        "`match` was given, or its dynamics' targets."
    )

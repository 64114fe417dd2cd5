"""Trajectories in the space of an encoder."""

from collections.abc import Callable

import torch
from torch import Tensor

from mechlearn.arguments import check_callable, check_flag, check_kind, check_returned, check_whole
from mechlearn.trajectories import Trajectories


def encoded(
    trajectories: Trajectories, encoder: Callable[[Tensor], Tensor], *, detach: bool, chunk: int | None = None
) -> Trajectories:
    """Encode every frame of a batch.

    Matching in latent space is matching of encoded trajectories with encoded targets: ``match(Dynamics(f, loss, targets=
    encoded(x, encoder, detach=True)), encoded(x, encoder, detach=False), matching)``. A target encoder, such as a moving
    average of the encoder, stands in for the first. Without a detached target an encoder can satisfy the loss by mapping
    every frame to the same point.

    Args:
        trajectories: the frames.
        encoder: from frames (n, *frame) to latents (n, *latent).
        detach: whether the latents are cut off from the encoder, which then runs without a graph.
        chunk: how many frames to encode at a time; None for all.

    Returns:
        Trajectories of latents with the same lengths; zeros behind a trajectory's own.

    Raises:
        ValueError: an encoder that returns another number of latents, or latents that are not finite.
    """
    check_kind("trajectories", trajectories, Trajectories, "mechlearn.trajectories.Trajectories")
    check_callable("encoder", encoder, "a function from frames to latents")
    check_flag("detach", detach)
    if chunk is not None:
        check_whole("chunk", chunk, least=1)
    rows, times = trajectories.mask.cpu().nonzero().unbind(1)
    with torch.set_grad_enabled(torch.is_grad_enabled() and not detach):
        parts = zip(rows.split(chunk or len(rows)), times.split(chunk or len(rows)), strict=True)
        latents = torch.cat([_encode(encoder, trajectories.at(b, t)) for b, t in parts])
        padded = latents.new_zeros((len(trajectories), trajectories.time, *latents.shape[1:]))
        padded = padded.index_put((rows.to(latents.device), times.to(latents.device)), latents)
    return Trajectories(padded, trajectories.lengths)


def _encode(encoder: Callable[[Tensor], Tensor], frames: Tensor) -> Tensor:
    latents = encoder(frames)
    own = getattr(latents, "shape", ())[1:]
    check_returned("encoder", latents, "one latent for each frame", len(frames), *own, floats=False)
    return latents if latents.requires_grad else latents.clone()  # an encoder may return the same memory each time

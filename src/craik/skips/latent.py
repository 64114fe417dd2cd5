"""Trajectories in the space of an encoder."""

from collections.abc import Callable

from torch import Tensor

from craik.trajectories import Trajectories


def encoded(
    trajectories: Trajectories, encoder: Callable[[Tensor], Tensor], *, detach: bool, chunk: int | None = None
) -> Trajectories:
    """Encode every frame of a batch.

    Matching in latent space is matching of encoded trajectories: ``match(f, encoded(x, encoder, detach=False), loss, ...,
    targets=encoded(x, encoder, detach=True))``. A target encoder, such as a moving average of the encoder, takes the second's
    place. Without a detached target an encoder can satisfy the loss by mapping every frame to the same point.

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
    raise NotImplementedError

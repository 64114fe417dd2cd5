"""Contrastive predictive coding: tell an example's own future from the others' (van den Oord et al. 2018)."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from mechlearn.arguments import check_generator, check_tensor, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "CPC head",
    2018,
    "van den Oord et al., equations 3 to 5",
    "https://arxiv.org/abs/1807.03748",
    "an encoder of frames, B^2 T products",
)


class FutureScores(nn.Module):
    """The scores log f_k(z_{t+k}, c_t) = z^T W_k c of equation 3, one matrix for each step into the future.

    Args:
        steps: T, how far it looks ahead.
        context: C, the size of a context c, such as a student's features.
        latent: Z, the size of an encoded frame z.
        generator: of the initial matrices.
    """

    def __init__(self, steps: int, context: int, latent: int, generator: Generator) -> None:
        super().__init__()
        for name, value in (("steps", steps), ("context", context), ("latent", latent)):
            check_whole(name, value, 1)
        check_generator("generator", generator)
        self.weight = nn.Parameter(torch.randn(steps, latent, context, generator=generator) / math.sqrt(context))

    def forward(self, context: Float[Tensor, "b c"], futures: Float[Tensor, "b t z"]) -> Float[Tensor, "t b b"]:
        """Return the score of each context with each example's future frame, by step: [k, i, j] of context i and future j.

        Raises:
            ValueError: other sizes.
        """
        steps, latent, size = self.weight.shape
        if context.dim() != 2 or context.shape[1] != size or futures.shape != (len(context), steps, latent):
            raise ValueError(
                f"Contexts should have the shape (B, {size}) and futures (B, {steps}, {latent}). Found "
                f"{tuple(context.shape)} and {tuple(futures.shape)}. Make the scores for these sizes."
            )
        return torch.einsum("ic,kzc,jkz->kij", context, self.weight, futures)


def info_nce(scores: Float[Tensor, "t b b"], mask: Bool[Tensor, "b t"] | None = None) -> Float[Tensor, " b"]:
    """Return -log(f(own) / sum_j f(j)) of each example, the mean over steps (equation 4).

    The others of the batch are the negatives. log B minus the mean loss is a lower bound of the mutual information of context
    and future (equation 5), at most log B: a small batch cannot tell more. Not for batches in which others have the same
    future: they are no negatives.

    Args:
        scores: (T, B, B) of context i with example j's frame, as `FutureScores` gives them.
        mask: (B, T) True where a frame is a trajectory's own; frames that are not count neither as own nor as negatives.

    Raises:
        TypeError: what are no scores.
        ValueError: other shapes, fewer than two examples, no step, an example without a frame.
    """
    check_tensor("scores", scores)
    if scores.dim() != 3 or len(scores) == 0 or scores.shape[1] != scores.shape[2] or scores.shape[1] < 2:
        raise ValueError(
            f"`scores` should have the shape (T, B, B) with a step and two examples or more. Found {tuple(scores.shape)}. Use "
            "FutureScores."
        )
    if mask is None:
        return -scores.log_softmax(2).diagonal(dim1=1, dim2=2).mean(0)
    if mask.shape != (scores.shape[1], scores.shape[0]) or mask.dtype != torch.bool or not bool(mask.any(1).all()):
        raise ValueError(
            f"`mask` should be bools ({scores.shape[1]}, {scores.shape[0]}) with a frame in every example. Found {mask.dtype}, "
            f"{tuple(mask.shape)}."
        )
    own = mask.T  # (T, B)
    # A step that one example alone has would be -log 1; a row without any own frame is filled, and left out below.
    kept = scores.masked_fill(~own[:, None, :] & own.any(1)[:, None, None], -math.inf)
    losses = -kept.log_softmax(2).diagonal(dim1=1, dim2=2)
    return losses.masked_fill(~own, 0.0).sum(0) / own.sum(0)

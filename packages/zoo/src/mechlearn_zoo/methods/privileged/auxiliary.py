"""The auxiliary head: the student also predicts the privileged data (multi-task learning; thesis 4.4.3, "auxiliary").

The features before the last layer get a second head, from which x* is predicted; at test time the head is dropped.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.arguments import check_tensor
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Auxiliary head", 1997, "Caruana; thesis section 4.4.3", "https://doi.org/10.1023/A:1007379606734", "a head over x*"
)


def auxiliary_loss(
    predicted: Float[Tensor, "b ..."], privileged: Float[Tensor, "b ..."], mask: Bool[Tensor, "b t"] | None = None
) -> Float[Tensor, " b"]:
    """Return the mean squared error of each example's predicted privileged data.

    To be weighted and added to the label loss; table C.3 of the thesis searches weights of 1, 2 and 4 for standardised data.
    Not for privileged data that x cannot tell anything of: the head then learns their mean, and the features pay for it.

    Args:
        predicted: by the head, of the shape of the privileged data.
        privileged: x*, standardised.
        mask: (B, T) True where a frame of a trajectory is its own; None where all are. What lies behind it may be anything, NaN
            too.

    Raises:
        TypeError: what are no tensors.
        ValueError: other shapes, nothing to predict, or an example without frames.
    """
    check_tensor("predicted", predicted)
    check_tensor("privileged", privileged)
    if predicted.shape != privileged.shape or privileged.dim() < 1:
        raise ValueError(
            f"The head should predict privileged data in their shape, {tuple(privileged.shape)}. Found "
            f"{tuple(predicted.shape)}. Reshape its output."
        )
    if privileged[:1].numel() == 0 and len(privileged):
        raise ValueError(
            f"`privileged` should have numbers in each example. Found shape {tuple(privileged.shape)}. Leave out the head."
        )
    errors = predicted - privileged
    if mask is None:
        return errors.square().unsqueeze(-1).flatten(1).mean(1)
    check_tensor("mask", mask)
    if mask.shape != privileged.shape[:2] or mask.dtype != torch.bool or not bool(mask.any(1).all()):
        raise ValueError(
            f"`mask` should be bools {tuple(privileged.shape[:2])} with a frame in every example. Found {mask.dtype}, "
            f"{tuple(mask.shape)}. Use mechlearn.distill.Ragged.of(trajectories).mask."
        )
    # Filled before it is squared: behind the mask the square of NaN would have the gradient 0 * NaN.
    own = errors.unsqueeze(-1).flatten(2).masked_fill(~mask[..., None], 0.0)
    return own.square().mean(2).sum(1) / mask.sum(1)

"""The likelihood of a frame under a mixture of normals for each of its elements, as a loss for matching."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softmax

from mechlearn.arguments import check_finite, check_floats, check_whole
from mechlearn_zoo.nn.mixtures import Mixture, mixture_log_prob, mixture_quantile


@dataclass(frozen=True)
class MixtureNLL:
    """- log p(x), a mean over a frame's elements, of a mixture of normals for each: a loss for `mechlearn.skips.match`.

    A prediction of a frame has the shape (3, *frame, K): logits of the weights, means, log scales. There is no `ranking`: the
    loss is evaluated on the whole window.

    Args:
        mixtures: K.
        least_log_scale: the log scales' floor.

    Raises:
        TypeError: K that is no whole number.
        ValueError: K below 1, or a floor that is not finite.
    """

    mixtures: int
    least_log_scale: float = -3.0

    def __post_init__(self) -> None:
        check_whole("mixtures", self.mixtures, 1)
        check_finite("least_log_scale", self.least_log_scale)

    def __call__(self, prediction: Float[Tensor, "n *z"], target: Float[Tensor, "n *frame"]) -> Float[Tensor, " n"]:
        """Return one value for each frame.

        Raises:
            TypeError: what is no tensor of floating numbers.
            ValueError: other shapes. Values are not looked at: the matching does, where it chooses among the losses.
        """
        mixture = self.mixture(prediction)
        check_floats("target", target, *mixture.means.shape[:-1])
        losses = -mixture_log_prob(*mixture, target)
        return losses.flatten(1).mean(1) if losses.dim() > 1 else losses

    def mixture(self, prediction: Float[Tensor, "n *z"]) -> Mixture:
        """Return the mixtures of predictions, floor included; other shapes are refused."""
        check_floats("prediction", prediction, "...")
        if prediction.dim() < 3 or prediction.shape[1] != 3 or prediction.shape[-1] != self.mixtures:
            raise ValueError(
                f"`prediction` should have the shape (n, 3, *frame, {self.mixtures}). Found {tuple(prediction.shape)}. Stack "
                "logits, means and log scales behind the frames."
            )
        log_weights, means, log_scales = prediction.unbind(1)
        return Mixture(log_weights, means, log_scales.clamp(min=self.least_log_scale))

    def prediction_shape(self, frame_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return (3, *frame, K)."""
        return (3, *frame_shape, self.mixtures)

    def frame(self, prediction: Float[Tensor, "n *z"]) -> Float[Tensor, "n *frame"]:
        """Return the means of the mixtures."""
        return (softmax(prediction[:, 0], -1) * prediction[:, 1]).sum(-1)

    def sample(self, prediction: Float[Tensor, "n *z"], noise: Float[Tensor, "n *noise"]) -> Float[Tensor, "n *frame"]:
        """Return samples from uniform noise (2, *frame): for ``skips.Sampled(loss.sample, "uniform", (2, *frame))``."""
        normal = torch.erfinv((2 * noise[:, 1] - 1).clamp(-1 + 1e-6, 1 - 1e-6)) * 2**0.5
        return mixture_quantile(self.mixture(prediction), noise[:, 0], normal)

"""Value-driven hindsight modelling: learn which features of the future tell the label, and model those (Guez et al. 2020).

phi(x*) summarises the future so that the label can be predicted from x and phi; a model predicts phi from x; and the label is
predicted from x and the model's phi-hat, which is all that is there at test time.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_not_negative, check_tensor
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Value-driven hindsight modelling",
    2020,
    "Guez et al., section 3 (L_v, L_v+, L_model)",
    "https://arxiv.org/abs/2002.08329",
    "a network over x*, a second pass through the last layers",
)


class HindsightLosses(NamedTuple):
    """The three losses, one value an example each.

    Attributes:
        value: L_v, of the prediction from x and the modelled features.
        hindsight: L_v+, of the prediction from x and the features of the future, which alone trains these.
        model: |phi-hat(x) - phi(x*)|^2, the mean over features, phi a constant.
    """

    value: Float[Tensor, " b"]
    hindsight: Float[Tensor, " b"]
    model: Float[Tensor, " b"]

    def total(self, hindsight: float = 1.0, model: float = 1.0) -> Float[Tensor, " b"]:
        """Return L_v + hindsight L_v+ + model L_model of each example.

        Args:
            hindsight: weight of L_v+.
            model: weight of L_model.

        Raises:
            TypeError, ValueError: weights that are none.
        """
        check_not_negative("hindsight", hindsight)
        check_not_negative("model", model)
        return self.value + hindsight * self.hindsight + model * self.model


def hindsight_losses(
    value: Float[Tensor, " b"], hindsight: Float[Tensor, " b"], modelled: Float[Tensor, "b f"], features: Float[Tensor, "b f"]
) -> HindsightLosses:
    """Return the three losses from two unreduced label losses and two sets of features.

    What must be stopped is stopped here: the features do not follow their model. Whether the label loss L_v trains the model,
    too, is the caller's: predict from ``modelled.detach()`` where it should not. Features should be few: with
    many, phi may copy the label from a future that gives it away, and the model learns to predict the label
    by a detour.

    Args:
        value: label losses of the prediction from x and `modelled`.
        hindsight: label losses of the prediction from x and `features`.
        modelled: phi-hat(x), the model's.
        features: phi(x*), with their graph.

    Raises:
        TypeError: what are no tensors.
        ValueError: losses that are not one value an example, features of other shapes, features that nothing trains.
    """
    for name, tensor in (("value", value), ("hindsight", hindsight), ("modelled", modelled), ("features", features)):
        check_tensor(name, tensor)
    if modelled.shape != features.shape or features.dim() != 2:
        raise ValueError(
            f"Modelled and true features should have one shape (B, F). Found {tuple(modelled.shape)} and "
            f"{tuple(features.shape)}. Give both as many features."
        )
    for name, losses in (("value", value), ("hindsight", hindsight)):
        if losses.shape != features.shape[:1]:
            raise ValueError(
                f"`{name}` should be one loss for each of {len(features)} examples. Found shape {tuple(losses.shape)}. "
                "Build it with reduction='none'."
            )
    if not hindsight.requires_grad or not features.requires_grad:
        raise ValueError(
            "The hindsight loss should train the features. Found that one of them has no graph. Leave out detach() before L_v+."
        )
    return HindsightLosses(value, hindsight, (modelled - features.detach()).square().mean(1))

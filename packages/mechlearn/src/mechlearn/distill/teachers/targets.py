"""What a teacher gives out: targets, and gates, for the student's supervised layers."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


class Target(NamedTuple):
    """A teacher's signal for one supervised layer.

    Attributes:
        value: (B, ...) target h* of the layer's output h, of its shape.
        gate: (B, ...) gate m of the same shape, before the sigmoid, for teaching losses that read gates; None without.
    """

    value: Float[Tensor, "b ..."]
    gate: Float[Tensor, "b ..."] | None = None


Targets = Mapping[str, Target]
"""The signals by the name of the student's layer."""

TeacherOutput = Tensor | Target | Mapping[str, Tensor | Target]
"""What a teacher module may return: signals by layer; one alone where one layer is supervised; a tensor is a target."""


def check_targets(hidden: Mapping[str, Tensor], targets: Targets) -> None:
    """Reject signals whose shapes differ from the supervised layers' outputs; both by layer name, for one batch."""
    for name, h in hidden.items():
        for what, tensor in zip(("targets", "gates"), targets[name], strict=True):
            if tensor is not None and tensor.shape != h.shape:
                raise ValueError(
                    f"The teacher's {what} for a layer should have the shape of that layer's output. Found "
                    f"{tuple(tensor.shape)} "
                    f"for {name!r}, whose output has {tuple(h.shape)}. Change the teacher's last layer, or the "
                    f"supervised layers."
                )

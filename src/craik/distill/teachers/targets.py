"""What a teacher gives out, and two ways to make a teacher of what one has: a flat network, and the mixture over time."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn


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


class UnitsTeacher(nn.Module):
    """A teacher made of any network with flat outputs: they are dealt out to the units of the supervised layers.

    The MuJoCo teacher of the thesis (appendix C.2.2.2) is such a network with two outputs for each of the student's
    neurons: first all targets, then all gates.

    Args:
        network: from (B, ...) privileged data to (B, K) or, with gates, (B, 2 K) outputs, K the number of units.
        units: the shape, without the batch, of each supervised layer's output, by layer name; an int for a vector.
        gated: whether the network gives gates too.

    Example:
        >>> import torch
        >>> teacher = UnitsTeacher(torch.nn.Linear(3, 2 * (4 + 5)), {"0": 4, "2": 5}, gated=True)
        >>> signals = teacher(torch.zeros(7, 3))
        >>> {name: (tuple(s.value.shape), tuple(s.gate.shape)) for name, s in signals.items()}
        {'0': ((7, 4), (7, 4)), '2': ((7, 5), (7, 5))}
    """

    def __init__(self, network: nn.Module, units: Mapping[str, int | Sequence[int]], *, gated: bool = False) -> None:
        super().__init__()
        self.network = network
        self.shapes = {name: (shape,) if isinstance(shape, int) else tuple(shape) for name, shape in units.items()}
        self.gated = gated

    @property
    def outputs(self) -> int:
        """How many outputs the network should have."""
        return (1 + self.gated) * sum(math.prod(shape) for shape in self.shapes.values())

    def forward(self, privileged: Tensor) -> dict[str, Target]:
        """Return the signals for a batch of privileged data.

        Raises:
            ValueError: the network's outputs do not match the units.
        """
        flat: Tensor = self.network(privileged)
        if flat.dim() != 2 or flat.shape[1] != self.outputs:
            raise ValueError(
                f"The teacher's network should give {self.outputs} outputs an example, {1 + self.gated} for each unit of the "
                f"supervised layers. Found outputs of shape {tuple(flat.shape)}. Change its last layer."
            )
        sizes = [math.prod(shape) for shape in self.shapes.values()]
        parts = flat.split(sizes * (1 + self.gated), dim=1)
        shaped = [part.reshape(-1, *shape) for part, shape in zip(parts, list(self.shapes.values()) * 2, strict=False)]
        gates = shaped[len(sizes) :] if self.gated else [None] * len(sizes)
        return {name: Target(value, gate) for name, value, gate in zip(self.shapes, shaped, gates, strict=False)}


class TimeMixture(nn.Module):
    """The Game of Life's teacher (thesis 4.4.2, appendix C.3): every filter's target is a mixture of the frames.

    h*_kl = sum_t softmax_t(phi_tkl) x_t for filter l of supervised layer k.

    Args:
        frames: T, the number of frames of x*.
        filters: the number of filters of each supervised layer, by layer name.
        scale: standard deviation of the initial phi; 0 starts from the plain mean of the frames.
        generator: of the initial phi.

    Example:
        >>> teacher = TimeMixture(3, {"0": 8, "2": 16}, scale=0.0, generator=torch.Generator())
        >>> {name: tuple(target.value.shape) for name, target in teacher(torch.ones(5, 3, 17, 17)).items()}
        {'0': (5, 8, 17, 17), '2': (5, 16, 17, 17)}
    """

    def __init__(self, frames: int, filters: Mapping[str, int], *, scale: float, generator: Generator) -> None:
        super().__init__()
        self.filters = dict(filters)
        total = sum(self.filters.values())
        self.phi = nn.Parameter(scale * torch.randn(frames, total, generator=generator))

    def forward(self, privileged: Float[Tensor, "b t ..."]) -> dict[str, Target]:
        """Return the targets for trajectories (B, T, *frame), each of shape (B, filters, *frame)."""
        mixed = torch.einsum("tl,bt...->bl...", self.phi.softmax(0), privileged)
        parts = mixed.split(list(self.filters.values()), dim=1)
        return {name: Target(part) for name, part in zip(self.filters, parts, strict=True)}

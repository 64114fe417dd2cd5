"""A teacher made of a flat network: its outputs are dealt out to the supervised units."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

from torch import Tensor, nn

from mechlearn import arguments
from mechlearn.distill.teachers.targets import Target


class UnitsTeacher(nn.Module):
    """A teacher made of any network with flat outputs: they are dealt out to the units of the supervised layers.

    The MuJoCo teacher of the thesis (appendix C.2.2.2) is such a network with two outputs for each of the student's
    neurons: first all targets, then all gates.

    Args:
        network: from (B, ...) privileged data to (B, K) or, with gates, (B, 2 K) outputs, K the number of units.
        units: the shape, without the batch, of each supervised layer's output, by layer name; an int for a vector.
        gated: whether the network gives gates too.

    Raises:
        TypeError, ValueError: units that are no whole numbers of at least 1, or none.

    Example:
        >>> import torch
        >>> teacher = UnitsTeacher(torch.nn.Linear(3, 2 * (4 + 5)), {"0": 4, "2": 5}, gated=True)
        >>> signals = teacher(torch.zeros(7, 3))
        >>> {name: (tuple(s.value.shape), tuple(s.gate.shape)) for name, s in signals.items()}
        {'0': ((7, 4), (7, 4)), '2': ((7, 5), (7, 5))}
    """

    def __init__(self, network: nn.Module, units: Mapping[str, int | Sequence[int]], *, gated: bool = False) -> None:
        super().__init__()
        arguments.check_kind("network", network, nn.Module, "a torch.nn.Module", way_out="Give a module, not its class.")
        arguments.check_kind("units", units, Mapping, "shapes by layer name", way_out='Write {"read": 8}.')
        arguments.check_flag("gated", gated)
        if not units:
            raise ValueError('`units` should name a layer at least. Found none. Write {"read": 8}.')
        self.network = network
        self.shapes = {name: _shape(name, shape) for name, shape in units.items()}
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


def _shape(name: str, shape: object) -> tuple[int, ...]:
    """Return the shape of a layer's output, of whole numbers of at least 1."""
    what, way_out = f"units[{name!r}]", 'Write {"read": 8}, or {"read": (4, 5, 5)}.'
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        arguments.check_whole(what, shape, 1, way_out=way_out)
        return (int(cast(int, shape)),)
    sizes = cast(Sequence[int], shape)
    for size in sizes:
        arguments.check_whole(what, size, 1, way_out=way_out)
    return tuple(map(int, sizes))

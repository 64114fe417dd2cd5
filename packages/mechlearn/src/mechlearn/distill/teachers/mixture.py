"""A teacher that mixes the frames of a trajectory over time."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mechlearn import arguments
from mechlearn.distill.teachers.targets import Target


class TimeMixture(nn.Module):
    """The Game of Life's teacher (thesis 4.4.2, appendix C.3): every filter's target is a mixture of the frames.

    h*_kl = sum_t softmax_t(phi_tkl) x_t for filter l of supervised layer k.

    Args:
        frames: T, the number of frames of x*.
        filters: the number of filters of each supervised layer, by layer name.
        scale: standard deviation of the initial phi; 0 starts from the plain mean of the frames.
        generator: of the initial phi, which lies on its device.

    Example:
        >>> teacher = TimeMixture(3, {"0": 8, "2": 16}, scale=0.0, generator=torch.Generator())
        >>> {name: tuple(target.value.shape) for name, target in teacher(torch.ones(5, 3, 17, 17)).items()}
        {'0': (5, 8, 17, 17), '2': (5, 16, 17, 17)}
    """

    def __init__(self, frames: int, filters: Mapping[str, int], *, scale: float, generator: Generator) -> None:
        super().__init__()
        arguments.check_whole("frames", frames, 1)
        arguments.check_not_negative("scale", scale)
        arguments.check_generator("generator", generator)
        arguments.check_kind("filters", filters, Mapping, "numbers of filters by layer name", way_out='Write {"conv": 16}.')
        if not filters:
            raise ValueError('`filters` should name a layer at least. Found none. Write {"conv": 16}.')
        for name, count in filters.items():
            arguments.check_whole(f"filters[{name!r}]", count, 1)
        self.filters = dict(filters)
        total = sum(self.filters.values())
        self.phi = nn.Parameter(scale * torch.randn(frames, total, generator=generator, device=generator.device))

    def forward(self, privileged: Float[Tensor, "b t ..."]) -> dict[str, Target]:
        """Return the targets for trajectories (B, T, *frame), each of shape (B, filters, *frame); boards of 0 and 1 as floats.

        Raises:
            ValueError: another number of frames.
        """
        if privileged.dim() < 2 or privileged.shape[1] != len(self.phi):
            raise ValueError(
                f"A mixture over time should get trajectories of {len(self.phi)} frames, (B, T, ...). Found shape "
                f"{tuple(privileged.shape)}. Cut them, or make the teacher with another number of frames."
            )
        frames = privileged if privileged.is_floating_point() else privileged.to(self.phi.dtype)
        mixed = torch.einsum("tl,bt...->bl...", self.phi.softmax(0), frames)
        parts = mixed.split(list(self.filters.values()), dim=1)
        return {name: Target(part) for name, part in zip(self.filters, parts, strict=True)}

"""Task A by looks of different numbers: x* is a mapping of the signs and of a trajectory of noisy looks at what they turned.

"T could vary from one example to the next" (thesis section 4.3.1): a look at time t is s h + noise, and an example has one to
`LOOKS` of them. The mean over an example's own looks, beside the signs, is task A's x* but for noise. A teacher that is not
told how many there are takes the mean over zeros, too.
"""

from typing import cast

import torch
from torch import Generator, Tensor, nn

from mechlearn.distill import Ragged, Target
from mechlearn.distill.examples.inputs import Inputs
from mechlearn.trajectories import Trajectories

LOOKS = 12
"""The largest number of looks."""
NOISE = 0.5
"""Standard deviation of a look's noise; that of h is about .58."""


def looked_at(method: str, privileged: Tensor, generator: Generator) -> Inputs:
    """Return x* (b, 4) of task A as looks: a mapping of "signs" (b, 2) and "looks", one to `LOOKS` frames (2,) an example.

    Args:
        method: "ldt-padded" pads with zeros and leaves lengths out; "ldt-placebo" gives every example another one's x*.
        privileged: (b, 4), signs and what they turned.
        generator: of lengths, noise, and the placebo's order; every method sees the same looks.
    """
    signs, turned = privileged.split(2, dim=1)
    lengths = torch.randint(1, LOOKS + 1, (len(privileged),), generator=generator)
    frames = turned[:, None] + NOISE * torch.randn(len(privileged), LOOKS, 2, generator=generator)
    order = torch.randperm(len(privileged), generator=generator)
    frames[torch.arange(LOOKS) >= lengths[:, None]] = 0.0
    if method == "ldt-padded":
        return {"signs": signs, "looks": frames}
    if method == "ldt-placebo":
        signs, frames, lengths = signs[order], frames[order], lengths[order]
    return {"signs": signs, "looks": Trajectories(frames, lengths)}


class Looking(nn.Module):
    """A teacher of the mean look beside the signs: over an example's own looks where it gets lengths, else over all frames."""

    def __init__(self, teacher: nn.Module) -> None:
        super().__init__()
        self.teacher = teacher

    def forward(self, privileged: dict[str, Tensor | Ragged]) -> dict[str, Target]:
        """Return the teacher's targets (b, units) of each layer."""
        signs, looks = cast(Tensor, privileged["signs"]), privileged["looks"]
        if isinstance(looks, Ragged):
            own = looks.mask.to(signs.dtype)
            mean = (looks.frames * own[..., None]).sum(-2) / own.sum(-1, keepdim=True)
        else:
            mean = looks.mean(-2)
        return self.teacher(torch.cat([signs, mean], -1))

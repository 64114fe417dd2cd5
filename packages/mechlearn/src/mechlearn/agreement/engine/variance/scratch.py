"""Memory for what is computed on the way: used again parameter after parameter and step after step.

What a step gives back to the system it has to ask for in the next one, page by page, which costs as much as passes over it.
"""

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

MOST = 2**19
"""Numbers under one name that are held on to: 2 MiB of float32."""


class Room(threading.local):
    """Scratch memory by name, on a CPU; whoever asks for a name again has what the last one had under it.

    Every thread has memory of its own: several may share an agreement, and torch's operators let them run side by side.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, torch.dtype], Tensor] = {}

    def __reduce__(self) -> tuple[type["Room"], tuple[()]]:
        return Room, ()  # a copy has its own

    def of(self, name: str, shape: Sequence[int], like: Tensor) -> Tensor:
        """Return memory of a shape, of another tensor's type and on its device, with whatever is in it."""
        numel = torch.Size(shape).numel()
        if like.device.type != "cpu" or numel > MOST:
            return like.new_empty(shape)
        key = name, like.dtype
        held = self._held.get(key)
        if held is None or held.numel() < numel:
            held = self._held[key] = like.new_empty(numel)
        return held[:numel].view(tuple(shape))

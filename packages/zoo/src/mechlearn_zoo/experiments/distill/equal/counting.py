"""What a piece of training costs: floating-point operations of its matrix products and convolutions, as torch counts them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


class _Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401  # torch's protocol
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        del types
        found = func(*args, **(kwargs or {}))
        count = flop_registry.get(func.overloadpacket)
        if count is not None:
            self.total += int(count(*args, **(kwargs or {}), out_val=found))
        return found


def operations(take: Callable[[], object]) -> int:
    """Return how many operations a call takes, forward and backward passes of any order alike.

    >>> import torch
    >>> operations(lambda: torch.ones(2, 3) @ torch.ones(3, 5))
    60
    """
    with _Counting() as counting:
        take()
    return counting.total

"""A masked gradient that is added to another: the sum of masked halves is not the masked whole, and nobody sees it."""

import warnings
from collections.abc import Iterable
from weakref import ref

from torch import Tensor

from mechlearn.agreement.rules import Rule


class Repeated:
    """Notices that ``.grad`` still holds the latest masked gradient where the next one is to be added."""

    def __init__(self) -> None:
        self._latest: tuple[ref[Tensor], int] | None = None

    def __reduce__(self) -> tuple[type["Repeated"], tuple[()]]:
        """Return what a copy is made of: its gradients are others."""
        return Repeated, ()

    def warn(self, rule: Rule, leaves: Iterable[Tensor]) -> None:
        """Warn where nothing has cleared or changed the gradient since; sums of means are as good as the mean of sums."""
        if self._latest is None or not rule.needs:
            return
        latest, version = self._latest
        held = latest()
        if held is not None and held._version == version and any(leaf.grad is held for leaf in leaves):
            warnings.warn(
                "A gradient should be masked when it is whole. Found a second masked gradient added to a first. Call "
                "`accumulate` for every micro-batch but the last and `backward` for the last, zero_grad() after each step, "
                "or add the losses where there are several.",
                stacklevel=5,
            )

    def remember(self, leaves: Iterable[Tensor]) -> None:
        """Remember one of the gradients that were delivered, and that it has not changed."""
        grad = next((leaf.grad for leaf in leaves if leaf.grad is not None), None)
        self._latest = None if grad is None else (ref(grad), grad._version)

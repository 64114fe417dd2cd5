"""A small parameter's environment gradients side by side: many such parameters are then added up at once.

What a small network costs is calls. A sign, a sum of signs and what the rule does for each parameter become one of each.
"""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from mechlearn.agreement.engine.sums.running import RunningSums
from mechlearn.agreement.kernels.compiled import Compiled
from mechlearn.agreement.rules import Statistics

SMALL = 2**14
"""Parameters of fewer components wait for each other: a rule's operations cost more to call than to carry out."""

ROOM = 2**20
"""Elements that may lie side by side at a time, 4 MiB of float32, however many small parameters there are."""


class SideBySide(RunningSums):
    """The gradients of a small parameter's environments, which are added up when they are asked for.

    Args:
        like: the parameter.
        needs: the optional statistics that the rule reads.
        compiled: kernels to use for what they take, or None for torch's operators.
    """

    def __init__(self, like: Tensor, needs: frozenset[str], compiled: Compiled | None = None) -> None:
        super().__init__(like, needs, compiled)
        self._stacks: list[Tensor] = []

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Take the gradients of c further environments, whose memory is this object's from now on."""
        if self.gradient is not None:
            super().add(gradients)
            return
        self._stacks.append(gradients if gradients.dtype == self.dtype else gradients.to(self.dtype))
        self.environments += gradients.shape[0]

    @property
    def beside(self) -> bool:
        """Whether gradients are at hand, and not added up or come so."""
        return bool(self._stacks)

    def rows(self) -> Float[Tensor, "e p"]:
        """Return all gradients, a row an environment."""
        stacks = self._stacks
        whole = stacks[0] if len(stacks) == 1 else torch.cat(stacks)
        return whole.reshape(self.environments, -1)

    def total(self) -> Float[Tensor, " p"]:
        """Return their sum, bit for bit what adding them up gives: torch's order depends on a tensor's shape."""
        first, *others = (stack[0] if len(stack) == 1 else stack.sum(0) for stack in self._stacks)
        for other in others:
            first = first + other
        return first.reshape(-1)

    def statistics(self) -> Statistics:
        """Return the sums so far."""
        self._add_up()
        return super().statistics()

    def _begin(self, environments: int) -> None:
        self._add_up()
        super()._begin(environments)

    def _add_all(self, environments: int, gradient: Tensor, more: Mapping[str, Shaped[Tensor, "*p"]]) -> None:
        self._add_up()
        super()._add_all(environments, gradient, more)

    def _add_up(self) -> None:
        if self._stacks:
            stacks, self._stacks, self.environments = self._stacks, [], 0
            for stack in stacks:
                super().add(stack)


def added_together(parameters: Sequence[SideBySide]) -> Statistics:
    """Return the sums of several parameters end to end, as a rule that reads signs alone wants them."""
    sign = torch.cat([sums.rows() for sums in parameters], 1).sign_().sum(0)
    return Statistics(parameters[0].environments, torch.cat([sums.total() for sums in parameters]), sign)

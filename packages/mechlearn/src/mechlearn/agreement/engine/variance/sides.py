"""Q+ and Q- of components whose environments come one by one: of a product of several one logarithm is taken."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mechlearn.agreement.engine.variance.moments import wallace
from mechlearn.agreement.engine.variance.scratch import Room
from mechlearn.agreement.kernels.compiled import Compiled


class Sides:
    """Q+ and Q- of one tile of a parameter, while its environments come one by one.

    A sum of logarithms is one of a product: of several environments with the same degrees of freedom one logarithm is taken.
    As 1 - g^2 / M is at least 8 units in the last place, a product of six of them is within float32's range, and of twenty
    within float64's; on a CPU it is looked at for how many more it has room, which are all where little is established.

    Args:
        total: where to add gradients.
        held: "positive" and "negative", where to add evidence; what is missing is not wanted.
        room: for what is computed on the way.
        compiled: kernels to use for what they take, or None for torch's operators.
    """

    def __init__(self, total: Tensor, held: Mapping[str, Tensor], room: Room, compiled: Compiled | None = None) -> None:
        self._total, self._held = total, [held.get("positive"), held.get("negative")]
        limits = torch.finfo(total.dtype)
        self._tiny, self._floor, self._top = limits.tiny, 8 * limits.eps, 1 - 8 * limits.eps
        self._products = room.of("up", total.shape, total).fill_(1), room.of("down", total.shape, total).fill_(1)
        self._scratch = room.of("share", total.shape, total)
        self._degrees, self._left, self._empty = 0, 0, True
        self._compiled = compiled if compiled is not None and compiled.takes(total, *self._products) else None

    def add(self, gradient: Tensor, squares: Tensor, degrees: int) -> None:
        """Add an environment's gradient and evidence; ``squares`` is overwritten."""
        if degrees != self._degrees or self._left < 1:
            self._make_room(degrees)
        self._left -= 1
        self._empty = False
        if self._compiled is not None and self._compiled.takes(gradient, squares):
            into = (self._total, *self._products)
            self._compiled.add_sides(gradient, squares, (self._tiny, self._top), into)
            return
        self._total.add_(gradient)
        half, (up, down) = self._scratch, self._products
        share = torch.div(torch.abs(gradient, out=half).mul_(gradient), squares.clamp_(min=self._tiny), out=squares)
        torch.clamp(share, 0, self._top, out=half)
        up.addcmul_(up, half, value=-1)
        torch.clamp(share, -self._top, 0, out=half)
        down.addcmul_(down, half)

    def finish(self) -> None:
        """Take the logarithms of what there is."""
        if not self._empty:
            for product, held in zip(self._products, self._held, strict=True):
                if held is not None:
                    held.add_(product.log_(), alpha=-wallace(self._degrees))
                product.fill_(1)
        self._empty = True

    def _make_room(self, degrees: int) -> None:
        """See to it that the products have room for another factor; logarithms are taken only where they must be."""
        if degrees == self._degrees and self._total.device.type == "cpu":
            self._left = self._fitting(min(float(product.min()) for product in self._products))
            if self._left > 0:
                return
        self.finish()
        self._degrees, self._left = degrees, self._fitting(1.0)

    def _fitting(self, smallest: float) -> int:
        """Return how many factors of the least size leave a product in range; none where it is no number."""
        room = math.log(smallest / self._tiny) / -math.log(self._floor) if smallest > 0 else 0
        return math.floor(room)

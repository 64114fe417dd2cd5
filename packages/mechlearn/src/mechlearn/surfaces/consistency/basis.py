"""A growing orthonormal basis with its Hessian-vector products: what the subspace search remembers."""

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.surfaces.landscape import Curvature, Landscape

_PIECE = 2**16
"""Components of the basis that are turned at a time."""


class Basis:
    """An orthonormal basis with its products, for one ordered pair of environments.

    Args:
        landscape: the losses.
        pair: positions of e and e'.
        curvature: its kind.
        room: for so many vectors.
    """

    def __init__(self, landscape: Landscape, pair: tuple[int, int], curvature: Curvature, room: int) -> None:
        self.landscape, self.pair = landscape, pair
        self.curvature: Curvature = curvature
        self.size = 0
        # Room for the largest basis once, so that growing it copies nothing.
        self._rows = [landscape.point.new_empty(room, len(landscape.point)) for _ in range(3)]
        self.products = 0

    @property
    def vectors(self) -> Float[Tensor, "k n"]:
        """The orthonormal basis V."""
        return self._rows[0][: self.size]

    @property
    def images(self) -> tuple[Float[Tensor, "k n"], Float[Tensor, "k n"]]:
        """H_e V and H_e' V, row by row."""
        return self._rows[1][: self.size], self._rows[2][: self.size]

    def extend(self, vector: Float[Tensor, " n"]) -> bool:
        """Add the part of a vector outside the subspace with its two products; False where there is next to none."""
        norm = float(vector.norm())
        if not norm > 0:
            return False
        row = torch.div(vector, norm, out=self._rows[0][self.size])
        for _ in range(2):  # once leaves what rounding made of a small remainder
            self._leave_out(row)
        left = float(row.norm())
        if left < 100 * torch.finfo(row.dtype).eps:
            return False
        self._leave_out(row.div_(left))
        row.div_(row.norm())
        for e, images in zip(self.pair, self._rows[1:], strict=True):
            images[self.size] = self.landscape.product(e, row, self.curvature)
        self.size += 1
        self.products += 2
        return True

    def _leave_out(self, row: Float[Tensor, " n"]) -> None:
        """Take the subspace's part out of a vector, in place."""
        row.addmv_(self.vectors.T, self.vectors @ row, alpha=-1)

    def restrict(self, coefficients: Float[Tensor, "k j"]) -> Float[Tensor, "j j"]:
        """Keep the span of some coordinate vectors only, and return those vectors in the new coordinates."""
        new, _ = torch.linalg.qr(coefficients)
        turn = new.T.to(self.vectors)
        for rows in self._rows:
            for piece in rows.split(_PIECE, dim=1):  # in place, or the new rows would need as much memory again
                piece[: len(turn)] = turn @ piece[: self.size]
        self.size = len(turn)
        return new.T @ coefficients

    def combination(self, own: Tensor, mine: Tensor, theirs: Tensor) -> Float[Tensor, " n"]:
        """Return the sum of own V, mine H_e V and theirs H_e' V for coordinates own, mine and theirs."""
        total = torch.zeros_like(self.landscape.point)
        for rows, weights in zip((self.vectors, *self.images), (own, mine, theirs), strict=True):
            total.addmv_(rows.T, weights.to(rows))
        return total

    def projected(self, which: int) -> Float[Tensor, "k k"]:
        """Return V H V^T for e (0) or e' (1), in float64."""
        matrix = (self.vectors @ self.images[which].T).double().cpu()
        return (matrix + matrix.T) / 2

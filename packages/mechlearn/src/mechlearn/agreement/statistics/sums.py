"""What all environments' gradients of one parameter add up to, a piece of the parameter at a time.

Index conventions: e an environment of E, p a piece of the parameter, o and i its rows and columns.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.layers.products import sign_products
from mechlearn.agreement.engine.layers.terms import spans
from mechlearn.agreement.normalised import lengths

AT_ONCE = 2**22
"""Entries of a matrix of products between environments that are formed at a time: 32 MiB of float64."""


class PieceSums:
    """Sums over the components of one parameter, of products between environments and of signs that agree.

    Args:
        environments: E.
        device: where the gradients are.
        pairs: form the whole matrix of products between environments, not its diagonal and its row sums alone.

    Attributes:
        gram: (E, E) the dot product of g_e and g_f, or None without ``pairs``.
        squares: (E,) the square of the norm of g_e.
        along: (E,) the dot product of g_e and the sum of all environments' gradients.
        agreeing: () at how many components all environments have one sign.
        conflicting: () at how many components two environments have opposite signs.
    """

    def __init__(self, environments: int, device: torch.device, *, pairs: bool) -> None:
        blank = torch.zeros(environments, dtype=torch.float64, device=device)
        self.environments = environments
        self.gram = blank.new_zeros(environments, environments) if pairs else None
        self.squares, self.along = blank, blank.clone()
        self.agreeing, self.conflicting = (torch.zeros((), dtype=torch.int64, device=device) for _ in range(2))

    def add(self, gradients: Float[Tensor, "e *p"]) -> None:
        """Add all environments' gradients of a piece, which are left as they are."""
        rows = gradients.reshape(self.environments, -1)
        if not rows.shape[1]:
            return
        rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
        low, high = rows.amin(0), rows.amax(0)
        self.agreeing += ((low > 0) | (high < 0)).sum()
        self.conflicting += ((low < 0) & (high > 0)).sum()
        if self.gram is not None:
            found = rows @ rows.T
            self.gram += found if _holds(rows, found.diagonal()) else rows.double() @ rows.T.double()
        else:
            squares = squares_of_rows(rows)
            self.squares += squares
            rows = rows if _holds(rows, squares) else rows.double()
            self.along += rows @ rows.sum(0)

    def add_products(self, left: Float[Tensor, "e o"], right: Float[Tensor, "e i"]) -> None:
        """Add gradients that are products left_e right_e^T of two rows each, of which none is formed.

        The dot product of two of them is that of their left factors times that of their right ones.
        """
        signs = sign_products(left, right).abs()
        self.agreeing += (signs == self.environments).sum()
        self.conflicting += (signs < sign_products(left.abs(), right.abs())).sum()
        left, right = left.double(), right.double()
        if self.gram is not None:
            self.gram += (left @ left.T).mul_(right @ right.T)
            return
        for first, length in spans(self.environments, max(1, AT_ONCE // self.environments)):
            some = slice(first, first + length)
            self.along[some] += (left[some] @ left.T).mul_(right[some] @ right.T).sum(1)
        self.squares += left.square().sum(1) * right.square().sum(1)

    def finished(self) -> "PieceSums":
        """Return these sums with everything that follows from the matrix of products."""
        if self.gram is not None:
            self.squares, self.along = self.gram.diagonal().clone(), self.gram.sum(1)
        return self


def _holds(rows: Tensor, squares: Float[Tensor, " e"]) -> bool:
    """Tell whether products of rows stay in the range of their type: what float32 cannot hold of them is no part of a sum."""
    return rows.dtype == torch.float64 or bool(((squares > 1e-20) & (squares < 1e30)).all())


def squares_of_rows(gradients: Float[Tensor, "c *p"]) -> Float[Tensor, " c"]:
    """Return the square of the norm of each gradient, in float64.

    Sums of float32 are of float32, which takes a tenth of the time, unless they leave its range.
    """
    rows = gradients.detach().flatten(1).to(torch.promote_types(gradients.dtype, torch.float32))
    if rows.dtype == torch.float32:
        found = torch.linalg.vector_norm(rows, dim=1).double().square()
        if _holds(rows, found):
            return found
    return lengths(rows).square()

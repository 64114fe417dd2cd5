"""Sums of environment gradients divided by their norms, as `mechlearn.agreement.normalised` defines it, and those norms."""

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.sums.running import LONG, RunningSums
from mechlearn.agreement.kernels.compiled import Compiled
from mechlearn.agreement.normalised import lengths, or_one


class UnitSums(RunningSums):
    """The statistics of one parameter whose environment gradients are divided by their own norms."""

    in_whole = True

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add the gradients of c further environments, each divided by its norm; their memory is overwritten."""
        wide = gradients.to(self.dtype)
        super().add(divided(wide, lengths(wide), out=wide))


class Lengths(RunningSums):
    """The norms of one parameter's environment gradients, and where that is asked for the sum of their signs.

    Args:
        like: the parameter.
        needs: no statistics, or signs.
        compiled: kernels to use for what they take, or None for torch's operators.
        keep: hold what gradients come in as, for `weighted`.
    """

    in_whole = True

    def __init__(
        self, like: Tensor, needs: frozenset[str] = frozenset(), compiled: Compiled | None = None, *, keep: bool = False
    ) -> None:
        super().__init__(like, needs, compiled)
        self._found: list[Tensor] = []
        self._totals: list[Tensor] = []
        self._keep = keep
        self._pieces: list[tuple[Tensor, Tensor | None]] = []

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Take the gradients of c further environments; their memory is overwritten."""
        wide = gradients.to(self.dtype)
        self._found.append(lengths(wide))
        if self._keep:
            self._pieces.append((wide.clone(), None))
        else:
            self._totals.append(wide.flatten(1).sum(1, dtype=torch.float64))
        if self.needs:
            self._add_signs(wide.sign_())
        self.environments += len(wide)

    def _add_signs(self, signs: Tensor) -> None:
        held = self.held.get("sign")
        if held is not None and held.dtype != self.dtype:
            held = held.to(self.dtype)  # bytes would have no room
        if len(signs) > 1 and self.shape.numel() < LONG:
            signs = signs.sum(0)[None]
        for one in signs:
            held = one.clone() if held is None else held.add_(one)
        if held is not None:
            self.held["sign"] = held

    def add_products(self, left: Float[Tensor, "e o"], right: Float[Tensor, "e i"], sign: Tensor | None) -> None:
        """Take gradients that are products of two rows each: the norm of left_e right_e^T is the product of theirs.

        Args:
            left: a row an environment.
            right: a row an environment.
            sign: the sum of the products' signs, where it is asked for.
        """
        self._found.append(lengths(left) * lengths(right))
        if self._keep:
            self._pieces.append((left, right))
        else:
            self._totals.append(left.sum(1, dtype=torch.float64) * right.sum(1, dtype=torch.float64))
        if sign is not None and "sign" not in self.held:
            self.held["sign"] = sign  # as good as always all there is: bytes stay bytes
        elif sign is not None:
            self._add_signs(sign.to(self.dtype)[None])
        self.environments += len(left)

    def add_silent(self, environments: int) -> None:
        """Take environments whose losses do not reach the parameter."""
        self._found.append(torch.zeros(environments, dtype=torch.float64, device=self.device))
        self._totals.append(self._found[-1])
        if self._keep:
            self._pieces.append((torch.zeros(environments, *self.shape, dtype=self.dtype, device=self.device), None))
        if self.needs:
            self._add_signs(torch.zeros(1, *self.shape, dtype=self.dtype, device=self.device))
        self.environments += environments

    def weighted(self, norms: Float[Tensor, " e"]) -> Float[Tensor, "*p"]:
        """Return the sum of all gradients, each divided by a norm, from what was kept of them."""
        total: Tensor | None = None
        first = 0
        for left, right in self._pieces:
            own, first = norms[first : first + len(left)], first + len(left)
            rows = divided(left.to(self.dtype), own)
            some = rows.sum(0) if right is None else rows.T @ right.to(self.dtype)
            total = some if total is None else total.add_(some)
        return torch.zeros(self.shape, dtype=self.dtype, device=self.device) if total is None else total

    def values(self) -> Float[Tensor, " e"]:
        """Return the norms."""
        return torch.cat(self._found)

    def total(self, norms: Float[Tensor, " e"]) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return what the components of all gradients, each divided by a norm, add up to, and what the lengths do; not kept."""
        weights = 1 / norms.double()
        return (torch.cat(self._totals) * weights).sum(), (self.values() * weights).sum()

    def with_gradient(self, gradient: Float[Tensor, "*p"], *, own: bool = False) -> RunningSums:
        """Return ordinary sums, of gradients that add up to this one and have these signs; memory of its ``own`` may change."""
        sums = RunningSums(gradient, self.needs, self.compiled)
        # Autograd may hand out one tensor for two parameters, or an expanded one; the rule works in its statistics' memory.
        gradient = gradient if own else gradient.clone(memory_format=torch.contiguous_format)
        sums.add_sums(self.environments, gradient, self.sign)
        return sums


def of_model(found: Float[Tensor, "e n"]) -> Float[Tensor, " e"]:
    """Return what each environment's gradient is to be divided by: its norm over all parameters, 1 where that is 0.

    An infinite or undefined one is 1, too: what is not finite must be found in the sums, not become 0.

    Args:
        found: the norms of each environment's gradient of n parameters.
    """
    norms = or_one(lengths(found))
    return norms.where(torch.isfinite(norms), 1.0)


def divided(rows: Float[Tensor, "e *p"], norms: Float[Tensor, " e"], out: Tensor | None = None) -> Float[Tensor, "e *p"]:
    """Divide each row by its norm; one of norm 0 stays 0."""
    return torch.div(rows, or_one(norms).to(rows.dtype).view(-1, *[1] * (rows.dim() - 1)), out=out)

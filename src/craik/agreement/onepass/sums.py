"""Running sums of one parameter's environment gradients, instead of E stacked ones."""

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from craik.agreement.kernels.compiled import Compiled
from craik.agreement.rules import Statistics


class RunningSums:
    """The statistics of one parameter while its environment gradients stream by.

    Holds one tensor of the parameter's size for each statistic and no environment's gradient. The tensors come into being
    with the first environments.

    Args:
        like: the parameter.
        needs: the optional statistics that the rule reads.
        compiled: kernels to use for what they take, or None for torch's operators.
    """

    def __init__(self, like: Tensor, needs: frozenset[str], compiled: Compiled | None = None) -> None:
        self.shape, self.dtype, self.device = like.shape, like.dtype, like.device
        self.needs = needs
        self.compiled = compiled
        self.environments = 0
        self.gradient: Tensor | None = None
        self.sign: Tensor | None = None
        self.log_magnitude: Tensor | None = None
        self.square: Tensor | None = None

    @property
    def sign_dtype(self) -> torch.dtype:
        """What sign sums are held in where bytes do not serve.

        They are integers of at most E, exact in float32 up to 2**24 environments, and floats are several times faster to add
        and compare than integers that must be converted.
        """
        return torch.promote_types(self.dtype, torch.float32)

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add the gradients of c further environments. Their memory is scratch to this method and is overwritten."""
        self._widen(len(gradients))
        if self._add_compiled(gradients):
            return
        log_magnitude = gradients.abs().log_().sum(0) if "log_magnitude" in self.needs else None
        square = gradients.square().sum(0) if "square" in self.needs else None
        if len(gradients) > 1 and self.shape.numel() < LONG:
            total = gradients.sum(0)
            sign = gradients.sign_().sum(0) if "sign" in self.needs else None
            self.add_sums(len(gradients), total, sign, log_magnitude, square)
            return
        self.gradient = _plus_each(self.gradient, gradients)
        if "sign" in self.needs:
            held = self.sign_dtype if self.sign is None else self.sign.dtype
            self.sign = _plus_each(self.sign, gradients.sign_().to(held))
        self.log_magnitude = _plus(self.log_magnitude, log_magnitude, self.dtype)
        self.square = _plus(self.square, square, self.dtype)
        self.environments += len(gradients)

    def _add_compiled(self, gradients: Float[Tensor, "c *p"]) -> bool:
        """Add in one pass where the kernels can: float32 on the CPU, signs and nothing else."""
        if self.compiled is None or self.needs != _SIGN_ALONE or not self.compiled.takes(gradients):
            return False
        if self.gradient is None:
            self._begin(len(gradients))
        if self.gradient is None or self.sign is None or not self.compiled.takes(self.gradient):
            return False
        if not self.sign.is_contiguous() or self.sign.dtype not in (torch.int8, torch.float32):
            return False
        self.compiled.add_signs(gradients, self.gradient, self.sign)
        self.environments += len(gradients)
        return True

    def in_parts(self, environments: int, rows: int) -> Iterator[tuple[slice, "RunningSums"]]:
        """Go through adjacent rows of the parameter, some at a time, whose sums share this object's memory.

        Args:
            environments: how many will be added to every part, the same ones.
            rows: of the parameter, in a part; the last may have fewer.

        Yields:
            The rows, and their sums.
        """
        self._begin(environments)
        if self.gradient is None:
            return
        for first in range(0, self.shape[0], rows):
            some = slice(first, first + rows)
            part = RunningSums(self.gradient[some], self.needs, self.compiled)
            part.gradient, part.environments = self.gradient[some], self.environments
            part.sign = None if self.sign is None else self.sign[some]
            part.log_magnitude = None if self.log_magnitude is None else self.log_magnitude[some]
            part.square = None if self.square is None else self.square[some]
            yield some, part
        self.environments += environments

    def parts(self, environments: int, views: Sequence[Callable[[Tensor], Tensor]]) -> list["RunningSums"] | None:
        """Return the sums of parts of the parameter, which share this object's memory.

        Args:
            environments: how many will be added to every part, the same ones; outside all parts their gradient is 0.
            views: from a tensor of the parameter's shape to a part of it, each.

        Returns:
            The sums of each part, None where two parts have a component in common; nothing has changed then.
        """
        taken = torch.zeros(self.shape, dtype=torch.bool, device=self.device)
        for view in views:
            if bool(view(taken).any()):
                return None
            view(taken).fill_(True)
        self._begin(environments)
        found: list[RunningSums] = []
        for view in views:
            tensors = [None if t is None else view(t) for t in (self.gradient, self.sign, self.log_magnitude, self.square)]
            part = RunningSums(view(taken), self.needs, self.compiled)
            part.gradient, part.sign, part.log_magnitude, part.square = tensors
            part.dtype, part.environments = self.dtype, self.environments
            found.append(part)
        if self.log_magnitude is not None:
            self.log_magnitude[~taken] = -torch.inf
        self.environments += environments
        return found

    def _begin(self, environments: int) -> None:
        """Hold sums, of 0 if there are none yet, in types that have room for so many further environments."""
        self._widen(environments)
        if self.gradient is not None:
            return
        bytes_do = self.compiled is not None and self.needs == _SIGN_ALONE and environments <= MOST_IN_BYTES
        self.gradient = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        if "sign" in self.needs:
            self.sign = torch.zeros_like(self.gradient, dtype=torch.int8 if bytes_do else self.sign_dtype)
        self.log_magnitude = torch.zeros_like(self.gradient) if "log_magnitude" in self.needs else None
        self.square = torch.zeros_like(self.gradient) if "square" in self.needs else None

    def _widen(self, environments: int) -> None:
        """Move sign sums out of bytes if those of so many further environments may not fit."""
        if self.sign is not None and self.sign.dtype == torch.int8 and self.environments + environments > MOST_IN_BYTES:
            self.sign = self.sign.to(self.sign_dtype)

    def add_sums(
        self,
        environments: int,
        gradient: Float[Tensor, "*p"] | None,
        sign: Shaped[Tensor, "*p"] | None = None,
        log_magnitude: Float[Tensor, "*p"] | None = None,
        square: Float[Tensor, "*p"] | None = None,
    ) -> None:
        """Add what the gradients of further environments add up to; the first tensors given are kept and added to."""
        self._widen(environments)
        self.gradient = _plus(self.gradient, gradient, self.dtype)
        held = self.sign if self.sign is not None else sign
        self.sign = _plus(self.sign, sign, torch.int8 if held is not None and held.dtype == torch.int8 else self.sign_dtype)
        self.log_magnitude = _plus(self.log_magnitude, log_magnitude, self.dtype)
        self.square = _plus(self.square, square, self.dtype)
        self.environments += environments

    def add_silent(self, environments: int) -> None:
        """Add environments whose losses do not reach the parameter: their gradient is 0, and so is its sign."""
        if environments:
            zero = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
            sign = torch.zeros_like(zero, dtype=self.sign_dtype) if "sign" in self.needs else None
            log_magnitude = torch.full_like(zero, -torch.inf) if "log_magnitude" in self.needs else None
            square = torch.zeros_like(zero) if "square" in self.needs else None
            self.add_sums(environments, zero, sign, log_magnitude, square)

    def join(self, other: "RunningSums") -> None:
        """Add the sums of further environments."""
        if other.gradient is not None:
            self.add_sums(other.environments, other.gradient, other.sign, other.log_magnitude, other.square)

    def statistics(self) -> Statistics:
        """Return the sums so far.

        Raises:
            RuntimeError: nothing was added yet.
        """
        if self.gradient is None:
            raise RuntimeError("Statistics need at least one environment. Found none added; call add first.")
        return Statistics(self.environments, self.gradient, self.sign, self.log_magnitude, self.square)


_SIGN_ALONE = frozenset({"sign"})

MOST_IN_BYTES = 126
"""With at most this many environments, sign sums and their differences with a threshold fit a signed byte."""

LONG = 2**15
"""From this many components on, adding gradients one by one beats a sum over their first dimension (measured on a CPU)."""


def _plus_each(total: Tensor | None, gradients: Tensor) -> Tensor:
    for gradient in gradients:
        # The first gradient is kept, and its memory is the caller's: hence the copy.
        total = gradient.clone() if total is None else total.add_(gradient)
    if total is None:
        raise ValueError("Sums should have at least one gradient. Found none. Do not add an empty stack.")
    return total


def _plus(total: Tensor | None, more: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    if more is None:
        return total
    # Floats take bytes as they are; bytes take floats that are integers they have room for.
    return more.to(dtype) if total is None else total.add_(more if total.is_floating_point() else more.to(total.dtype))

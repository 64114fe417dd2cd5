"""Running sums of one parameter's environment gradients, instead of E stacked ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from mechlearn.agreement.kernels.compiled import Compiled
from mechlearn.agreement.rules import Statistics


class RunningSums:
    """The statistics of one parameter while its environment gradients stream by.

    Holds one tensor of the parameter's size for each statistic and no environment's gradient. The tensors come into being
    with the first environments.

    Sums are held in float32 or wider: in bfloat16 a sum of 256 ones stays where it is when a further one is added. For a
    parameter of two bytes a component, a rule that reads signs so holds 8 bytes a component (5 with compiled kernels) beside
    the 2 of its gradient. Squares are held in float64.

    Args:
        like: the parameter.
        needs: the optional statistics that the rule reads.
        compiled: kernels to use for what they take, or None for torch's operators.

    Attributes:
        needs: the optional statistics that are known of all environments so far.
        gradient: the sum of gradients, or None before the first.
        held: the optional sums, by their names in `mechlearn.agreement.Statistics`.
        in_whole: gradients should come by `add`, each as a whole, and not as sums or in parts.
    """

    in_whole = False

    def __init__(self, like: Tensor, needs: frozenset[str], compiled: Compiled | None = None) -> None:
        self.shape, self.device = like.shape, like.device
        self.dtype = like.dtype if like.dtype in _WIDE_ENOUGH else torch.promote_types(like.dtype, torch.float32)
        self.needs = frozenset(needs)
        self.compiled = compiled
        self.environments = 0
        self.gradient: Tensor | None = None
        self.held: dict[str, Tensor] = {}
        self._mean: Tensor | None = None

    def add_mean(self, environments: int, mean: Float[Tensor, "*p"]) -> None:
        """Take the mean of all environments' gradients, for a rule that reads nothing else; its memory is this object's.

        Their sum is formed only where somebody asks for it.
        """
        self._mean, self.environments = mean.to(self.dtype), environments

    def mean(self) -> Float[Tensor, "*p"] | None:
        """Return what `add_mean` took and nobody has added to, None else."""
        return self._mean

    @property
    def sign(self) -> Tensor | None:
        """The sum of signs: integers of at most E.

        They are exact in float32 up to 2**24 environments, and floats are several times faster to add and compare than
        integers that must be converted; bytes, where they serve, are faster still.
        """
        return self.held.get("sign")

    @property
    def sign_dtype(self) -> torch.dtype:
        """What sums of signs are held in where bytes do not serve."""
        return self.dtype

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add the gradients of c further environments. Their memory is scratch to this method and is overwritten."""
        if gradients.dtype != self.dtype:
            gradients = gradients.to(self.dtype)
        self._widen(gradients.shape[0])
        if self.compiled is not None and self._add_compiled(gradients):
            return
        more: dict[str, Tensor] = {}
        if "log_magnitude" in self.needs:
            more["log_magnitude"] = gradients.abs().log_().sum(0)
        if "square" in self.needs:
            more["square"] = gradients.to(self._dtype_of("square")).square().sum(0)
        if "magnitude" in self.needs:
            more["magnitude"] = gradients.abs().sum(0)
        if len(gradients) > 1 and (self.shape.numel() < LONG or self.device.type != "cpu"):
            total = gradients.sum(0)
            sign = gradients.sign_().sum(0) if "sign" in self.needs else None
            self._add_all(len(gradients), total, more if sign is None else {**more, "sign": sign})
            return
        self.gradient = _plus_each(self.gradient, gradients)
        if "sign" in self.needs:
            dtype = self.held["sign"].dtype if "sign" in self.held else self.dtype
            self.held["sign"] = _plus_each(self.held.get("sign"), gradients.sign_().to(dtype))
        self._add_held(more)
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
        for first in range(0, self.shape[0], rows):
            some = slice(first, first + rows)
            yield some, self._part(lambda tensor, some=some: tensor[some])
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
        found = [self._part(view) for view in views]
        if "log_magnitude" in self.held:
            self.held["log_magnitude"][~taken] = -torch.inf
        self.environments += environments
        return found

    def _part(self, view: Callable[[Tensor], Tensor]) -> "RunningSums":
        assert self.gradient is not None  # _begin has made it
        part = self._part_like(view(self.gradient), view)
        part.gradient, part.environments = view(self.gradient), self.environments
        part.held = {name: view(tensor) for name, tensor in self.held.items()}
        return part

    def _part_like(self, like: Tensor, view: Callable[[Tensor], Tensor]) -> "RunningSums":
        """Return empty sums for a part of the parameter."""
        del view
        return RunningSums(like, self.needs, self.compiled)

    def _begin(self, environments: int) -> None:
        """Hold sums, of 0 if there are none yet, in types that have room for so many further environments."""
        self._widen(environments)
        if self.gradient is not None:
            return
        bytes_do = self.compiled is not None and self.needs == _SIGN_ALONE and environments <= MOST_IN_BYTES
        self.gradient = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        for name in self.needs:
            dtype = torch.int8 if name == "sign" and bytes_do else self._dtype_of(name)
            self.held[name] = torch.zeros_like(self.gradient, dtype=dtype)

    def _settle(self) -> None:
        """Form the sum of what came as a mean."""
        if self._mean is not None:
            self.gradient, self._mean = self._mean.mul_(self.environments), None

    def _widen(self, environments: int) -> None:
        """Move sign sums out of bytes if those of so many further environments may not fit."""
        self._settle()
        if self.sign is not None and self.sign.dtype == torch.int8 and self.environments + environments > MOST_IN_BYTES:
            self.held["sign"] = self.sign.to(self.dtype)

    def add_sums(
        self,
        environments: int,
        gradient: Float[Tensor, "*p"],
        sign: Shaped[Tensor, "*p"] | None = None,
        log_magnitude: Float[Tensor, "*p"] | None = None,
        square: Float[Tensor, "*p"] | None = None,
        magnitude: Float[Tensor, "*p"] | None = None,
    ) -> None:
        """Add what the gradients of further environments add up to; the first tensors given are kept and added to.

        Args:
            environments: how many.
            gradient: the sum of their gradients.
            sign: of their signs, in bytes or floats.
            log_magnitude: of the logarithms of their magnitudes.
            square: of their squares, formed in float64.
            magnitude: of their magnitudes.
        """
        more = {"sign": sign, "log_magnitude": log_magnitude, "square": square, "magnitude": magnitude}
        found = {name: tensor for name, tensor in more.items() if tensor is not None and name in self.needs}
        if len(found) < len(self.needs):
            raise ValueError(
                f"Sums should come for all of {sorted(self.needs)}. Found {sorted(found)}. Form the others as well."
            )
        self._add_all(environments, gradient, found)

    def _add_all(self, environments: int, gradient: Tensor, more: Mapping[str, Tensor]) -> None:
        self._widen(environments)
        self.gradient = _plus(self.gradient, gradient, self.dtype)
        self._add_held(more)
        self.environments += environments

    def _add_held(self, more: Mapping[str, Tensor]) -> None:
        for name, tensor in more.items():
            in_bytes = name == "sign" and self.held.get(name, tensor).dtype == torch.int8
            self.held[name] = _plus(self.held.get(name), tensor, torch.int8 if in_bytes else self._dtype_of(name))

    def _dtype_of(self, name: str) -> torch.dtype:
        # The square of what float32 holds is within float64's range; Apple's devices have no float64.
        return torch.float64 if name in WIDE and self.device.type != "mps" else self.dtype

    def add_silent(self, environments: int) -> None:
        """Add environments whose losses do not reach the parameter: their gradient is 0, and so is its sign."""
        if environments:
            zero = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
            of_zero = {"log_magnitude": -torch.inf}
            more = {name: torch.full_like(zero, of_zero.get(name, 0), dtype=self._dtype_of(name)) for name in self.needs}
            self._add_all(environments, zero, more)

    def join(self, other: "RunningSums") -> None:
        """Add the sums of further environments; what only one of the two holds is known of neither any more."""
        if other.environments:
            found = other.statistics()
            self.needs &= other.needs
            self.held = {name: tensor for name, tensor in self.held.items() if name in self.needs}
            self._add_all(other.environments, found.gradient, {name: other.held[name] for name in self.needs})

    def statistics(self) -> Statistics:
        """Return the sums so far."""
        self._settle()
        if self.gradient is None:
            raise RuntimeError("Statistics need at least one environment. Found none added; call add first.")
        return Statistics(self.environments, self.gradient, **self.held)


WIDE = frozenset({"square", "precision", "weighted", "weighted_square", "variance"})
"""Sums of squares of gradients, or of their inverses."""

_WIDE_ENOUGH = (torch.float32, torch.float64)

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


def _plus(total: Tensor | None, more: Tensor, dtype: torch.dtype) -> Tensor:
    # Floats take bytes as they are; bytes take floats that are integers they have room for.
    if total is None:
        return more if more.dtype == dtype else more.to(dtype)
    return total.add_(more if total.is_floating_point() else more.to(total.dtype))

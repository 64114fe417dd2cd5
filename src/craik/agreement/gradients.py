"""Environment gradients, streamed: running sums instead of E stacked gradients, and the exact path for any module."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from craik.agreement.environments import Environments
from craik.agreement.rules import Statistics


class RunningSums:
    """The statistics of one parameter while its environment gradients stream by.

    Holds one tensor of the parameter's size for each statistic and no environment's gradient. The tensors come into being
    with the first environments.

    Args:
        like: the parameter.
        needs: the optional statistics that the rule reads.
    """

    def __init__(self, like: Tensor, needs: frozenset[str]) -> None:
        self.shape, self.dtype, self.device = like.shape, like.dtype, like.device
        self.needs = needs
        self.environments = 0
        self.gradient: Tensor | None = None
        self.sign: Tensor | None = None
        self.log_magnitude: Tensor | None = None
        self.square: Tensor | None = None

    @property
    def sign_dtype(self) -> torch.dtype:
        """What sign sums are held in.

        They are integers of at most E, exact in float32 up to 2**24 environments, and floats are several times faster to add
        and compare than integers that must be converted.
        """
        return torch.promote_types(self.dtype, torch.float32)

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add the gradients of c further environments. Their memory is scratch to this method and is overwritten."""
        log_magnitude = gradients.abs().log_().sum(0) if "log_magnitude" in self.needs else None
        square = gradients.square().sum(0) if "square" in self.needs else None
        if len(gradients) > 1:
            total = gradients.sum(0)
            sign = gradients.sign_().sum(0) if "sign" in self.needs else None
        else:
            # The sum over one environment would be a copy of it; the first is kept, so that one is copied all the same.
            (one,) = gradients
            total = one.clone() if self.gradient is None else self.gradient.add_(one)
            sign = one.sign_() if "sign" in self.needs else None
        self.add_sums(len(gradients), None if total is self.gradient else total, sign, log_magnitude, square)

    def add_sums(
        self,
        environments: int,
        gradient: Float[Tensor, "*p"] | None,
        sign: Shaped[Tensor, "*p"] | None = None,
        log_magnitude: Float[Tensor, "*p"] | None = None,
        square: Float[Tensor, "*p"] | None = None,
    ) -> None:
        """Add what the gradients of further environments add up to; the first tensors given are kept and added to."""
        self.gradient = _plus(self.gradient, gradient, self.dtype)
        # Bytes hold the sign sums of one call; the sum of two calls may need more.
        first = self.sign is None and sign is not None and sign.dtype == torch.int8
        self.sign = sign if first else _plus(_as(self.sign, self.sign_dtype), sign, self.sign_dtype)
        self.log_magnitude = _plus(self.log_magnitude, log_magnitude, self.dtype)
        self.square = _plus(self.square, square, self.dtype)
        self.environments += environments

    def add_parts(self, parts: Sequence["RunningSums"]) -> None:
        """Add sums that were formed for adjacent rows of the parameter, all of the same environments."""
        found = [part.statistics() for part in parts]
        sign, log_magnitude, square = (
            torch.cat([tensor for tensor in tensors if tensor is not None]) if name in self.needs else None
            for name, tensors in zip(found[0]._fields[2:], zip(*(f[2:] for f in found), strict=True), strict=True)
        )
        self.add_sums(parts[0].environments, torch.cat([f.gradient for f in found]), sign, log_magnitude, square)

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


def _as(tensor: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if tensor is None else tensor.to(dtype)


def _plus(total: Tensor | None, more: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    if more is None:
        return total
    return more.to(dtype) if total is None else total.add_(more)


def environment_gradients(
    losses: Float[Tensor, " b"], environments: Environments, parameters: Sequence[Tensor]
) -> Iterator[list[Tensor | None]]:
    """Yield, environment by environment, the gradient of its mean loss: E backward passes, exact for every module.

    This is the definition that every fast path must equal (equation 1 of the paper: g_e is the gradient of L_e). A
    parameter that an environment's loss does not reach has gradient None.

    Args:
        losses: one loss for each example; their graph is kept.
        environments: the partition of the batch.
        parameters: what to differentiate with respect to.
    """
    grouped = environments.grouped(losses)
    for rows in environments.slices():
        loss = grouped[rows].mean()
        yield list(torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True))


def stream_environment_gradients(
    losses: Float[Tensor, " b"], environments: Environments, parameters: Mapping[str, Tensor], needs: frozenset[str]
) -> dict[str, RunningSums]:
    """Add up every environment's gradient, one backward pass each, holding one environment's gradient at a time.

    A parameter that no environment reaches is left out, as plain backpropagation would leave its ``.grad`` None.
    """
    if not parameters:
        return {}
    sums = {name: RunningSums(parameter, needs) for name, parameter in parameters.items()}
    reached: set[str] = set()
    for gradients in environment_gradients(losses, environments, list(parameters.values())):
        for name, gradient in zip(parameters, gradients, strict=True):
            if gradient is None:
                sums[name].add_silent(1)
            else:
                reached.add(name)
                # add() overwrites its argument, and autograd may hand out one tensor for two parameters: hence the copy.
                sums[name].add(gradient.clone()[None])
    return {name: sums[name] for name in parameters if name in reached}

"""Agreement with FSDP2: what `torch.distributed.fsdp.fully_shard` scatters is what the ranks' environments agree on."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.fsdp._fully_shard._fsdp_api import (  # the type that the public set_custom_reduce_scatter takes
    ReduceScatter,
)

from mechlearn.agreement.distributed.collectives import answering
from mechlearn.agreement.distributed.summing import BYTE, of_one
from mechlearn.agreement.rules import STANDARD_ERRORS, Rule, Statistics, check_rule


class AgreementReduceScatter(ReduceScatter):
    """Reduces by a rule instead of a sum, each rank its own shard.

    Args:
        rule: one that treats every component by itself, since shards of several parameters come as one vector.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def allocate(self, size: Sequence[int | torch.SymInt], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Return memory for a message."""
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: distributed.ProcessGroup,
        op: Any,  # noqa: ANN401 # a sum, whatever is said: the rule divides
        async_op: bool = False,
    ) -> None:
        """Write this rank's shard of the combined gradient to the output.

        Raises:
            RuntimeError: a rank is gone, or does not answer within the group's timeout.
        """
        mine = of_one(input_tensor, self.rule)
        world = distributed.get_world_size(group)
        sign = None if mine.sign is None else _scatter(mine.sign if world <= BYTE else mine.sign.int(), group)
        rest = (None if tensor is None else _scatter(tensor, group) for tensor in mine[3:])  # what follows the sign
        total = Statistics(world, _scatter(mine.gradient, group), sign, *rest)
        lost = ~torch.isfinite(total.gradient)  # before the rule consumes it: neither a mask nor a vote hides a rank's NaN
        output_tensor.copy_(self.rule(total).gradient.masked_fill(lost, torch.nan))


def _scatter(tensor: Tensor, group: distributed.ProcessGroup) -> Tensor:
    """Return this rank's shard of the sum over ranks."""
    shard = tensor.new_empty(len(tensor) // distributed.get_world_size(group))
    # torch 2.13 has renamed it and warns of the old name.
    name = "reduce_scatter_single" if hasattr(distributed, "reduce_scatter_single") else "reduce_scatter_tensor"
    with answering():
        getattr(distributed, name)(shard, tensor.contiguous(), group=group)
    return shard


def combine_shards(model: nn.Module, rule: Rule) -> None:
    """Make a model that `torch.distributed.fsdp.fully_shard` has sharded reduce gradients by a rule, one environment a rank.

    ``loss.backward()`` on each rank's mean loss then leaves each rank its shard of the combined gradient, NaN where the ranks'
    gradients add up to NaN or infinity. Uses FSDP2's public setters on every sharded module of the model; setting them again
    restores its own.

    Args:
        model: with parameters sharded over one group; a second, replicating mesh dimension is not supported.
        rule: the same on every rank; without rescaling, which counts survivors of whole parameters.

    Raises:
        TypeError: no model, or no rule.
        ValueError: nothing is sharded, or a rule that rescales or asks how examples vary.
    """
    check_rule(rule)
    if not isinstance(model, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        raise TypeError(f"`model` should be a module. Found {type(model).__name__}. Pass what fully_shard was called on.")
    if rule.needs & STANDARD_ERRORS:
        raise ValueError(
            f"A rule for shards should read sums of gradients. Found {type(rule).__name__}, which asks how each rank's "
            "examples vary, of which a reduction sees nothing. Collect with Agreement and use combine_across_ranks."
        )
    modules = [module for module in model.modules() if isinstance(module, FSDPModule)]
    if not modules:
        raise ValueError("`model` should be sharded by fully_shard. Found no sharded module. Call fully_shard(model) first.")
    rescale = getattr(rule, "rescale", False)
    if rescale:
        raise ValueError(
            f"Rescaling counts the survivors of a whole parameter, of which a rank sees a shard. Found rescale={rescale!r}. "
            "Turn it off, or use combine_across_ranks on unsharded gradients."
        )
    for module in modules:
        module.set_custom_reduce_scatter(AgreementReduceScatter(rule))
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)

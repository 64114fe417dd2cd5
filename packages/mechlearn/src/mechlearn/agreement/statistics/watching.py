"""A forward pass for the statistics alone, which leaves nothing behind."""

import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from mechlearn.agreement.distributed.processes import check_parallelism, gathered
from mechlearn.agreement.statistics.measuring import statistics_of
from mechlearn.agreement.statistics.results import GradientStatistics
from mechlearn.environments import EnvironmentIds, check_trainable
from mechlearn.functional import borrowed


def watch(
    model: nn.Module,
    losses_of: Callable[..., Tensor],
    *batch: Any,  # noqa: ANN401  # what the function takes
    environments: EnvironmentIds,
    examples: bool = False,
    pairs: bool = True,
) -> GradientStatistics:
    """Run a function of losses, and return the statistics of its gradients; nothing that is trained changes.

    Use it every so many steps of a loop, with any batch. ``.grad``, parameters, buffers, modes and what modules hold are what
    they were, bit for bit, and so are the states of the random generators (torch's on the CPU and on the model's devices,
    Python's, NumPy's). A module that was compiled by torch.compile runs as it was before, since the formulas read its
    operations: the statistics are always the eager engine's.

    Args:
        model: any module, also one that torch.compile or DistributedDataParallel wraps or fully_shard shards. On several ranks
            each has its own statistics.
        losses_of: from ``batch`` to (B,) unreduced losses. What it draws, it draws as the next training step will.
        batch: what the function takes.
        environments: B ids, in any order.
        examples: as for `gradient_statistics`.
        pairs: as for `gradient_statistics`.

    Returns:
        Statistics of the gradients, by environment and parameter.

    Raises:
        TypeError: if ``losses_of`` is not a function; else as `gradient_statistics`.
        ValueError: as `gradient_statistics`, or if the model's parts lie on several processes in another way.
    """
    if not callable(losses_of):  # pyright: ignore[reportUnnecessaryComparison]  # a public door
        raise TypeError(
            f"`losses_of` should be a function of a batch. Found {type(losses_of).__name__}. Pass a function that returns "
            "one loss for each row; of losses that you have there is `gradient_statistics`."
        )
    check_trainable(model)
    check_parallelism(model)
    own = _unwrapped(model)
    with borrowed(model), _drawing(own), torch.compiler.set_stance("force_eager"), torch.enable_grad():
        _copy_buffers(model)
        with _outside_of_ranks(model):
            losses = losses_of(*batch)
        with gathered(own):
            return statistics_of(own, losses, environments, examples=examples, pairs=pairs, retain_graph=False)


def _unwrapped(model: nn.Module) -> nn.Module:
    """Return the module in which names are the user's."""
    while isinstance(model, DistributedDataParallel) or hasattr(model, "_orig_mod"):
        model = model.module if isinstance(model, DistributedDataParallel) else model.__dict__["_modules"]["_orig_mod"]
    return model


@contextmanager
def _outside_of_ranks(model: nn.Module) -> Generator[None]:
    """Keep a wrapper from waiting for a backward pass that will not come."""
    if isinstance(model, DistributedDataParallel):
        with model.no_sync():
            yield
    else:
        yield


def _copy_buffers(model: nn.Module) -> None:
    """Put copies instead of a model's buffers; `borrowed` puts the buffers back."""
    copies: dict[int, Tensor] = {}
    for layer in model.modules():
        for key, buffer in layer._buffers.items():  # pyright: ignore[reportPrivateUsage]
            if buffer is not None:
                layer._buffers[key] = copies.setdefault(id(buffer), buffer.clone())  # pyright: ignore[reportPrivateUsage]


@contextmanager
def _drawing(model: nn.Module) -> Generator[None]:
    """Give the random generators back in the states that they have."""
    devices = {one.device for one in model.parameters() if one.device.type not in ("cpu", "meta")}
    kinds = {device.type for device in devices}
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # the user's function may draw from it
    try:
        with torch.random.fork_rng(sorted(d.index or 0 for d in devices), device_type=kinds.pop() if kinds else "cuda"):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002

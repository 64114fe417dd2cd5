"""What a graph is refused for, in sentences: BatchNorm without a choice, another model's losses, reentrant checkpoints."""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]

from mechlearn.agreement.engine.analysis.products import uses_batch_statistics
from mechlearn.agreement.engine.analysis.tables import COMPILED, kind_of
from mechlearn.agreement.engine.analysis.walk import Survey


def check_batch_norm(graph: Survey, model: nn.Module, statistics: str | None, environments: int) -> None:
    """Reject batch statistics of the graph unless the choice of statistics fits the call."""
    if not any(kind.batch_norm and _mixes(node) for node, kind in graph.kinds.items()) and not may_hide(graph, model):
        return
    if statistics is None:
        raise ValueError(
            "BatchNorm in train mode normalises with the statistics of the whole batch, which couples the environments. "
            "Found it in the graph of `losses`. Pass statistics='pooled' to differentiate through them (exact, one "
            "backward pass for each environment) or 'per-environment' (one accumulate call for each), put the layer in eval "
            "mode, or use GroupNorm."
        )
    if statistics == "per-environment" and environments > 1:
        raise ValueError(
            "With statistics='per-environment' each call should hold one environment, so that BatchNorm's statistics are its "
            f"own. Found {environments} environments in one batch. Run the model and `accumulate` for one environment at a "
            "time, and `backward` for the last."
        )


def may_hide(graph: Survey, model: nn.Module) -> bool:
    """Tell whether a part of the graph is compiled, where batch statistics of the model's layers do not show."""
    if kind_of(COMPILED) not in graph.kinds.values():
        return False
    layers = (layer for layer in model.modules() if isinstance(layer, _BatchNorm))
    return any(layer.training or layer.running_mean is None for layer in layers)


def _mixes(node: Node) -> bool:
    # InstanceNorm calls the same operation with (1, b * channels, ...), and mixes no examples.
    return uses_batch_statistics(node) and node._input_metadata[0].shape[0] > 1  # pyright: ignore


def check_reached(parameters: Mapping[str, Tensor]) -> None:
    """Reject losses that none of the model's parameters has a part in, such as another model's."""
    if not parameters:
        raise ValueError(
            "`losses` should depend on a parameter of the model. Found none in their graph. Pass the model that computed them; "
            "a copy of a model is another model."
        )


def check_graph(graph: Survey) -> None:
    """Reject what no backward pass but a plain one can go through."""
    if kind_of("CheckpointFunctionBackward") in graph.kinds.values():
        raise ValueError(
            "A checkpoint in the model should be one that keeps its graph. Found a reentrant one, which runs a backward pass "
            "of its own into `.grad`. Pass use_reentrant=False to torch.utils.checkpoint.checkpoint."
        )

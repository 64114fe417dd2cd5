"""What others have put on tensors inside a model: gradients that are retained, and modules' backward hooks.

They are to see what they would see of ``loss.backward()`` on the mean over environments, once. The pass is one of the sum over
environments, so that what is retained is divided when it is there. A module's hook may change what it sees: before it the
gradients are divided, and behind it multiplied again.
"""

import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from types import FunctionType, TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.nn.modules._functions import BackwardHookFunction

NAME = "BackwardHookFunctionBackward"
"""Of the nodes around a module with a full backward hook, which return what they get."""

NOT_LINEAR = (
    "Hooks inside the model should be linear with normalise='model', which takes a second backward pass of losses that are "
    "divided by norms. Found {found}. Remove the hook, pass normalise='tensor', which takes one pass, or divide each "
    "environment's losses yourself."
)


def is_of_hooks(node: Node) -> bool:
    """Tell whether a node of that name is torch's own."""
    return isinstance(node, getattr(BackwardHookFunction, "_backward_cls", ()))


WRAPPERS = {
    "_DDPSinkBackward": ("torch.nn.parallel.distributed", "_DDPSink"),
    "RegisterPostBackwardFunctionBackward": (
        "torch.distributed.fsdp._fully_shard._fsdp_param_group",
        "RegisterPostBackwardFunction",
    ),
}
"""Nodes by which DistributedDataParallel and FSDP2 notice a backward pass; they return what they get, and change nothing."""


def is_of_wrapper(node: Node) -> bool:
    """Tell whether a node of one of those names is torch's own."""
    module, name = WRAPPERS[node.name()]
    return isinstance(node, getattr(getattr(sys.modules.get(module), name, None), "_backward_cls", ()))


class Retained:
    """The tensors whose gradients a model retains, as far as its modules hold them; their gradients begin anew in the block.

    Args:
        model: whose modules' attributes are looked at, lists and dictionaries among them, and what their forward hooks close
            over. A graph does not show what else asked to retain its gradient.
    """

    def __init__(self, model: nn.Module) -> None:
        self._tensors = list({id(one): one for one in _held(model) if one.retains_grad}.values())
        self._before = [one.grad for one in self._tensors]
        self._found: list[Tensor | None] = [None] * len(self._tensors)

    def __enter__(self) -> "Retained":
        for one in self._tensors:
            one.grad = None
        return self

    def settle(self, environments: int) -> None:
        """End a pass: what came in it is divided, unless an earlier pass has brought it."""
        for k, one in enumerate(self._tensors):
            if one.grad is not None:
                if self._found[k] is None:
                    self._found[k] = one.grad if environments == 1 else one.grad / environments
                one.grad = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for one, before, found in zip(self._tensors, self._before, self._found, strict=True):
            if kind is not None or found is None:
                one.grad = before
            else:
                one.grad = found if before is None else before + found


def _held(model: nn.Module) -> Iterator[Tensor]:
    """Return the tensors that a model's modules hold beside parameters and buffers."""
    for layer in model.modules():
        for value in vars(layer).values():
            if type(value) is Tensor:
                yield value
            elif value and type(value) in (list, tuple, dict, OrderedDict):
                yield from _inside(value)


def _inside(container: Any) -> Iterator[Tensor]:  # noqa: ANN401  # a user's
    values: Iterable[Any] = container.values() if isinstance(container, dict) else container
    for value in values:
        if type(value) is Tensor:
            yield value
        elif isinstance(value, FunctionType) and value.__closure__:
            for cell in value.__closure__:
                yield from _of_cell(cell)


def _of_cell(cell: Any) -> Iterator[Tensor]:  # noqa: ANN401  # a closure's
    try:
        value = cell.cell_contents
    except ValueError:  # a name that has no value yet
        return
    values: Iterable[Any] = value.values() if type(value) in (dict, OrderedDict) else value if type(value) is list else [value]
    yield from (one for one in values if type(one) is Tensor)


def check_alike(found: dict[str, Tensor], wanted: dict[str, Tensor], allowed: dict[str, Tensor]) -> None:
    """Reject a second pass whose gradients add up to something else than the first pass says they do.

    Args:
        found: the sum of each parameter's components in the second pass, by name.
        wanted: what the first pass says of it.
        allowed: how far they may be off.

    Raises:
        ValueError: another sum.
    """
    if not found:
        return
    device = next(iter(found.values())).device
    off = torch.stack([(one - wanted[name]).abs().to(device) for name, one in found.items()])
    far = (off > torch.stack([allowed[name].to(device) for name in found])).tolist()  # one wait for a device
    name = next((name for name, one in zip(found, far, strict=True) if one), None)
    if name is not None:
        raise ValueError(NOT_LINEAR.format(found=f"a second gradient of {name!r} that is not the first one divided"))

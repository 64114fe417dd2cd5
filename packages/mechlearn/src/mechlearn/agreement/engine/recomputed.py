"""What nodes saved and have only once: those of a checkpoint, and those of what torch.compile has compiled.

What a checkpoint's nodes saved is computed again, once a backward pass, and may be looked at once in each.

`torch.utils.checkpoint` without reentrance hands every saved tensor out once to a pass, and the pass itself needs it. So what
formulas read is read in a small pass of its own, for all reads of a checkpoint at a time: it is computed once more.

A backward pass that was compiled for one use reuses the memory of what the forward pass saved, and torch refuses a second
one: that memory is brought back before each.
"""

import functools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.autograd.graph import Node
from torch.utils.hooks import RemovableHandle

from mechlearn.agreement.engine.analysis.tables import COMPILED

_RAW = "_raw_saved_"


class Recomputed(Node):
    """A node whose saved tensors are at hand; all else is the node's."""

    def __init__(self, node: Node, tensors: Mapping[str, Any]) -> None:
        self._node, self._tensors = node, tensors

    def name(self) -> str:
        """Return the node's name."""
        return self._node.name()

    @property
    def next_functions(self) -> Any:  # noqa: ANN401  # as torch annotates it
        """What the node reads."""
        return self._node.next_functions

    def metadata(self) -> dict[str, Any]:
        """Return the node's metadata."""
        return self._node.metadata()

    @property
    def _input_metadata(self) -> Any:  # noqa: ANN401  # pyright: ignore
        return self._node._input_metadata  # pyright: ignore

    @property
    def _sequence_nr(self) -> Any:  # noqa: ANN401  # pyright: ignore
        return self._node._sequence_nr  # pyright: ignore

    @property
    def _register_hook_dict(self) -> Any:  # noqa: ANN401  # pyright: ignore
        return self._node._register_hook_dict  # pyright: ignore

    def register_hook(self, fn: Callable[..., Any]) -> Any:  # noqa: ANN401
        """Hook the node."""
        return self._node.register_hook(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> Any:  # noqa: ANN401
        """Hook the node."""
        return self._node.register_prehook(fn)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the node has
        tensors = self.__dict__["_tensors"]
        return tensors[name] if name in tensors else getattr(self.__dict__["_node"], name)


_NAMES: dict[str, tuple[str, ...]] = {}
"""By a node's name, what it saves of tensors."""


def checkpoint_of(node: Node) -> Callable[..., Any] | None:
    """Return what computes a node's saved tensors again, one and the same for all nodes of a checkpoint; None for others."""
    name = node.name()
    names = _NAMES.get(name)
    if names is None:
        found = (attribute.removeprefix(_RAW) for attribute in dir(node) if attribute.startswith(_RAW))
        names = _NAMES[name] = tuple(found)
    for saved in names:
        hook = getattr(getattr(node, _RAW + saved), "unpack_hook", None)
        if hook is not None:
            return hook if "checkpoint" in getattr(hook, "__qualname__", "") else None
    return None


def recompute(nodes: Sequence[Node]) -> dict[Node, Recomputed]:
    """Read what the nodes of one checkpoint saved, computing it once."""
    found: dict[Node, Recomputed] = {}

    def look() -> None:
        for node in nodes:
            tensors = {f"_saved_{name}": getattr(node, f"_saved_{name}") for name in _NAMES[node.name()]}
            found[node] = Recomputed(node, tensors)

    with torch.enable_grad():
        start = torch.zeros((), requires_grad=True)
        torch.autograd.grad(_Look.apply(start, look), start)  # pyright: ignore
    return found


class _Look(torch.autograd.Function):
    """Calls a function in a backward pass of its own."""

    @staticmethod
    def forward(ctx: FunctionCtx, start: Tensor, look: Callable[[], None]) -> Tensor:
        ctx.look = look  # pyright: ignore
        return start.clone()

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:  # pyright: ignore
        ctx.look()  # pyright: ignore
        return gradients[0], None


@contextmanager
def reusable(nodes: Iterable[Node], *, kept: bool = False) -> Generator[None]:
    """Let several backward passes go through compiled nodes within, whatever their backward pass was compiled for.

    Args:
        nodes: of a graph.
        kept: leave what they saved for another pass behind.
    """
    found = [node for node in nodes if node.name() == COMPILED]
    if not found:
        yield
        return
    handles: list[RemovableHandle] = []
    restoring: list[Callable[[tuple[Tensor | None, ...]], None]] = []
    try:
        for node in filter(_gives_away, found):
            restoring.append(_restoring(node))
            handles.append(node.register_prehook(restoring[-1]))
        with _undonated():
            yield
    finally:
        for handle in handles:
            handle.remove()
        for restore in restoring if kept else ():
            restore(())


@functools.cache
def _undonated() -> Any:  # noqa: ANN401  # torch's, which is reentrant; each that is made leaves something behind
    """Return what lets a graph be kept whose backward pass was compiled to overwrite what was saved."""
    import torch._functorch.config as functorch  # noqa: PLC0415  # a module that compiles has loaded it

    return functorch.patch(donated_buffer=False)  # pyright: ignore  # installed at run time


def _gives_away(node: Any) -> bool:  # noqa: ANN401  # a node with what torch's compiler puts on it
    """Tell whether a node's backward pass was compiled to overwrite what was saved; so too where that is not to be seen."""
    metadata = getattr(getattr(type(node), "_forward_cls", None), "metadata", None)
    return getattr(metadata, "bw_donated_idxs", (0,)) not in ([], None)


def _restoring(node: Any) -> Callable[[tuple[Tensor | None, ...]], None]:  # noqa: ANN401  # as above
    """Return a hook that brings back what a node saved."""
    every: tuple[Tensor, ...] = (*node.saved_tensors, *getattr(node, "_tensors_no_vc_check", ()))
    saved = [one for one in every if not one.requires_grad]  # what does is a parameter
    copies: list[Tensor] = []

    def restore(gradients: tuple[Tensor | None, ...]) -> None:
        del gradients
        with torch.no_grad():
            if not copies:
                copies.extend(one.clone() for one in saved)
                return
            for one, copy in zip(saved, copies, strict=True):
                one.data.copy_(copy)

    return restore

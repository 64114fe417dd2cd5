"""What lies between a read and the parameter: transposes, views and parts, through which sums are seen rather than copied.

Where every node of a chain moves or selects components, the sums of what the read sees are a view of the parameter's. Any other
chain (a product with a constant, an index) pulls each environment's gradient back by autograd, one at a time.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Size, Tensor
from torch.autograd.graph import GradientEdge, Node

from mechlearn.agreement.engine.analysis.rows import Read
from mechlearn.agreement.engine.analysis.saved import output_shape, saved, signed, slot_shape

Step = tuple[str, tuple[int, ...]]
"""A view: its name and what it takes."""

_NOTHING: Step = ("nothing", ())

_SAME = frozenset(
    {
        "torch::autograd::AccumulateGrad",
        "AliasBackward0",
        "CloneBackward0",
        "ToCopyBackward0",
        "LiftFreshBackward0",
        "LiftFreshCopyBackward0",
    }
)
_SHAPED = frozenset(
    {
        "ViewBackward0",
        "UnsafeViewBackward0",
        "ReshapeAliasBackward0",
        "UnsqueezeBackward0",
        "SqueezeBackward0",
        "SqueezeBackward1",
        "SqueezeBackward2",
    }
)


class Place(NamedTuple):
    """Where in a parameter a read's gradient belongs: a view of it, by size and strides as it lies in memory.

    Attributes:
        size: of what is read.
        stride: of what is read.
        offset: of its first component.
        whole: whether it is the parameter, as it is.
        pull: from a read's gradient to the parameter's where the chain is no view, else None; the place is the whole then.
    """

    size: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    whole: bool = True
    pull: Callable[[Tensor], Tensor] | None = None

    @property
    def transposed(self) -> bool:
        """Whether this is a matrix, or a stack of them, of which columns are adjacent and rows are not."""
        return len(self.size) > 1 and self.stride[-1] != 1 and self.stride[-2] == 1

    def view(self, tensor: Tensor) -> Tensor:
        """Return the part of a contiguous tensor of the parameter's shape that is read, sharing its memory."""
        return tensor if self.whole else tensor.as_strided(self.size, self.stride, tensor.storage_offset() + self.offset)

    def viewed(self, shape: Sequence[int]) -> "Place | None":
        """Return the place seen in another shape, None where that is no view."""
        try:
            seen = torch.empty_strided(self.size, self.stride, device="meta").view(shape)
        except RuntimeError:
            return None
        return Place(tuple(seen.shape), seen.stride(), self.offset, whole=False)

    def turned(self, parameter: Size) -> "Place":
        """Return the transposed place."""
        size, stride = ((*values[:-2], values[-1], values[-2]) for values in (self.size, self.stride))
        return placed(size, stride, self.offset, parameter)


def placed(size: Sequence[int], stride: Sequence[int], offset: int, parameter: Size) -> Place:
    """Return a place, which is whole where it is the parameter itself."""
    whole = offset == 0 and tuple(size) == tuple(parameter) and tuple(stride) == _contiguous(parameter)
    return Place(tuple(size), tuple(stride), offset, whole)


def place_of(read: Read, parameter: Size) -> Place:
    """Return where a read's gradient belongs in its parameter, of the given shape."""
    if not read.chain:
        return Place(tuple(parameter), _contiguous(parameter))
    steps: list[Step] = []
    _, output = read.node.next_functions[read.slot]
    for node in read.chain:
        step = _step(node, output)
        if step is None:
            return place_by_pull(read)
        steps.append(step)
        output = node.next_functions[0][1] if node.next_functions else 0
    seen = torch.empty(parameter, device="meta")
    try:
        for step in reversed(steps):
            seen = _seen(seen, step)
    except RuntimeError:  # a view in another shape of what does not lie like it: a copy
        return place_by_pull(read)
    return placed(seen.shape, seen.stride(), int(seen.storage_offset()), parameter)


def place_by_pull(read: Read) -> Place:
    """Return the whole parameter, to which each environment's gradient is pulled back."""
    return Place(pull=_pull(read))


def _contiguous(shape: Size) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))


def _step(node: Node, output: int) -> Step | None:
    """Return what a node does to its parameter: a view, or None for something else."""
    name = node.name()
    if name in _SAME:
        return _NOTHING
    if name in _SHAPED:
        return ("view", tuple(output_shape(node)))
    if name == "TBackward0":
        return ("transpose", (0, 1)) if len(output_shape(node)) == 2 else _NOTHING
    if name == "ExpandBackward0":
        size = tuple(saved(node, "self_sym_sizes"))
        whole = tuple(output_shape(node))
        return ("view", whole) if Size(size).numel() == Size(whole).numel() else None
    if name == "MulBackward1":
        return _NOTHING if saved(node, "other") == 1 else None
    form = _FORMS.get(name)
    return form(node, output) if form else None


def _transpose(node: Node, output: int) -> Step:
    del output
    sizes = len(output_shape(node))
    return "transpose", tuple(signed(saved(node, name)) % sizes for name in ("dim0", "dim1"))


def _permute(node: Node, output: int) -> Step:
    del output
    dims = tuple(saved(node, "dims"))
    return "permute", tuple(signed(dim) % len(dims) for dim in dims)


def _select(node: Node, output: int) -> Step:
    del output
    sizes = tuple(saved(node, "self_sym_sizes"))
    dim = signed(saved(node, "dim")) % len(sizes)
    return "select", (dim, signed(saved(node, "index")) % sizes[dim])


def _slice(node: Node, output: int) -> Step:
    del output
    sizes = tuple(saved(node, "self_sym_sizes"))
    dim = signed(saved(node, "dim")) % len(sizes)
    start, end = saved(node, "start"), saved(node, "end")
    first, last, step = slice(
        None if start is None else signed(start), None if end is None else signed(end), signed(saved(node, "step"))
    ).indices(sizes[dim])
    return "part", (dim, first, last, step)


def _split(node: Node, output: int) -> Step:
    dim = signed(saved(node, "dim")) % len(saved(node, "self_sym_sizes"))
    first = output * int(saved(node, "split_size"))
    return "part", (dim, first, first + output_shape(node, output)[dim], 1)


def _split_by_sizes(node: Node, output: int) -> Step:
    dim, sizes = signed(saved(node, "dim")) % len(saved(node, "self_sym_sizes")), tuple(saved(node, "split_sizes"))
    return "part", (dim, sum(sizes[:output]), sum(sizes[: output + 1]), 1)


def _unbind(node: Node, output: int) -> Step:
    return "select", (signed(saved(node, "dim")) % (len(output_shape(node, output)) + 1), output)


_FORMS: dict[str, Callable[[Node, int], Step]] = {
    "TransposeBackward0": _transpose,
    "TransposeBackward1": _transpose,
    "PermuteBackward0": _permute,
    "SelectBackward0": _select,
    "SliceBackward0": _slice,
    "SplitBackward0": _split,
    "UnsafeSplitBackward0": _split,
    "SplitWithSizesBackward0": _split_by_sizes,
    "UnsafeSplitWithSizesBackward0": _split_by_sizes,
    "UnbindBackward0": _unbind,
}


def _seen(tensor: Tensor, step: Step) -> Tensor:
    """Apply one view."""
    kind, numbers = step
    if kind == "nothing":
        return tensor
    if kind == "view":
        return tensor.view(numbers)
    if kind == "transpose":
        return tensor.transpose(numbers[0], numbers[1])
    if kind == "permute":
        return tensor.permute(numbers)
    if kind == "select":
        return tensor.select(numbers[0], numbers[1])
    dim, first, last, by = numbers
    whole = [slice(None)] * dim
    return tensor[(*whole, slice(first, last, by))]


def _pull(read: Read) -> Callable[[Tensor], Tensor]:
    """Return what pulls a gradient back through a chain, run by autograd as it runs it in any backward pass."""
    child, output = read.node.next_functions[read.slot]
    shape = slot_shape(read.node, read.slot)
    leaf = leaf_below(read.chain)
    if child is None or leaf is None:
        raise ValueError(f"A read of {read.name!r} should lead to it. Found no way there. Report this graph.")
    edge = GradientEdge(child, output)

    def pull(gradient: Tensor) -> Tensor:
        """Differentiate; the graph stays, as other environments and other reads need it."""
        with torch.enable_grad():
            (found,) = torch.autograd.grad([edge], [leaf], [gradient.reshape(shape)], retain_graph=True)  # pyright: ignore
        return found.contiguous()

    return pull


def leaf_below(chain: Sequence[Node]) -> Tensor | None:
    """Return the one leaf to which a chain leads, None where there is none or more than one."""
    last = chain[-1]
    if len(last.next_functions) == 1:  # as good as always
        child = last.next_functions[0][0]
        variable = getattr(child, "variable", None)
        if isinstance(variable, Tensor):
            return variable
    stack, seen, leaves = [last], set[Node](), list[Tensor]()
    while stack:
        node = stack.pop()
        variable = getattr(node, "variable", None)
        if isinstance(variable, Tensor):
            leaves.append(variable)
            continue
        below = [child for child, _ in node.next_functions if child is not None and child not in seen]
        seen.update(below)
        stack += below
    return leaves[0] if len(leaves) == 1 else None

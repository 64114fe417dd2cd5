"""One operation in a traced graph, with what is known of its operands: what the rules of the tables read."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeGuard

from torch import Tensor
from torch._ops import OpOverload
from torch.fx import Node

from mechlearn.agreement.compiled.tags import CONSTANT, Free, Mixed, Row, Size, Summed, Tag, Tags


class Call:
    """A node of the graph that calls an operation.

    Args:
        node: the node.
        tags: of all nodes before it.
        rows: B, the number of rows.

    Attributes:
        name: the operation's, without its overload, such as "aten.sum".
    """

    def __init__(self, node: Node, tags: Mapping[Node, Tags], rows: Size) -> None:
        self.node, self.rows, self._tags = node, rows, tags
        target: Any = node.target
        self.target: Any = target
        self.name = str(target.overloadpacket) if is_operation(target) else str(target)

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """All arguments by the names of the operation's schema, defaults among them."""
        found: dict[str, Any] = {}
        for position, argument in enumerate(self.target._schema.arguments):
            if argument.name in self.node.kwargs:
                found[argument.name] = self.node.kwargs[argument.name]
            elif position < len(self.node.args) and not argument.kwarg_only:
                found[argument.name] = self.node.args[position]
            elif argument.has_default_value():
                found[argument.name] = argument.default_value
        return found

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # whatever an argument may be
        """Return an argument by its name in the schema; None where it has none of that name."""
        return self.arguments.get(name)

    @cached_property
    def operands(self) -> list[Node]:
        """Every tensor among the arguments, in their order."""
        return [node for node in self.node.all_input_nodes if is_tensor(node)]

    def tag(self, value: Any) -> Tag:  # noqa: ANN401  # an argument: a node, a number, None
        """Return what is known of an argument; numbers are constants."""
        if not isinstance(value, Node):
            return CONSTANT
        found = self._tags[value]
        return found if isinstance(found, Row | Free | Summed | Mixed) else Mixed(f"{value.name} has several values")

    def shape(self, value: Node) -> Sequence[Size]:
        """Return a tensor's sizes."""
        return shape_of(value)

    @cached_property
    def out(self) -> Sequence[Size]:
        """The sizes of the result, of its first tensor where it has several."""
        value = self.node.meta["val"]
        first = value if isinstance(value, Tensor) else next(v for v in value if isinstance(v, Tensor))
        return tuple(first.shape)

    def supposing(self, operand: Node, tag: Tag, rows: Size) -> "Call":
        """Return the same call, if one of its operands had another tag and the batch so many rows."""
        return Call(self.node, {**{one: self._tags[one] for one in self.node.all_input_nodes}, operand: tag}, rows)

    def several(self, tag: Tag) -> Tags:
        """Return the tag of the result, for each of its tensors where there are several."""
        value = self.node.meta["val"]
        return tag if isinstance(value, Tensor) else tuple(tag for _ in value)

    def mixed(self, why: str = "") -> Mixed:
        """Return that rows meet here."""
        return Mixed(f"{self.target}{': ' + why if why else ''}")

    def dims(self, name: str = "dim", of: Node | None = None) -> list[int]:
        """Return dimensions that an argument names, from 0; all of them where it names none."""
        count = len(shape_of(self.operands[0] if of is None else of))
        found = self[name]
        if found is None or found == []:
            return list(range(count))
        return [dim % max(count, 1) for dim in (found if isinstance(found, list | tuple) else [found])]


Rule = Callable[[Call], Tags]
"""From a call with a `Row` among its operands, and neither a sum nor a mixture, to what is known of its result."""


def is_operation(target: object) -> TypeGuard[OpOverload]:
    """Tell whether what a node calls is an operation of torch, with a schema."""
    return isinstance(target, OpOverload)


def is_tensor(node: Node) -> bool:
    """Tell whether a node's value is a tensor, or several."""
    value = node.meta.get("val")
    return isinstance(value, Tensor | list | tuple)


def shape_of(node: Node) -> tuple[Size, ...]:
    """Return the sizes of a node's tensor."""
    return tuple(node.meta["val"].shape)

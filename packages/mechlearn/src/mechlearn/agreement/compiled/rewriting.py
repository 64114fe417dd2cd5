"""From a traced graph of forward and backward pass to one that keeps environments apart."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from mechlearn.agreement.compiled import marks
from mechlearn.agreement.compiled.analysis import analysed
from mechlearn.agreement.compiled.bodies import is_product, is_total
from mechlearn.agreement.compiled.calls import Call, is_operation, shape_of
from mechlearn.agreement.compiled.operation import ENVIRONMENT_SUMS
from mechlearn.agreement.compiled.plan import Encoder, Output, Plan, Rows, Step
from mechlearn.agreement.compiled.tables import contractions, indexing
from mechlearn.agreement.compiled.tags import Free, Mixed, RefusedError, Row, Size, Summed, Tags, agree, known, same


class _Marked(NamedTuple):
    """What the mark of the losses names."""

    starts: Node
    parameters: list[Node]
    carriers: list[Node]
    needs: list[str]
    rows: Size


def rewrite(module: GraphModule, inputs: Sequence[object]) -> None:
    """Rewrite a joint graph in place: carriers' gradients become the parameters' statistics, and the marks go.

    Args:
        module: whose graph has the gradients of its first inputs as its last outputs.
        inputs: those first inputs and the gradients of the outputs, as AOTAutograd hands them to a partitioner.

    Raises:
        RefusedError: environments meet in a parameter's gradient.
    """
    graph = module.graph
    graph.eliminate_dead_code()
    marked = _marked(graph)
    if marked is not None:
        Rewriting(graph, marked, len(inputs[0])).run()  # pyright: ignore[reportArgumentType]  # a list by its contract
    _erase(graph)
    graph.eliminate_dead_code()
    graph.lint()
    module.recompile()


def _marked(graph: Graph) -> _Marked | None:
    found = [node for node in graph.nodes if node.target is marks.LOSSES]
    if len(found) != 1:
        return None
    losses, starts, parameters, carriers, needs = found[0].args
    return _Marked(starts, parameters, carriers, needs.split(",") if needs else [], shape_of(losses)[0])


def _erase(graph: Graph) -> None:
    for node in list(graph.nodes):
        if node.target in (marks.ROWS, marks.ROWS_GRADIENT, marks.TANGENT, marks.LOSSES):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


class Rewriting:
    """One graph's rewriting.

    Args:
        graph: with marks.
        marked: what they name.
        inputs: how many inputs there are whose gradients are outputs.
    """

    def __init__(self, graph: Graph, marked: _Marked, inputs: int) -> None:
        self.graph, self.marked = graph, marked
        self.output = next(iter(reversed(graph.nodes)))
        self.outputs: list[Any] = list(self.output.args[0])
        self.first = len(self.outputs) - inputs
        self.place = {node: k for k, node in enumerate(node for node in graph.nodes if node.op == "placeholder")}
        self.tags = analysed(graph, marked.rows)

    def run(self) -> None:
        """Replace the carriers' gradients."""
        self._check_losses()
        each = 1 + len(self.marked.needs)
        wanted: dict[Node, list[int]] = {}  # a parameter's gradient: the numbers of the parameters that have it
        for number, parameter in enumerate(self.marked.parameters):
            gradient = self._gradient(parameter)
            for carrier in self.marked.carriers[number * each : (number + 1) * each]:
                self.outputs[self.first + self.place[carrier]] = None
            if gradient is not None:
                self._check(gradient)
                wanted.setdefault(gradient, []).append(number)
            self.outputs[self.first + self.place[parameter]] = None
        for group in self._together(groups(wanted, self.tags)):
            self._replace(group, wanted, each)
        self.output.args = (tuple(self.outputs),)

    def _check_losses(self) -> None:
        mark = next(node for node in self.graph.nodes if node.target is marks.LOSSES)
        tag = self.tags[mark]
        if isinstance(tag, Mixed):
            raise RefusedError(tag.reason)
        written = [node.args[1] for node in self.graph.nodes if node.target is torch.ops.aten.copy_.default]
        for output in (*self.outputs[: self.first], *written):
            if isinstance(output, Node) and output is not mark and not isinstance(self.tags[output], Free):
                raise RefusedError("a tensor outside of the function would receive the rows in another order")

    def _gradient(self, parameter: Node) -> Node | None:
        if parameter not in self.place:
            raise RefusedError("a parameter that is computed in the graph")
        return self.outputs[self.first + self.place[parameter]]

    def _check(self, gradient: Node) -> None:
        tag = self.tags[gradient]
        if isinstance(tag, Mixed):
            raise RefusedError(tag.reason)
        if not isinstance(tag, Summed):
            raise RefusedError(f"a gradient that is no sum over rows, of {gradient.target}")
        if not all(isinstance(size, int) for size in shape_of(gradient)):
            raise RefusedError("a parameter whose shape differs from call to call")

    def _together(self, found: Iterator[list[Node]]) -> Iterator[list[Node]]:
        """Yield groups, several in one where a call of the operation costs more than what waits for it.

        A sum over rows joins the product that reads the same tensor, as a bias's its weight's. Then products and sums wait for
        the next one of the graph as long as all that they read is small.
        """
        smalls = [Small(self.graph, self.tags, self.marked, group) for group in found]
        products = {one: small for small in smalls if is_product(small.plan) for one in small.operands}
        joined: dict[Small, list[Node]] = {}
        for small in smalls:
            home = products.get(small.operands[0], small) if is_total(small.plan) else small
            joined.setdefault(home, []).extend(small.gradients)
        place = {node: k for k, node in enumerate(self.graph.nodes)}
        waiting: list[Node] = []
        elements = 0
        for small in sorted(joined, key=lambda small: max((place[one] for one in small.operands), default=0)):
            if not is_product(small.plan) and not is_total(small.plan):
                yield joined[small]
                continue
            own = sum(map(_elements, small.operands))
            if waiting and elements + own > WAITING:
                yield waiting
                waiting, elements = [], 0
            waiting, elements = waiting + joined[small], elements + own
        if waiting:
            yield waiting

    def _replace(self, group: Sequence[Node], wanted: Mapping[Node, Sequence[int]], each: int) -> None:
        """Put one operation in the place of some gradients and what leads to them."""
        found = Small(self.graph, self.tags, self.marked, group)
        with self.graph.inserting_before(self.output):
            arguments = found.operands, self.marked.starts, found.plan.text(), found.sizes
            node = self.graph.call_function(ENVIRONMENT_SUMS, arguments)
            node.meta["val"] = _value(node)
            for place, gradient in enumerate(group):
                for k in range(each):
                    item = self.graph.call_function(operator.getitem, (node, place * each + k))
                    item.meta["val"] = node.meta["val"][place * each + k]
                    for number in wanted[gradient]:
                        self.outputs[self.first + self.place[self.marked.carriers[number * each + k]]] = item


def _value(node: Node) -> Any:  # noqa: ANN401  # a tensor without data, or several
    def of(one: Node) -> Any:  # noqa: ANN401  # as above
        return one.meta["val"]

    arguments, options = map_arg((node.args, dict(node.kwargs)), of)
    target: Any = node.target
    return target(*arguments, **options)


WAITING = 2**20
"""How many elements may be kept in memory until what reads them is done in one call."""


def _elements(node: Node) -> int:
    """Return how many elements a tensor had when it was traced; too many to wait where that is not known."""
    sizes = shape_of(node)
    traced = all(isinstance(size, int) or size.node.has_hint() for size in sizes)
    return prod(size if isinstance(size, int) else int(size.node.hint) for size in sizes) if traced else WAITING + 1


def is_summed(tags: Mapping[Node, Tags], node: Node) -> bool:
    """Tell whether a node's value, or one of its several, is a sum over rows."""
    tag = tags.get(node)
    return isinstance(tag, Summed) or (type(tag) is tuple and any(isinstance(one, Summed) for one in tag))


def below(gradient: Node, tags: Mapping[Node, Tags]) -> set[Node]:
    """Return the sums over rows that a gradient is made of, and what is linear in them on the way."""
    found: set[Node] = set()
    waiting = [gradient]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [one for one in node.all_input_nodes if is_summed(tags, one)]
    return found


def groups(gradients: Mapping[Node, object], tags: Mapping[Node, Tags]) -> Iterator[list[Node]]:
    """Yield gradients that share a sum over rows together: it is contracted once."""
    owner: dict[Node, Node] = {}
    parent = {gradient: gradient for gradient in gradients}

    def root(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = node = parent[parent[node]]
        return node

    for gradient in gradients:
        for node in below(gradient, tags):
            parent[root(owner.setdefault(node, gradient))] = root(gradient)
    found: dict[Node, list[Node]] = {}
    for gradient in gradients:
        found.setdefault(root(gradient), []).append(gradient)
    yield from found.values()


class Small:
    """The small graph of some gradients.

    Args:
        graph: the large one.
        tags: of its nodes; those of nodes that are put in are added.
        marked: what its marks name.
        gradients: that the small graph returns.

    Attributes:
        plan: the small graph.
        operands: of the plan.
        sizes: nodes of the sizes that it reads.
    """

    def __init__(self, graph: Graph, tags: dict[Node, Tags], marked: _Marked, gradients: Sequence[Node]) -> None:
        self.graph, self.tags, self.marked, self.gradients = graph, tags, marked, gradients
        inside: set[Node] = set().union(*(below(gradient, tags) for gradient in gradients))
        inside |= {one for node in inside for one in node.all_input_nodes if self._turned(one)}
        self.nodes = [self._prepared(node) for node in graph.nodes if node in inside]
        self.operands: list[Node] = []
        for node in self.nodes:
            for one in node.all_input_nodes:
                outside = one not in inside and one not in self.operands
                if outside and isinstance(one.meta.get("val"), torch.Tensor):
                    self.operands.append(one)
        self.plan, self.sizes = self._planned()

    def _turned(self, node: Node) -> bool:
        """Tell whether a node with rows is another one seen with its dimensions in another order: no memory need hold it."""
        return node.target is torch.ops.aten.permute.default and isinstance(self.tags[node], Row)

    def _planned(self) -> tuple[Plan, list[Node]]:
        values = {node: k for k, node in enumerate([*self.operands, *self.nodes])}
        encode = Encoder(values)
        steps = [
            Step(_name(node), encode(_arguments(node, self.tags)), {key: encode(one) for key, one in node.kwargs.items()})
            for node in self.nodes
        ]
        outputs = [
            Output(values[one], [int(size) for size in shape_of(one)], str(one.meta["val"].dtype).removeprefix("torch."))
            for one in self.gradients
        ]
        constants = self._along_rows()
        operands = [self._rows(node, constants) for node in self.operands]
        return Plan(operands, steps, outputs, self.marked.needs), encode.sizes

    def _along_rows(self) -> dict[Node, Row]:
        """Return where operands that belong to no row have an entry for each: they are cut as rows are."""
        found: dict[Node, Row] = {}
        for node in self.nodes:
            if not is_operation(node.target) or any(is_summed(self.tags, a) for a in node.all_input_nodes):
                continue
            call = Call(node, self.tags, self.marked.rows)
            for operand, row in (contractions.along_rows(call) | indexing.along_rows(call)).items():
                if not agree([found.setdefault(operand, row), row]):
                    raise RefusedError("a constant that is read along rows in two ways")
        return found

    def _rows(self, node: Node, constants: Mapping[Node, Row]) -> Rows | None:
        tag = constants.get(node) or self.tags[node]
        if not isinstance(tag, Row):
            return None
        size = shape_of(node)[tag.dim]
        if same(size, tag.post * self.marked.rows):
            return Rows(tag.dim, 0)
        if not isinstance(tag.post, int):
            raise RefusedError("rows between positions whose number differs from call to call")
        return Rows(tag.dim, tag.post)

    def _prepared(self, node: Node) -> Node:
        """Sum over what is no row before the small graph, where a compiler fuses it with what is summed."""
        if node.target is not torch.ops.aten.sum.dim_IntList:
            return node
        source, dims, *_ = node.args
        assert isinstance(source, Node)
        tag = self.tags[source]
        count = len(shape_of(source))
        others = [dim % count for dim in (dims or range(count)) if not isinstance(tag, Row) or dim % count != tag.dim]  # pyright: ignore
        others = [dim for dim in others if not known(shape_of(source)[dim] == 1)]
        if not isinstance(tag, Row) or not others:
            return node
        with self.graph.inserting_before(node):
            target = torch.ops.aten.sum.dim_IntList
            first = self.graph.call_function(target, (source, others, True), dict(node.kwargs))
            first.meta["val"] = _value(first)
        self.tags[first] = tag
        node.replace_input_with(source, first)
        return node


def _name(node: Node) -> str:
    return "getitem" if node.target is operator.getitem else str(node.target)


def _arguments(node: Node, tags: Mapping[Node, Tags]) -> list[Any]:
    """Return a node's arguments; of a convolution's gradients the small graph wants the sums over rows alone."""
    arguments = list(node.args)
    if node.target is torch.ops.aten.convolution_backward.default:
        arguments[-1] = [False, *arguments[-1][1:]]  # pyright: ignore
    del tags
    return arguments

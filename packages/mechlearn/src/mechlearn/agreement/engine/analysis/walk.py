"""The walk: from the losses down, ownership to every node; where it ends at a parameter, a read.

Backward is linear in the incoming gradients once the forward pass is done: every node's map is fixed by what it saved. So if a
node treats slices apart, and its incoming gradient's slices each depend on one environment's loss, the same is true of what it
sends on. Where gradients meet they are added, and must agree on whose each slice is.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.owners import Array, Batch, Conflict, Known, Lost, Own, Rows, Shape, merge, project
from mechlearn.agreement.engine.analysis.products import uses_batch_statistics
from mechlearn.agreement.engine.analysis.rows import Made, Read
from mechlearn.agreement.engine.analysis.tables import COMPILED, Kind, kind_of
from mechlearn.agreement.engine.hooks import is_of_hooks, is_of_wrapper
from mechlearn.environments import Environments

_Slots = tuple[tuple[Node | None, int], ...]
_Below = tuple[str, int]
"""A parameter's name and its identity."""


class Survey(NamedTuple):
    """The graph of a call's losses.

    Attributes:
        root: the node of the losses.
        number: which of its outputs they are.
        slots: of every node, what it reads: (node, number of its output), None where no gradient is needed.
        kinds: of every node that reads, what is known of nodes of its name.
        readers: of every node, how many slots read it.
        leaves: the tensors that gradients end at, by identity.
        order: all nodes, every node before what it reads; filled by a walk.
    """

    root: Node
    number: int
    slots: dict[Node, _Slots]
    kinds: dict[Node, Kind]
    readers: dict[Node, int]
    leaves: dict[int, Tensor]
    order: list[Node]


def survey(losses: Tensor) -> Survey:
    """Visit every node below the losses once."""
    root = losses.grad_fn
    assert root is not None  # the door has asked
    slots: dict[Node, _Slots] = {root: root.next_functions}
    kinds: dict[Node, Kind] = {root: kind_of(root.name())}
    readers: dict[Node, int] = {root: 0}
    leaves: dict[int, Tensor] = {}
    stack = [root]
    while stack:
        for child, _ in slots[stack.pop()]:
            if child is None:
                continue
            if child in readers:
                readers[child] += 1
                continue
            readers[child] = 1
            below = slots[child] = child.next_functions
            if below:
                kinds[child] = kind_of(child.name())
                stack.append(child)
            elif (leaf := getattr(child, "variable", None)) is not None:
                leaves[id(leaf)] = leaf
    return Survey(root, losses.output_nr, slots, kinds, readers, leaves, [])


@dataclass
class Proof:
    """What the walk found.

    Attributes:
        reads: of each parameter, by name; complete where the parameter is not in ``lost``.
        lost: the names of parameters for which ownership was lost on the way, and why.
        vouched: nodes whose rows the user vouched for, by name.
        batch_norm: True where a BatchNorm used statistics of rows of several environments.
        hooked: True where a module has a backward hook.
        made: what is read of functions of several parameters, by names of their own; complete where none of these is lost.
        by_example: True where reads whose rows belong to examples were followed example by example; else the labels of
            environments happen to lie like those of examples, whose gradients may have met within an environment.
        arrived: whose the slices of what arrives at every node's first output are, as far as ownership was sent there.
        sent: how often it was; less often than a node is read where a read ended a way above it.
    """

    reads: dict[str, list[Read]] = field(default_factory=dict[str, list[Read]])
    lost: dict[str, str] = field(default_factory=dict[str, str])
    made: dict[str, Made] = field(default_factory=dict[str, Made])
    vouched: set[str] = field(default_factory=set[str])
    batch_norm: bool = False
    hooked: bool = False
    by_example: bool = True
    arrived: dict[Node, Own] = field(default_factory=dict[Node, Own])
    sent: dict[Node, int] = field(default_factory=dict[Node, int])


class Walk:
    """One walk over a surveyed graph.

    Args:
        graph: from `survey`.
        names: of the model's parameters, by identity.
        batch: the partition.
        vouch: take for granted that unknown nodes keep rows apart and first.
    """

    def __init__(self, graph: Survey, names: dict[int, str], batch: Batch, vouch: bool = False) -> None:
        self._graph, self._names, self._batch, self._vouch = graph, names, batch, vouch
        self._lost = False
        self._shapes: dict[tuple[Node, int], Shape] = {}
        self._alone: dict[Node, _Below | None] = {}
        self._leaves: dict[Node, frozenset[str] | None] = {}
        self._owns: dict[Node, dict[int, Own]] = {}
        self._entered: set[Node] = set()
        self.found = Proof()

    def run(self) -> Proof | None:
        """Walk from the losses, whose slices along dimension 0 are the examples.

        Returns:
            What was found; None where ownership was lost on the way and labels were made up, which may be why.
        """
        graph, owns = self._graph, self._owns
        readers = dict(graph.readers)
        owns[graph.root] = {graph.number: Rows(0)}
        ready = [graph.root]
        order = graph.order
        order.clear()
        while ready:
            if self._lost and not self._batch.precise:
                return None
            node = ready.pop()
            order.append(node)
            slots = graph.slots[node]
            arrived = owns.pop(node, None)
            if not slots:
                self._arrive(node, arrived)
                continue
            if arrived is not None:
                if 0 in arrived:
                    self.found.arrived[node] = arrived[0]
                kind = graph.kinds[node]
                if kind.same and len(slots) == 1 and len(arrived) == 1 and 0 in arrived:  # as most nodes are
                    child, number = slots[0]
                    if child is not None:
                        self._send(child, number, arrived[0])
                else:
                    self._pass_on(node, kind, slots, arrived)
            for child, _ in slots:
                if child is not None:
                    readers[child] -= 1
                    if not readers[child]:
                        ready.append(child)
        self._check_depths()
        self.found.by_example = not self._batch.relabelled
        return self.found

    def _check_depths(self) -> None:
        """Give up parameters that are read at two depths of one way: the deeper read's delta holds the other's as well."""
        for name, reads in self.found.reads.items():
            if any(node in self._entered for read in reads for node in read.chain):
                self.found.lost.setdefault(name, _TWO_DEPTHS)
        for made in self.found.made.values():
            passed = {node for read in made.reads for node in read.chain}
            if not self._entered.isdisjoint(passed | self._nodes_below(made.edge[0])):
                self.found.lost |= {name: _TWO_DEPTHS for name in made.names if name not in self.found.lost}
        for name in self.found.lost:
            self.found.reads.pop(name, None)

    def _arrive(self, node: Node, arrived: dict[int, Own] | None) -> None:
        """Ownership of a leaf's gradient as a whole: no formula is for that."""
        name = self._names.get(id(getattr(node, "variable", None)))
        if name is not None and arrived is not None:
            own = arrived[0]
            self.found.lost.setdefault(name, own.reason if isinstance(own, Lost) else "its own slices belong to examples")

    def _pass_on(self, node: Node, kind: Kind, slots: _Slots, arrived: dict[int, Own]) -> None:
        if kind.batch_norm and uses_batch_statistics(node):
            self._note_batch_norm(node, arrived)
        lost = next((own for own in arrived.values() if isinstance(own, Lost)), None)
        if lost is not None:
            return self._send_all(slots, lost)
        if kind.alike and (len(arrived) > 1 or 0 not in arrived):
            arrived = {0: self._merged(node, arrived)}
        if kind.rule is not None and len(arrived) == 1 and 0 in arrived:
            own = arrived[0]
            if isinstance(own, Lost):
                return self._send_all(slots, own)
            for slot, (child, number) in enumerate(slots):
                if child is not None:
                    self._pass_to(node, kind, slot, child, number, own, len(slots))
            return None
        if kind.joining is not None:
            return self._join(node, kind, slots, cast("dict[int, Known]", arrived))
        if kind.hooked and is_of_hooks(node):
            self.found.hooked = True
            self._pass_by(slots, arrived)
        elif kind.wrapper and is_of_wrapper(node):
            self._pass_by(slots, arrived)
        elif self._vouch:
            self._trust(node, kind, slots, arrived)
        else:
            self._send_all(slots, _unknown(kind))
        return None

    def _pass_by(self, slots: _Slots, arrived: dict[int, Own]) -> None:
        """Pass ownership through a node that returns what it gets, input by input, of which hooks act row by row."""
        for slot, (child, number) in enumerate(slots):
            if child is not None and slot in arrived:
                self._send(child, number, arrived[slot])

    def _merged(self, node: Node, arrived: dict[int, Own]) -> Own:
        """Return the ownership of all outputs of a node whose outputs are of one shape."""
        first, *rest = arrived.items()
        own = first[1]
        for number, other in rest:
            own = merge(self._batch, own, other, len(self._shape(node, number)), node.name())
        return own

    def _note_batch_norm(self, node: Node, arrived: dict[int, Own]) -> None:
        own, shape = arrived.get(0), self._shape(node, 0)
        if isinstance(own, Lost):  # (1, b * channels, ...) is how InstanceNorm calls it, which mixes nothing
            self.found.batch_norm = self.found.batch_norm or shape[0] > 1
        elif own is not None:
            try:
                project(self._batch, own, ((1, 1),), shape, shape)
            except Conflict:
                self.found.batch_norm = True

    def _pass_to(self, node: Node, kind: Kind, slot: int, child: Node, number: int, own: Known, width: int) -> None:
        """Pass ownership to one input; where that cannot be, and a parameter is all there is below, note a read."""
        if kind.same and width == 1:
            self._send(child, number, own)
            return
        alone = self._below(child)
        into: Own
        try:
            assert kind.rule is not None
            if alone is not None and self._ends_here(kind, alone, child, number, own):
                raise Conflict
            into = kind.rule(self._batch, node, slot, own, self._shape(node, 0), self._shape(child, number))
        except Conflict:
            if alone is not None:
                self._read(node, slot, own, alone[0], child)
                return
            if self._read_made(node, slot, own, (child, number)):
                return
            into = Lost(f"examples of different environments meet at {kind.name}")
        self._send(child, number, into)

    def _ends_here(self, kind: Kind, alone: _Below, child: Node, number: int, own: Known) -> bool:
        """Tell whether a parameter is read as near as possible: where rows of a table are, or all is one environment's."""
        if isinstance(own, Rows) or (own != own.flat[:1]).any():
            # As large as the parameter: no example has come in below.
            return kind.looks_up and math.prod(self._shape(child, number)) <= self._graph.leaves[alone[1]].numel()
        return True

    def _read(self, node: Node, slot: int, own: Known, name: str, child: Node) -> None:
        if not isinstance(own, Rows) and not (own >= 0).any():
            return  # of no rows, or of rows that no loss reaches
        rows = self._batch.rows(own)
        if rows is None:
            self.found.lost.setdefault(name, f"owners at {node.name()} vary along several dimensions")
        else:
            self.found.reads.setdefault(name, []).append(Read(name, node, slot, rows, self._chain(child)))

    def _read_made(self, node: Node, slot: int, own: Known, edge: tuple[Node, int]) -> bool:
        """Note a read of what is made of several parameters; False where it is made of something else as well."""
        names = self._parameters_below(edge[0])
        rows = None if names is None else self._batch.rows(own)
        if names is None or rows is None:
            return False
        if isinstance(own, Rows) or (own >= 0).any():
            chain: tuple[Node, ...] = ()
            if edge[0].name() == "TBackward0" and node.name() in ("MmBackward0", "AddmmBackward0"):
                (below, number), *_ = self._graph.slots[edge[0]]  # a linear layer's weight: its gradient is formed turned
                if below is not None:
                    chain, edge = (edge[0],), (below, number)
            key = f"{edge[1]} of {id(edge[0])}"
            made = self.found.made.setdefault(key, Made(edge, names, []))
            made.reads.append(Read(key, node, slot, rows, chain))
        return True

    def _nodes_below(self, node: Node) -> set[Node]:
        found, waiting = {node}, [node]
        while waiting:
            for child, _ in self._graph.slots[waiting.pop()]:
                if child is not None and child not in found:
                    found.add(child)
                    waiting.append(child)
        return found

    def _parameters_below(self, node: Node) -> frozenset[str] | None:
        """Return the names of all that lies below a node, None where it is not the model's parameters alone."""
        if node not in self._leaves:
            names: set[str] = set()
            for one in self._nodes_below(node):
                slots = self._graph.slots[one]
                name = None if slots else self._names.get(id(getattr(one, "variable", None)))
                if name is None and not (slots and self._graph.kinds[one].chain):
                    self._leaves[node] = None
                    return None
                names |= set() if name is None else {name}
            self._leaves[node] = frozenset(names)
        return self._leaves[node]

    def _join(self, node: Node, kind: Kind, slots: _Slots, arrived: dict[int, Known]) -> None:
        (first, number), *rest = slots
        assert kind.joining is not None
        if first is not None:
            try:
                into = kind.joining(self._batch, node, arrived, self._shape(first, number))
            except Conflict:
                into = Lost(f"examples of different environments meet at {kind.name}")
            self._send(first, number, into)
        if not any(child is not None for child, _ in rest):
            return
        # A recurrent layer: parameters, and initial states.
        for slot, (child, number) in enumerate(rest, 1):
            if child is None:
                continue
            alone = self._below(child)
            try:
                if alone is None:
                    self._send(child, number, kind.joining(self._batch, node, arrived, self._shape(child, number)))
                else:
                    self._read(node, slot, self._joined(node, kind, arrived), alone[0], child)
            except Conflict:
                reason = f"examples of different environments meet at {kind.name}"
                if alone is None:
                    self._send(child, number, Lost(reason))
                else:
                    self.found.lost.setdefault(alone[0], reason)

    def _joined(self, node: Node, kind: Kind, arrived: dict[int, Known]) -> Known:
        """Return whose the examples of a recurrent layer are, by all that arrived at its outputs."""
        assert kind.joining is not None
        if arrived.keys() == {0}:
            return arrived[0]
        found = kind.joining(self._batch, node, arrived, self._shape(node, 0))
        if isinstance(found, Lost):
            raise Conflict
        return found

    def _trust(self, node: Node, kind: Kind, slots: _Slots, arrived: dict[int, Own]) -> None:
        """Take an unknown node's rows to stay where they are, first."""
        own = next(iter(arrived.values()))
        self.found.vouched.add(kind.name)
        for child, number in slots:
            if child is not None:
                shape = self._shape(child, number)
                kept = isinstance(own, Rows) and own.dim == 0 and shape and shape[0] == own.outer * own.inner * self._batch.size
                self._send(child, number, own if kept else _unknown(kind))

    def _send_all(self, slots: _Slots, own: Lost) -> None:
        for child, number in slots:
            if child is not None:
                self._send(child, number, own)

    def _send(self, child: Node, number: int, own: Own) -> None:
        self._lost = self._lost or type(own) is Lost
        self._entered.add(child)
        self.found.sent[child] = self.found.sent.get(child, 0) + 1
        held = self._owns.get(child)
        if held is None:
            self._owns[child] = {number: own}
        elif number not in held:
            held[number] = own
        else:
            held[number] = merge(self._batch, held[number], own, len(self._shape(child, number)), child.name())

    def _shape(self, node: Node, number: int) -> Shape:
        key = (node, number)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = tuple(node._input_metadata[number].shape)  # pyright: ignore
        return shape

    def _below(self, node: Node) -> _Below | None:
        """Return the parameter that is all there is below a node, behind operations of one input each."""
        passed: list[Node] = []
        found: _Below | None = None
        while node not in self._alone:
            passed.append(node)
            slots = self._graph.slots[node]
            below = [child for child, _ in slots if child is not None]
            if not slots:
                key = id(getattr(node, "variable", None))
                found = (self._names[key], key) if key in self._names else None
                break
            if not self._graph.kinds[node].chain or len(below) != 1:
                break
            node = below[0]
        else:
            found = self._alone[node]
        self._alone.update(dict.fromkeys(passed, found))
        return found

    def _chain(self, node: Node | None) -> tuple[Node, ...]:
        """Return the operations from a node to the parameter that is all there is below it."""
        chain: list[Node] = []
        while node is not None and self._graph.slots[node]:
            chain.append(node)
            node = next(child for child, _ in self._graph.slots[node] if child is not None)
        return tuple(chain)


_TWO_DEPTHS = "it is read at two depths of one way"


def _unknown(kind: Kind) -> Lost:
    return Lost(f"{kind.name} is not known to keep rows apart" + (_FUSED if kind.name == COMPILED else ""))


_FUSED = (
    ", as torch.compile fuses what it compiles: compile through `Agreement.compile`, or what holds no parameters, and vouch "
    "for that"
)


def prove(graph: Survey, names: dict[int, str], groups: Environments, vouch: bool = False) -> Proof:
    """Walk the graph; where ownership was lost, walk again with labels of nothing but what losses reach."""

    def index() -> Array:
        return groups.index.numpy(force=True)

    size = sum(groups.sizes)
    found = Walk(graph, names, Batch(index, size), vouch).run()
    if found is not None and not found.lost:
        return found
    precise = Walk(graph, names, Batch(index, size, precise=True), vouch).run()
    assert precise is not None  # as it makes no label up
    return precise if found is None or len(precise.lost) < len(found.lost) else found

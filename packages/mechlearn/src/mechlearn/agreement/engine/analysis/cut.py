"""Where a graph narrows above parameters that no formula serves: the passes for each environment begin there."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node

from mechlearn.agreement.engine.analysis.owners import Batch, Lost
from mechlearn.agreement.engine.analysis.rows import WHOLE, Rows
from mechlearn.agreement.engine.analysis.walk import Proof, Survey
from mechlearn.environments import Environments


class Cut(NamedTuple):
    """A node that every way from the losses to some parameters passes.

    Attributes:
        node: it has one output.
        rows: whose the slices of its incoming gradient are.
    """

    node: Node
    rows: Rows

    @property
    def edge(self) -> GradientEdge:
        """Where its incoming gradient is seen."""
        return GradientEdge(self.node, 0)

    def parted(self, delta: Tensor, groups: Environments, environment: int) -> Tensor:
        """Return the part of an incoming gradient that is one environment's, 0 elsewhere."""
        dim, outer, inner, owners = self.rows
        if owners is None:
            owners = groups.index.repeat_interleave(inner).repeat(outer)
        shape = [1] * delta.dim()
        if dim != WHOLE:
            shape[dim] = len(owners)
        return torch.where((owners == environment).to(delta.device).reshape(shape), delta, 0)


def cut_above(graph: Survey, proof: Proof, groups: Environments, leaves: Collection[int]) -> Cut | None:
    """Return the lowest node that every way to some leaves passes, and where it is known whose is what; None for the losses.

    Args:
        graph: that was walked.
        proof: what the walk found.
        groups: the partition of the batch.
        leaves: by identity.
    """
    ends = {node for node in graph.order if id(getattr(node, "variable", None)) in leaves}
    batch = Batch(lambda: groups.index.numpy(force=True), sum(groups.sizes))
    partly: set[Node] = set()  # to which more comes than ownership was followed of
    for node in graph.order:
        if node in partly or (node is not graph.root and proof.sent.get(node, 0) < graph.readers[node]):
            partly |= {node, *(child for child, _ in graph.slots[node] if child is not None)}
    for node in reversed(_narrows(graph.order, graph.slots, ends)):
        own = proof.arrived.get(node)
        if node is graph.root:
            return None
        if own is None or isinstance(own, Lost) or node in partly or len(node._input_metadata) > 1:  # pyright: ignore
            continue
        rows = batch.rows(own)
        if rows is not None:
            return Cut(node, rows)
    return None


def _narrows(
    order: Sequence[Node], slots: Mapping[Node, Sequence[tuple[Node | None, int]]], ends: Collection[Node]
) -> list[Node]:
    """Return the nodes that every way from the first one to some ends passes, in order.

    Args:
        order: nodes, each before what it reads.
        slots: of every node, what it reads.
        ends: nodes of that order.
    """
    leading = {*ends}
    for node in reversed(order):
        if any(child in leading for child, _ in slots[node]):
            leading.add(node)
    found: list[Node] = []
    waiting = set[Node]()  # what nodes that were passed read, and was not passed
    for node in order:
        if node not in leading:
            continue
        if node in ends:  # ways to the others may have parted from its own
            break
        waiting.discard(node)
        if not waiting:
            found.append(node)
        waiting |= {child for child, _ in slots[node] if child is not None and child in leading}
    return found

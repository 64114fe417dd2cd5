"""What a backward pass executes, and in how many stages: autograd need not execute a node whose formula gives all it sends on.

At such a node a stage ends, and the next one starts from what the formula sends on. A stage is over before the next one starts,
so that this is done only where nothing is reached in two of them: not beside a residual connection.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from torch import Tensor
from torch.autograd.graph import Node

from craik.agreement.onepass.proof.rows import Read
from craik.agreement.onepass.proof.walk import Survey


class Stage(NamedTuple):
    """A part of a backward pass.

    Attributes:
        hooked: nodes with reads that are executed.
        ends: nodes with reads that are not, and whose incoming gradients are asked for.
        carriers: those of the ends from which the next stage starts.
        others: which of the other leaves are reached, by position.
    """

    hooked: list[Node]
    ends: list[Node]
    carriers: Collection[Node]
    others: Sequence[int]


def stages_of(
    graph: Survey, at: Mapping[Node, Sequence[Read]], others: Sequence[Tensor], carriers: Collection[Node]
) -> list[Stage]:
    """Return a pass's stages, in order; one, as a rule.

    Args:
        graph: walked.
        at: the reads to treat, by node.
        others: leaves whose ordinary gradients are wanted.
        carriers: nodes with reads whose formula gives what they send to their first slot.
    """
    wanted = {id(leaf): position for position, leaf in enumerate(others)}
    executed = _executed(graph, at, wanted)
    cut = {node for node in carriers if node in executed and _reads_all(graph, node, at[node])}
    depths = _depths(graph, at, executed, wanted, cut) if cut else None
    if depths is None:
        hooked, ends = [node for node in at if node in executed], [node for node in at if node not in executed]
        return [Stage(hooked, ends, (), range(len(others)))]
    stages = [Stage([], [], set[Node](), []) for _ in range(max(depths.values()) + 1)]
    for node in at:
        if node in depths:  # else no gradient comes to it
            stage = stages[depths[node]]
            (stage.ends if node in cut or node not in executed else stage.hooked).append(node)
    return [
        stage._replace(
            carriers=cut.intersection(stage.ends),
            others=[_position(n, wanted) for n, depth in depths.items() if depth == number and _position(n, wanted) >= 0],
        )
        for number, stage in enumerate(stages)
    ]


def _position(node: Node, wanted: Mapping[int, int]) -> int:
    """Return a leaf's position among those that are wanted, -1 for any other node."""
    return wanted.get(id(getattr(node, "variable", None)), -1)


def _executed(graph: Survey, at: Mapping[Node, Sequence[Read]], wanted: Mapping[int, int]) -> set[Node]:
    """Return the nodes above a read or above another leaf that is asked for: those that the engine executes."""
    needed: set[Node] = set()
    executed: set[Node] = set()
    slots = graph.slots
    for node in reversed(graph.order):
        below = slots[node]
        if not below:
            if wanted and id(getattr(node, "variable", None)) in wanted:
                needed.add(node)
            continue
        for child, _ in below:
            if child in needed:
                needed.add(node)
                executed.add(node)
                break
        else:
            if node in at:
                needed.add(node)
    return executed


def _reads_all(graph: Survey, node: Node, reads: Sequence[Read]) -> bool:
    """Tell whether a node has nobody to send a gradient to but its first slot and the parameters that are read there."""
    own = {read.slot for read in reads}
    return all(child is None or slot in own for slot, (child, _) in enumerate(graph.slots[node]) if slot)


def _depths(
    graph: Survey, at: Mapping[Node, Sequence[Read]], executed: set[Node], wanted: Mapping[int, int], cut: set[Node]
) -> dict[Node, int] | None:
    """Return how many cuts lie above each node that matters; None where a node is reached in two stages."""
    depths = {graph.root: 0}
    for node in graph.order:
        if node not in depths or node not in executed:
            continue
        for slot, (child, _) in enumerate(graph.slots[node]):
            if child is None or not (child in executed or child in at or _position(child, wanted) >= 0):
                continue
            depth = depths[node] + (node in cut)
            if (node in cut and slot) or depths.setdefault(child, depth) != depth:
                return None
    return depths

"""What an autograd graph says about a model: which calls it contains, and how often it reads each parameter."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor
from torch.autograd.graph import Node

# Nodes through which a parameter passes unchanged in all that matters here: a transpose, or autocast's cast, which autograd
# makes once and shares between uses.
_TRANSPARENT = frozenset({"TBackward0", "ToCopyBackward0"})


class Reads(NamedTuple):
    """What a walk over a graph found.

    Attributes:
        nodes: every node that the losses depend on.
        counts: for each leaf tensor, by identity, how many operations read it.
        leaves: the leaf tensors, by identity.
    """

    nodes: set[Node]
    counts: Counter[int]
    leaves: dict[int, Tensor]

    def signature(self) -> frozenset[tuple[str, int]]:
        """Return how many nodes of each kind there are: what tells one kind of graph from another."""
        return frozenset(Counter(node.name() for node in self.nodes).items())


def walk(root: Node) -> Reads:
    """Visit every node below ``root`` once and count the operations that read each leaf."""
    nodes: set[Node] = {root}
    counts: Counter[int] = Counter()
    leaves: dict[int, Tensor] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        transparent = node.name() in _TRANSPARENT
        for child, _ in node.next_functions:
            if child is None:
                continue
            # The edges out of a transparent node are counted where something reads that node.
            leaf = None if transparent else _leaf_below(child)
            if leaf is not None:
                counts[id(leaf)] += 1
                leaves[id(leaf)] = leaf
            if child not in nodes:
                nodes.add(child)
                stack.append(child)
    return Reads(nodes, counts, leaves)


def _leaf_below(node: Node) -> Tensor | None:
    """Return the leaf tensor that a node accumulates into, looking through transparent nodes."""
    while node.name() in _TRANSPARENT:
        below = node.next_functions[0][0]
        if below is None:
            return None
        node = below
    variable = getattr(node, "variable", None)
    return variable if isinstance(variable, Tensor) else None


def check_reached(parameters: Mapping[str, Tensor]) -> None:
    """Refuse losses that none of the model's parameters has a part in, such as another model's."""
    if not parameters:
        raise ValueError(
            "`losses` should depend on a parameter of the model that `Agreement` was made for. Found none in their graph. "
            "Make an Agreement for the model that computed them; a copy of a model is another model."
        )

"""Relational forward models: a recurrent graph network that predicts every agent's next action from the others and the objects.

Tacchetti et al. 2019 (https://arxiv.org/abs/1809.11044, section 2): graph block -> recurrent graph block -> graph block ->
linear on the agents' nodes. Nodes are agents, first, and objects; edges go from all nodes to the agents, so that receivers
are agents only. What an edge's vector says by its norm is read as who attends to whom (section 3.2); measure that against
distance alone before believing it.

Index conventions: b windows, t steps, n nodes of which the first are agents, m edges; logits at step t are of the actions
taken from the state at t, so what was done at t may not be among the inputs of t, what was done at t - 1 may.

When not to use it: one body alone, or bodies that do not react to each other: a recurrent network for each does as well.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from craik.arguments import check_flag, check_generator, check_tensor, check_whole
from craik.methods.paper import Paper
from craik.nn.graphs import Graph, GraphBlock, GraphGRU, GraphState, Widths
from craik.nn.perceptrons import linear

PAPER = Paper(
    "Relational forward model",
    2019,
    "Tacchetti et al., section 2",
    "https://arxiv.org/abs/1809.11044",
    "E edges a step, no world",
)


class Predicted(NamedTuple):
    """What a relational forward model says.

    Attributes:
        logits: (b, t, agents, actions) of the actions taken at each step.
        edges: (b, t, m, width) of the recurrent block; `craik.nn.graphs.edge_norms` reads them.
        state: after the last step, to go on from.
    """

    logits: Float[Tensor, "b t n k"]
    edges: Float[Tensor, "b t m w"]
    state: GraphState


class RelationalForwardModel(nn.Module):
    """Predicts the next actions of any number of agents among any number of objects.

    Args:
        inputs: widths of edges, nodes and global vector as they come in.
        actions: that each agent can take.
        hidden: width of edges, nodes and global vector inside, and of hidden layers.
        generator: of the initial weights.
        recurrent: False leaves the recurrent block out: the ablation.

    Raises:
        TypeError: arguments of another kind.
        ValueError: fewer than two actions, no units.
    """

    def __init__(self, inputs: Widths, actions: int, hidden: int, generator: Generator, recurrent: bool = True) -> None:
        super().__init__()
        check_whole("actions", actions, least=2)
        check_whole("hidden", hidden, least=1)
        check_generator("generator", generator)
        check_flag("recurrent", recurrent)
        inside = Widths(hidden, hidden, hidden)
        self.encoder = GraphBlock(inputs, inside, hidden, generator)
        self.memory = GraphGRU(inside, inside, generator) if recurrent else None
        self.decoder = GraphBlock(inside, inside, hidden, generator)
        self.head = linear(hidden, actions, "default", generator)

    def forward(self, graph: Graph, agents: int, state: GraphState | None = None) -> Predicted:
        """Return logits for the first ``agents`` nodes at every step.

        Args:
            graph: with leading axes (b, t): nodes (b, t, n, dv), edges (b, t, m, de), globals (b, t, du).
            agents: how many nodes, the first ones, are agents.
            state: after the step before; None at the beginning.

        Raises:
            TypeError: no graph.
            ValueError: other leading axes, other widths, more agents than nodes.
        """
        if graph.nodes.dim() != 4:
            raise ValueError(f"Nodes should have the shape (b, t, n, width). Found {tuple(graph.nodes.shape)}. Add axes.")
        if not 1 <= agents <= graph.nodes.shape[2]:
            raise ValueError(f"`agents` should be among the {graph.nodes.shape[2]} nodes. Found {agents}. Agents come first.")
        encoded = self.encoder(graph)
        steps, state = self._remembered(encoded, state)
        decoded = self.decoder(steps)
        return Predicted(self.head(decoded.nodes[:, :, :agents]), steps.edges, state)

    def _remembered(self, graph: Graph, state: GraphState | None) -> tuple[Graph, GraphState]:
        first = graph._replace(nodes=graph.nodes[:, 0], edges=graph.edges[:, 0], globals=graph.globals[:, 0])
        if self.memory is None:
            return graph, GraphState(first.edges, first.nodes, first.globals)
        states: list[GraphState] = []
        current = self.memory.begin(first) if state is None else state
        for t in range(graph.nodes.shape[1]):
            step = graph._replace(nodes=graph.nodes[:, t], edges=graph.edges[:, t], globals=graph.globals[:, t])
            _, current = self.memory(step, current)
            states.append(current)
        edges, nodes, top = (torch.stack(part, 1) for part in zip(*states, strict=True))
        return graph._replace(nodes=nodes, edges=edges, globals=top), current


def relative_places(
    places: Float[Tensor, "*batch n 2"], senders: Int[Tensor, " m"], receivers: Int[Tensor, " m"]
) -> Float[Tensor, "*batch m 3"]:
    """Return what an edge should know to begin with: the way from receiver to sender, (dx, dy), and its length.

    With positions on nodes only, the network has to learn subtraction first: in our trials it was then worse than no relations.

    Raises:
        ValueError: places that are no pairs.
    """
    check_tensor("places", places)
    if places.dim() < 2 or places.shape[-1] != 2:
        raise ValueError(f"`places` should have the shape (..., n, 2). Found {tuple(places.shape)}.")
    way = places.index_select(-2, senders) - places.index_select(-2, receivers)
    return torch.cat([way, way.norm(dim=-1, keepdim=True)], -1)


def next_action_losses(logits: Float[Tensor, "b t n k"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, " b"]:
    """Return each window's mean cross-entropy, (b,): unreduced, so that windows of several teams can be environments.

    Raises:
        ValueError: shapes that do not fit.
    """
    _check(logits, actions)
    return cross_entropy(logits.flatten(0, 2), actions.flatten(), reduction="none").view(actions.shape).mean((1, 2))


def perfect_steps(logits: Float[Tensor, "b t n k"], actions: Int[Tensor, "b t n"]) -> Int[Tensor, " b"]:
    """Return for how many steps from the first one all agents' most likely actions are the ones they took, (b,).

    As long as every action was right, a roll-out through the true world stays on the recorded states, so this is how long
    such a roll-out is perfect (section 3.1).

    Raises:
        ValueError: shapes that do not fit.
    """
    _check(logits, actions)
    right = (logits.argmax(-1) == actions).all(-1)
    return right.long().cumprod(1).sum(1)


def _check(logits: Tensor, actions: Tensor) -> None:
    check_tensor("logits", logits)
    check_tensor("actions", actions)
    if logits.dim() != 4 or logits.shape[:3] != actions.shape:
        raise ValueError(
            f"`logits` should be (b, t, agents, actions) for actions (b, t, agents). Found {tuple(logits.shape)} and "
            f"{tuple(actions.shape)}."
        )

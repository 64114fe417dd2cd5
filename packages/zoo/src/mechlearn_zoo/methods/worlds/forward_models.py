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

from mechlearn.arguments import (
    all_finite,
    check_all_finite,
    check_data,
    check_flag,
    check_floats,
    check_generator,
    check_ids,
    check_kind,
    check_result,
    check_tensor,
    check_whole,
)
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.nn.graphs import Graph, GraphBlock, GraphGRU, GraphState, Widths

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
        edges: (b, t, m, width) of the recurrent block; `mechlearn_zoo.nn.graphs.edge_norms` reads them.
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
            TypeError: no graph, no state, numbers of another type than the weights.
            ValueError: other leading axes, none of them, other widths, more agents than nodes; numbers that are not finite: the
                state would not forget them.
        """
        check_kind("graph", graph, Graph, "a Graph(nodes, edges, globals, senders, receivers)")
        check_floats("Nodes", graph.nodes, "b", "t", "n", "width", way_out="Add axes.")
        for name, part in (("nodes", graph.nodes), ("edges", graph.edges), ("globals", graph.globals)):
            check_tensor(f"graph.{name}", part)
            check_all_finite(f"graph.{name}", part, way_out="Leave such windows out.")
        check_whole("agents", agents)
        if not 1 <= agents <= graph.nodes.shape[2]:
            raise ValueError(f"`agents` should be among the {graph.nodes.shape[2]} nodes. Found {agents}. Agents come first.")
        encoded = self.encoder(graph)
        steps, state = self._remembered(encoded, state)
        decoded = self.decoder(steps)
        return Predicted(self.head(decoded.nodes[:, :, :agents]), steps.edges, state)

    def _remembered(self, graph: Graph, state: GraphState | None) -> tuple[Graph, GraphState]:
        if self.memory is None:
            return graph, GraphState(graph.edges[:, 0], graph.nodes[:, 0], graph.globals[:, 0])
        return self.memory.over_time(graph, state)


def relative_places(
    places: Float[Tensor, "*batch n 2"], senders: Int[Tensor, " m"], receivers: Int[Tensor, " m"]
) -> Float[Tensor, "*batch m 3"]:
    """Return what an edge should know to begin with: the way from receiver to sender, (dx, dy), and its length.

    With positions on nodes only, the network has to learn subtraction first: in our trials it was then worse than no relations.

    Raises:
        TypeError: places that are no floating numbers, ids that are no whole ones.
        ValueError: places that are no pairs, edges of other nodes. Where the places are is not looked at: who reads the edges
            does.
    """
    check_floats("places", places, "...", "n", 2)
    check_ids("senders", senders, "m", count=places.shape[-2])
    check_ids("receivers", receivers, len(senders), count=places.shape[-2])
    start, end = (places.index_select(-2, ends.to(places.device).long()) for ends in (receivers, senders))
    way = end - start
    return torch.cat([way, way.norm(dim=-1, keepdim=True)], -1)


def next_action_losses(logits: Float[Tensor, "b t n k"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, " b"]:
    """Return each window's mean cross-entropy, (b,): unreduced, so that windows of several teams can be environments.

    Raises:
        TypeError: logits that are no floating numbers, actions that are no whole ones.
        ValueError: shapes that do not fit, actions that there are not, a loss that is not finite.
    """
    _check(logits, actions)
    losses = cross_entropy(logits.flatten(0, 2), actions.flatten().long(), reduction="none").view(actions.shape).mean((1, 2))
    check_result(losses, {"logits": logits}, way_out="Allow every action that was taken.")
    return losses


def perfect_steps(logits: Float[Tensor, "b t n k"], actions: Int[Tensor, "b t n"]) -> Int[Tensor, " b"]:
    """Return for how many steps from the first one all agents' most likely actions are the ones they took, (b,).

    As long as every action was right, a roll-out through the true world stays on the recorded states, so this is how long
    such a roll-out is perfect (section 3.1).

    Raises:
        TypeError: logits that are no floating numbers, actions that are no whole ones.
        ValueError: shapes that do not fit, actions that there are not, logits with NaN.
    """
    _check(logits, actions)
    if not all_finite(logits.detach().amax(-1)):
        raise ValueError("`logits` should be numbers, minus infinity for some at most. Found NaN or infinity. Train the model.")
    right = (logits.argmax(-1) == actions).all(-1)
    return right.long().cumprod(1).sum(1)


def _check(logits: Tensor, actions: Tensor) -> None:
    check_floats("logits", logits, "...")
    check_data("logits", logits)
    check_ids("actions", actions, "...")
    if logits.dim() != 4 or logits.shape[:3] != actions.shape:
        raise ValueError(
            f"`logits` should be (b, t, agents, actions) for actions (b, t, agents). Found {tuple(logits.shape)} and "
            f"{tuple(actions.shape)}. Put the actions' logits last."
        )
    check_ids("actions", actions, "...", count=logits.shape[-1])

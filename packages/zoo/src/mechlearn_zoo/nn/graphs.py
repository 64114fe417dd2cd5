"""Graph networks: blocks that update edges, nodes and a global vector, and a recurrent one.

Source: Battaglia et al. 2018 (https://arxiv.org/abs/1806.01261, algorithm 1), with sums:
    e'_k = phi_e(e_k, v_r, v_s, u),  v'_i = phi_v(sum_{k: r_k = i} e'_k, v_i, u),  u' = phi_u(sum_k e'_k, sum_i v'_i, u).
The recurrent block is the GraphGRU of Tacchetti et al. 2019 (https://arxiv.org/abs/1809.11044, section 2): each phi is a GRU
with a state of its own. Index conventions: n nodes, m edges, edge k goes from senders[k] to receivers[k]; leading axes are
batches, which share one graph structure. Renaming nodes renames the outputs and leaves the global vector alone.

When not to use it: where every node hears every other with nothing known of the pair, attention is the same at less memory.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from mechlearn.arguments import check_floats, check_generator, check_ids, check_kind, check_tensor, check_whole
from mechlearn.nn.perceptrons import linear


class Graph(NamedTuple):
    """A batch of graphs of one structure.

    Attributes:
        nodes: (..., n, dv).
        edges: (..., m, de).
        globals: (..., du).
        senders: (m,) where each edge comes from.
        receivers: (m,) where it goes.
    """

    nodes: Float[Tensor, "*batch n dv"]
    edges: Float[Tensor, "*batch m de"]
    globals: Float[Tensor, "*batch du"]
    senders: Int[Tensor, " m"]
    receivers: Int[Tensor, " m"]


class Widths(NamedTuple):
    """Numbers of an edge, of a node and of the global vector."""

    edges: int
    nodes: int
    globals: int


class GraphState(NamedTuple):
    """What a `GraphGRU` remembers: (..., m, de), (..., n, dv), (..., du)."""

    edges: Float[Tensor, "*batch m de"]
    nodes: Float[Tensor, "*batch n dv"]
    globals: Float[Tensor, "*batch du"]


def edges_to(receivers: int, nodes: int) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"]]:
    """Return senders and receivers of the edges from every node to each of the first nodes, none to itself.

    Args:
        receivers: the first so many nodes receive: the agents, where objects follow them.
        nodes: of all.

    Raises:
        TypeError: no whole numbers.
        ValueError: more receivers than nodes, or fewer than one.

    >>> edges_to(1, 3)
    (tensor([1, 2]), tensor([0, 0]))
    """
    check_whole("receivers", receivers, least=1)
    check_whole("nodes", nodes, least=receivers, why="the receivers are among them")
    pairs = [(sender, receiver) for receiver in range(receivers) for sender in range(nodes) if sender != receiver]
    found = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
    return found[:, 0], found[:, 1]


class GraphBlock(nn.Module):
    """One round of updates, each phi a perceptron with one hidden layer of ReLU units.

    The first layer of phi_e is taken apart: what it makes of nodes and of the global vector is computed once for each of them,
    not once for each edge.

    Args:
        inputs: widths of what comes in.
        outputs: widths of what goes out.
        hidden: units of each hidden layer.
        generator: of the initial weights, PyTorch's default ones.

    Raises:
        TypeError: arguments of another kind.
        ValueError: negative widths, no output, no unit.
    """

    def __init__(self, inputs: Widths, outputs: Widths, hidden: int, generator: Generator) -> None:
        super().__init__()
        _check_widths(inputs, outputs, generator)
        check_whole("hidden", hidden, least=1)
        self.inputs = inputs
        into = _into(inputs, outputs)
        self.first = nn.ModuleDict({name: linear(into[name], hidden, "default", generator) for name in into})
        wide = outputs._asdict()
        self.last = nn.ModuleDict({name: linear(hidden, wide[name], "default", generator) for name in into})

    def forward(self, graph: Graph) -> Graph:
        """Return the graph with new edges, nodes and global vector.

        Raises:
            TypeError, ValueError: no graphs, another type or width, edges that lead nowhere. Values are not looked at.
        """
        graph = _check_graph(graph, self.inputs, self.last["edges"].get_parameter("weight"))
        edges = self._update("edges", _edge_inputs(self.first["edges"], graph))
        heard = _summed(edges, graph.receivers, graph.nodes.shape[-2])
        v_in = torch.cat([heard, graph.nodes, _along(graph.globals, graph.nodes)], -1)
        nodes = self._update("nodes", self.first["nodes"](v_in))
        u_in = torch.cat([edges.sum(-2), nodes.sum(-2), graph.globals], -1)
        return graph._replace(nodes=nodes, edges=edges, globals=self._update("globals", self.first["globals"](u_in)))

    def _update(self, name: str, before: Tensor) -> Tensor:
        return self.last[name](before.relu())


class GraphGRU(nn.Module):
    """A recurrent block: each phi is a GRU (Cho et al. 2014), for edges, nodes and the global vector with a state of its own.

    Args:
        inputs: widths of what comes in.
        outputs: widths of the states, which are what goes out.
        generator: of the initial weights, PyTorch's default ones.

    Raises:
        TypeError: arguments of another kind.
        ValueError: negative widths, no state.
    """

    def __init__(self, inputs: Widths, outputs: Widths, generator: Generator) -> None:
        super().__init__()
        _check_widths(inputs, outputs, generator)
        self.inputs, self.outputs = inputs, outputs
        into, wide = _into(inputs, outputs), outputs._asdict()
        self.first = nn.ModuleDict({name: gated(into[name], 3 * wide[name], wide[name], generator) for name in into})
        self.again = nn.ModuleDict({name: gated(wide[name], 3 * wide[name], wide[name], generator) for name in into})

    def begin(self, graph: Graph) -> GraphState:
        """Return zeros, the state before the first step, for a batch like this one."""
        parts = zip((graph.edges, graph.nodes, graph.globals), self.outputs, strict=True)
        return GraphState(*(part.new_zeros(*part.shape[:-1], width) for part, width in parts))

    def forward(self, graph: Graph, state: GraphState | None = None) -> tuple[Graph, GraphState]:
        """Return the graph after one step of time, and the state, whose tensors are the graph's new ones.

        Args:
            graph: of this step; refused as by a `GraphBlock`.
            state: of the step before; None at the beginning; one of other graphs is refused.
        """
        graph = _check_graph(graph, self.inputs, self.again["edges"].get_parameter("weight"))
        before = self.begin(graph) if state is None else _check_state(state, graph, self.outputs)
        after = self._step(self._seen(graph), before, graph.receivers)
        return graph._replace(nodes=after.nodes, edges=after.edges, globals=after.globals), after

    def over_time(self, graph: Graph, state: GraphState | None = None) -> tuple[Graph, GraphState]:
        """Return the graphs after each of t steps, and the last state: the same as one step after another.

        What the gates read of the inputs alone is computed for all steps in one product.

        Args:
            graph: with the axis of time before the nodes', the edges' and the globals' own: (..., t, n, dv) and so on.
            state: of the step before the first; None at the beginning.

        Raises:
            TypeError, ValueError: as a step; graphs without an axis of time, or with no step.
        """
        graph = _check_graph(graph, self.inputs, self.again["edges"].get_parameter("weight"))
        if graph.nodes.dim() < 3:
            found = f"nodes {tuple(graph.nodes.shape)}"
            raise ValueError(f"Graphs over time should have an axis of it, (..., t, n, dv). Found {found}. Add one.")
        first = graph._replace(
            nodes=graph.nodes.select(-3, 0), edges=graph.edges.select(-3, 0), globals=graph.globals.select(-2, 0)
        )
        current = self.begin(first) if state is None else _check_state(state, first, self.outputs)
        edges, nodes, top = self._seen(graph)
        states: list[GraphState] = []
        for seen in zip(edges.unbind(-3), nodes.unbind(-3), top.unbind(-2), strict=True):
            current = self._step(GraphState(*seen), current, graph.receivers)
            states.append(current)
        edges, nodes, top = (torch.stack(part, dim) for part, dim in zip(zip(*states, strict=True), (-3, -3, -2), strict=True))
        return graph._replace(nodes=nodes, edges=edges, globals=top), current

    def _seen(self, graph: Graph) -> GraphState:
        """Return what the gates read of the inputs; what else they read of a step, its own new edges and nodes, comes later."""
        e, v, _ = self.outputs
        nodes, top = self.first["nodes"], self.first["globals"]
        known = torch.cat([graph.nodes, _along(graph.globals, graph.nodes)], -1)
        return GraphState(
            _edge_inputs(self.first["edges"], graph),
            torch.nn.functional.linear(known, nodes.get_parameter("weight")[:, e:], nodes.get_parameter("bias")),
            torch.nn.functional.linear(graph.globals, top.get_parameter("weight")[:, e + v :], top.get_parameter("bias")),
        )

    def _step(self, seen: GraphState, before: GraphState, receivers: Tensor) -> GraphState:
        e, v, _ = self.outputs
        edges = self._update("edges", seen.edges, before.edges)
        heard = _summed(edges, receivers, before.nodes.shape[-2]) @ self.first["nodes"].get_parameter("weight")[:, :e].T
        nodes = self._update("nodes", seen.nodes + heard, before.nodes)
        sums = torch.cat([edges.sum(-2), nodes.sum(-2)], -1) @ self.first["globals"].get_parameter("weight")[:, : e + v].T
        return GraphState(edges, nodes, self._update("globals", seen.globals + sums, before.globals))

    def _update(self, name: str, seen: Tensor, h: Tensor) -> Tensor:
        # torch.nn.GRUCell's equations: reset r, update z, candidate n; h' = (1 - z) n + z h.
        units, again = h.shape[-1], self.again[name](h)
        r, z = (seen[..., : 2 * units] + again[..., : 2 * units]).sigmoid().chunk(2, -1)
        new = torch.addcmul(seen[..., 2 * units :], r, again[..., 2 * units :]).tanh()
        return torch.lerp(new.to(h.dtype), h, z.to(h.dtype))  # under autocast gates are shorter than states


def edge_norms(edges: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m"]:
    """Return how much each edge says: the norm of its vector (Tacchetti et al., section 3.2)."""
    check_floats("edges", edges, "...", "d")
    return edges.norm(dim=-1)


def gated(inputs: int, outputs: int, fan: int, generator: Generator) -> nn.Linear:
    """Return the linear part of a recurrent cell's gates, all of them one below the other, with PyTorch's initial weights.

    Args:
        inputs: what comes in.
        outputs: units times gates.
        fan: units, whose root bounds the uniform initial weights.
        generator: of these.
    """
    layer = linear(inputs, outputs, "default", generator)
    bound = 1 / math.sqrt(max(fan, 1))
    for tensor in (layer.weight, layer.bias):
        nn.init.uniform_(tensor, -bound, bound, generator=generator)
    return layer


def _into(inputs: Widths, outputs: Widths) -> dict[str, int]:
    """Numbers that each phi reads."""
    e, v, u = inputs
    return {"edges": e + 2 * v + u, "nodes": outputs.edges + v + u, "globals": outputs.edges + outputs.nodes + u}


def _edge_inputs(layer: nn.Module, graph: Graph) -> Tensor:
    """What a linear layer makes of [e_k, v_r, v_s, u], with one product for each node instead of each edge."""
    sizes = [graph.edges.shape[-1], graph.nodes.shape[-1], graph.nodes.shape[-1], graph.globals.shape[-1]]
    of_edge, of_receiver, of_sender, of_top = layer.get_parameter("weight").split(sizes, dim=1)
    received = (graph.nodes @ of_receiver.T).index_select(-2, graph.receivers)
    sent = (graph.nodes @ of_sender.T).index_select(-2, graph.senders)
    return graph.edges @ of_edge.T + received + sent + (graph.globals @ of_top.T + layer.get_parameter("bias")).unsqueeze(-2)


def _summed(edges: Tensor, receivers: Tensor, nodes: int) -> Tensor:
    return edges.new_zeros(*edges.shape[:-2], nodes, edges.shape[-1]).index_add(-2, receivers, edges)


def _along(top: Tensor, nodes: Tensor) -> Tensor:
    return top.unsqueeze(-2).expand(*nodes.shape[:-1], top.shape[-1])


def _check_widths(inputs: Widths, outputs: Widths, generator: Generator) -> None:
    for what, widths, least in (("inputs", inputs, 0), ("outputs", outputs, 1)):
        check_kind(what, widths, Widths, "Widths(edges, nodes, globals)")
        for name, width in widths._asdict().items():
            check_whole(f"{what}.{name}", width, least=least)
    check_generator("generator", generator)


def _check_graph(graph: Graph, wanted: Widths, weight: Tensor) -> Graph:
    """Return the graph with its edges' ends beside the nodes: `edges_to` makes them on the CPU."""
    check_kind("graph", graph, Graph, "a Graph(nodes, edges, globals, senders, receivers)")
    check_floats("graph.nodes", graph.nodes, "...", "n", wanted.nodes, like=weight, way_out="Build the block for these widths.")
    *batch, n, _ = graph.nodes.shape
    check_tensor("graph.senders", graph.senders)
    joined, rule = graph.senders.numel(), f"Edges join nodes 0 to {n - 1}, each has one sender and one receiver."
    for name, ends in (("senders", graph.senders), ("receivers", graph.receivers)):
        check_ids(f"graph.{name}", ends, joined, count=n, way_out=rule)
    check_floats("graph.edges", graph.edges, *batch, joined, wanted.edges, like=weight, way_out=rule)
    check_floats("graph.globals", graph.globals, *batch, wanted.globals, like=weight)
    device = graph.nodes.device
    senders, receivers = (ends.to(device).long() for ends in (graph.senders, graph.receivers))  # torch gathers by no byte
    return graph._replace(senders=senders, receivers=receivers)


def _check_state(state: GraphState, graph: Graph, wide: Widths) -> GraphState:
    check_kind("state", state, GraphState, "a GraphState(edges, nodes, globals)")
    for name, part, like, width in zip(state._fields, state, (graph.edges, graph.nodes, graph.globals), wide, strict=True):
        check_floats(f"state.{name}", part, *like.shape[:-1], width, like=like)
    return state

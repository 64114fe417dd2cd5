import pytest
import torch

import nn_oracles as oracles
from mechlearn_zoo.nn.graphs import Graph, GraphBlock, GraphGRU, GraphState, Widths, edge_norms, edges_to

IN, OUT = Widths(3, 4, 2), Widths(5, 6, 3)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def graph(batch=(), agents=3, nodes=5, seed=0):
    g = generator(seed)
    senders, receivers = edges_to(agents, nodes)
    draw = lambda *shape: torch.randn(*batch, *shape, dtype=torch.float64, generator=g)  # noqa: E731
    return Graph(draw(nodes, IN.nodes), draw(len(senders), IN.edges), draw(IN.globals), senders, receivers)


def block():
    return GraphBlock(IN, OUT, 7, generator()).double()


def test_a_block_is_the_literal_loop():
    made, g = block(), graph()
    layers = {
        name: tuple((layer.weight.detach(), layer.bias.detach()) for layer in (made.first[name], made.last[name]))
        for name in ("edges", "nodes", "globals")
    }
    found = made(g)
    nodes, edges, top = oracles.graph_block(g.nodes, g.edges, g.globals, g.senders, g.receivers, layers)
    for one, other in ((found.nodes, nodes), (found.edges, edges), (found.globals, top)):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_a_gru_is_torch_s_cell_on_each_kind():
    made = GraphGRU(IN, OUT, generator()).double()
    g = graph(batch=(2,))
    state = GraphState(*(torch.randn(2, *shape, dtype=torch.float64) for shape in ((12, 5), (5, 6), (3,))))
    after, new = made(g, state)

    def cell(name, x, h):
        gru = torch.nn.GRUCell(x.shape[-1], h.shape[-1]).double()
        gru.load_state_dict(
            {
                "weight_ih": made.first[name].weight,
                "bias_ih": made.first[name].bias,
                "weight_hh": made.again[name].weight,
                "bias_hh": made.again[name].bias,
            }
        )
        return gru(x, h)

    top = g.globals
    edges = torch.stack(
        [
            cell("edges", torch.cat([g.edges[:, k], g.nodes[:, r], g.nodes[:, s], top], 1), state.edges[:, k])
            for k, (s, r) in enumerate(zip(g.senders.tolist(), g.receivers.tolist(), strict=True))
        ],
        1,
    )
    torch.testing.assert_close(new.edges, edges)
    heard = torch.stack([edges[:, g.receivers == i].sum(1) for i in range(5)], 1)
    nodes = torch.stack(
        [cell("nodes", torch.cat([heard[:, i], g.nodes[:, i], top], 1), state.nodes[:, i]) for i in range(5)], 1
    )
    torch.testing.assert_close(new.nodes, nodes)
    torch.testing.assert_close(new.globals, cell("globals", torch.cat([edges.sum(1), nodes.sum(1), top], 1), state.globals))
    assert after.nodes is new.nodes
    torch.testing.assert_close(made(g)[1].nodes, made(g, made.begin(g))[1].nodes)


def test_over_time_is_one_step_after_another():
    made, g = GraphGRU(IN, OUT, generator()).double(), graph(batch=(2, 4))
    begun = made.begin(g._replace(nodes=g.nodes[:, 0], edges=g.edges[:, 0], globals=g.globals[:, 0]))
    before = GraphState(*(torch.randn(part.shape, dtype=torch.float64, generator=generator(3)) for part in begun))
    for state in (None, before):
        current, steps = state, []
        for t in range(4):
            _, current = made(g._replace(nodes=g.nodes[:, t], edges=g.edges[:, t], globals=g.globals[:, t]), current)
            steps.append(current)
        found, last = made.over_time(g, state)
        for name in GraphState._fields:
            literal = torch.stack([getattr(step, name) for step in steps], 1)
            torch.testing.assert_close(getattr(found, name), literal, rtol=0, atol=1e-12)
            torch.testing.assert_close(getattr(last, name), getattr(current, name), rtol=0, atol=1e-12)
        weights = list(made.parameters())
        one = torch.autograd.grad(sum(part.square().sum() for part in steps[-1]), weights)
        other = torch.autograd.grad(sum(part.square().sum() for part in last), weights)
        for literal, gradient in zip(one, other, strict=True):
            torch.testing.assert_close(gradient, literal, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["block", "gru"])
def test_renaming_nodes_renames_the_outputs(kind):
    gru = GraphGRU(IN, OUT, generator()).double()
    made = block() if kind == "block" else lambda g: gru(g)[0]
    g = graph(batch=(2,), agents=5)
    order = torch.tensor([3, 0, 4, 1, 2])
    place = torch.empty(5, dtype=torch.long)
    place[order] = torch.arange(5)
    edge_order = torch.randperm(len(g.senders), generator=generator(9))
    renamed = Graph(
        g.nodes[:, order], g.edges[:, edge_order], g.globals, place[g.senders][edge_order], place[g.receivers][edge_order]
    )
    one, other = made(g), made(renamed)
    torch.testing.assert_close(other.nodes, one.nodes[:, order], rtol=0, atol=1e-12)
    torch.testing.assert_close(other.edges, one.edges[:, edge_order], rtol=0, atol=1e-12)
    torch.testing.assert_close(other.globals, one.globals, rtol=0, atol=1e-12)


def test_any_number_of_nodes_and_batches_one_by_one():
    made, g = block(), graph(batch=(3,), agents=4, nodes=7)
    together = made(g)
    for b in range(3):
        alone = made(g._replace(nodes=g.nodes[b], edges=g.edges[b], globals=g.globals[b]))
        torch.testing.assert_close(alone.nodes, together.nodes[b], rtol=0, atol=1e-12)


def test_what_is_not_joined_has_no_influence_but_through_the_global():
    made, g = block(), graph(agents=2, nodes=4)
    keep = g.senders != 3  # nobody hears node 3
    nodes = g.nodes.requires_grad_()
    cut = Graph(nodes, g.edges[keep], g.globals, g.senders[keep], g.receivers[keep])
    (gradient,) = torch.autograd.grad(made(cut).nodes[:2].sum(), nodes, retain_graph=True)
    assert torch.equal(gradient[3], torch.zeros(4, dtype=torch.float64))
    assert bool((gradient[2] != 0).any())
    (gradient,) = torch.autograd.grad(made(cut).globals.sum(), nodes)
    assert bool((gradient[3] != 0).any())


def test_no_edges_and_edge_norms():
    senders, receivers = edges_to(1, 1)
    g = graph()
    alone = Graph(g.nodes[:1], g.edges[:0], g.globals, senders, receivers)
    assert block()(alone).nodes.shape == (1, 6)
    assert edge_norms(torch.tensor([[3.0, 4.0]])).tolist() == [5.0]


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    g = graph()
    with pytest.raises(ValueError, match=r"should have the shape \(..., n, 4\)"):
        block()(g._replace(nodes=g.nodes[:, :3]))
    with pytest.raises(ValueError, match="nodes 0 to 4"):
        block()(g._replace(senders=g.senders + 4))
    with pytest.raises(ValueError, match="one sender and one receiver"):
        block()(g._replace(senders=g.senders[1:]))
    with pytest.raises(TypeError, match="Widths"):
        GraphBlock((1, 2, 3), OUT, 7, generator())
    with pytest.raises(ValueError, match=r"`outputs.nodes` should be at least 1"):
        GraphGRU(IN, Widths(1, 0, 1), generator())
    with pytest.raises(ValueError, match="`nodes` should be at least 3"):
        edges_to(3, 2)


@pytest.mark.usefixtures("as_installed")
def test_empty_batches_types_and_states_are_refused():
    g = graph(batch=(2,))
    with pytest.raises(ValueError, match=r"`graph\.nodes` should have the shape"):
        block()(g._replace(nodes=g.nodes[:0], edges=g.edges[:0], globals=g.globals[:0]))
    with pytest.raises(ValueError, match=r"`graph\.globals` should have the shape \(2, "):
        block()(g._replace(globals=g.globals[:1]))
    with pytest.raises(TypeError, match=r"`graph\.edges` should be of the type torch\.float64\. Found torch\.float32"):
        block()(g._replace(edges=g.edges.float()))
    with pytest.raises(ValueError, match="nodes 0 to 4"):
        block()(g._replace(receivers=g.receivers - 1))
    with pytest.raises(TypeError, match=r"`graph\.senders` should hold whole numbers"):
        block()(g._replace(senders=g.senders.double()))
    memory = GraphGRU(IN, OUT, generator()).double()
    state = memory.begin(g)
    with pytest.raises(ValueError, match=r"`state\.nodes` should have the shape \(2, 5, "):
        memory(g, state._replace(nodes=state.nodes[:, :1]))
    with pytest.raises(TypeError, match="`state` should be a GraphState"):
        memory(g, tuple(state))
    with pytest.raises(ValueError, match=r"should have an axis of it, \(\.\.\., t, n, dv\)\. Found nodes \(5, 4\)"):
        memory.over_time(graph())
    with pytest.raises(ValueError, match=r"`state\.edges` should have the shape \(12, 5\)"):
        memory.over_time(g, state)  # of both steps, not of the one before


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_gru_under_autocast_keeps_its_states_in_their_type(dtype):
    senders, receivers = edges_to(2, 3)
    graph = Graph(
        *(torch.randn(*shape, generator=torch.Generator().manual_seed(1)) for shape in ((4, 3, 3), (4, 4, 2), (4, 1))),
        senders,
        receivers,
    )
    gru = GraphGRU(Widths(2, 3, 1), Widths(2, 2, 2), torch.Generator().manual_seed(0))
    wanted = gru.over_time(graph)[0].nodes
    with torch.autocast("cpu", dtype):
        found = gru.over_time(graph)[0].nodes
        again = gru(graph, gru(graph)[1])[0].nodes
    assert found.dtype == again.dtype == torch.float32
    torch.testing.assert_close(found, wanted, rtol=0, atol=0.02)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32])
def test_ends_of_a_short_type_are_ends(dtype):
    made, g = block(), graph()
    short = g._replace(senders=g.senders.to(dtype), receivers=g.receivers.to(dtype))
    for one, other in zip(made(short), made(g), strict=True):
        assert torch.equal(one, other)

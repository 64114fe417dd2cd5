import pytest
import torch

from mechlearn_zoo.methods.worlds import RelationalForwardModel, next_action_losses, perfect_steps, relative_places
from mechlearn_zoo.nn.graphs import Graph, Widths, edges_to

IN = Widths(3, 2, 1)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def scene(agents=3, nodes=4, steps=5, seed=1):
    g = generator(seed)
    senders, receivers = edges_to(agents, nodes)
    places = torch.randn(2, steps, nodes, 2, dtype=torch.float64, generator=g)
    edges = relative_places(places, senders, receivers)
    top = torch.zeros(2, steps, 1, dtype=torch.float64)
    return Graph(places, edges, top, senders, receivers)


def model(recurrent=True):
    return RelationalForwardModel(IN, 5, 6, generator(), recurrent).double()


def test_steps_one_by_one_and_going_on_are_the_same():
    graph, made = scene(), model()
    whole = made(graph, 3)
    assert whole.logits.shape == (2, 5, 3, 5)
    state, found = None, []
    for t in range(5):
        step = graph._replace(
            nodes=graph.nodes[:, t : t + 1], edges=graph.edges[:, t : t + 1], globals=graph.globals[:, t : t + 1]
        )
        predicted = made(step, 3, state)
        state = predicted.state
        found.append(predicted.logits)
    torch.testing.assert_close(torch.cat(found, 1), whole.logits, rtol=0, atol=1e-13)
    torch.testing.assert_close(state.nodes, whole.state.nodes, rtol=0, atol=1e-13)


@pytest.mark.parametrize("recurrent", [True, False])
def test_what_comes_later_is_not_seen(recurrent):
    graph, made = scene(), model(recurrent)
    later = graph.nodes.clone()
    later[:, 3:] += 1
    one, other = made(graph, 3).logits, made(graph._replace(nodes=later), 3).logits
    torch.testing.assert_close(one[:, :3], other[:, :3], rtol=0, atol=0)
    assert not torch.allclose(one[:, 3:], other[:, 3:])
    earlier = graph.nodes.clone()
    earlier[:, 0] += 1
    remembered = not torch.equal(made(graph._replace(nodes=earlier), 3).logits[:, 4], one[:, 4])
    assert remembered == recurrent


def test_agents_can_be_more_and_are_renamed_with_their_places():
    made = model()
    assert made(scene(5, 9), 5).logits.shape == (2, 5, 5, 5)
    graph = scene(3, 4)
    order = torch.tensor([2, 0, 1, 3])
    senders, receivers = edges_to(3, 4)
    places = graph.nodes[:, :, order]
    renamed = Graph(places, relative_places(places, senders, receivers), graph.globals, senders, receivers)
    one, other = made(graph, 3).logits, made(renamed, 3).logits
    torch.testing.assert_close(other, one[:, :, order[:3]], rtol=0, atol=1e-12)


def test_losses_perfect_steps_and_places():
    logits = torch.eye(3)[torch.tensor([[[0, 1], [2, 2], [1, 1]]])] * 5
    actions = torch.tensor([[[0, 1], [2, 0], [1, 1]]])
    assert perfect_steps(logits, actions).tolist() == [1]
    assert perfect_steps(logits, logits.argmax(-1)).tolist() == [3]
    each = -logits.log_softmax(-1)
    wanted = sum(float(each[0, t, n, actions[0, t, n]]) for t in range(3) for n in range(2)) / 6
    assert float(next_action_losses(logits, actions)) == pytest.approx(wanted)
    places = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    assert relative_places(places, *edges_to(1, 2)).tolist() == [[3.0, 4.0, 5.0]]


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    with pytest.raises(ValueError, match="Agents come first"):
        model()(scene(), 5)
    with pytest.raises(ValueError, match="Add axes"):
        model()(scene()._replace(nodes=torch.zeros(4, 2)), 3)
    with pytest.raises(ValueError, match="`actions` should be at least 2"):
        RelationalForwardModel(IN, 1, 6, generator())
    with pytest.raises(ValueError, match="b, t, agents"):
        perfect_steps(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 2, dtype=torch.long))
    with pytest.raises(ValueError, match="n, 2"):
        relative_places(torch.zeros(3, 3), *edges_to(1, 3))


@pytest.mark.usefixtures("as_installed")
def test_what_is_not_finite_empty_or_no_action_is_refused():
    g = scene()
    for name in ("nodes", "edges", "globals"):
        with pytest.raises(ValueError, match=rf"`graph\.{name}` should be finite\. Found nan.*Leave such windows out"):
            model()(g._replace(**{name: getattr(g, name) * torch.nan}), 3)
    with pytest.raises(ValueError, match=r"`Nodes` should have the shape \(b, t, n, width\). Found \(0, "):
        model()(g._replace(nodes=g.nodes[:0], edges=g.edges[:0], globals=g.globals[:0]), 3)
    with pytest.raises(TypeError, match="`agents` should be a whole number"):
        model()(g, 1.5)
    logits, actions = torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, dtype=torch.long)
    for function in (next_action_losses, perfect_steps):
        with pytest.raises(TypeError, match="`logits` should hold data"):
            function(logits.to("meta"), actions)
        with pytest.raises(ValueError, match=r"`actions` should be numbers from 0 to 3\. Found 4 to 4"):
            function(logits, actions + 4)
        with pytest.raises(TypeError, match="`actions` should hold whole numbers"):
            function(logits, actions.float())
    with pytest.raises(ValueError, match=r"`logits` should be finite\. Found nan at \(0, 0, 0, 0\)"):
        next_action_losses(logits * torch.nan, actions)
    with pytest.raises(ValueError, match="`logits` should be numbers, minus infinity for some"):
        perfect_steps(logits * torch.nan, actions)
    masked = logits.masked_fill(torch.arange(4) == 2, -torch.inf)  # an action that is not allowed
    assert perfect_steps(masked, actions).tolist() == [2]
    assert next_action_losses(masked, actions).isfinite().all()
    with pytest.raises(ValueError, match="`senders` should be numbers from 0 to 2"):
        relative_places(torch.zeros(3, 2), torch.tensor([3]), torch.tensor([0]))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8])
def test_actions_of_a_short_type_are_actions(dtype):
    logits = torch.randn(2, 3, 1, 4, generator=generator())
    actions = torch.randint(0, 4, (2, 3, 1), generator=generator(1))
    assert torch.equal(next_action_losses(logits, actions.to(dtype)), next_action_losses(logits, actions))
    places, ends = torch.randn(3, 2, generator=generator()), torch.tensor([0, 2])
    assert torch.equal(relative_places(places, ends.to(dtype), ends.to(dtype)), relative_places(places, ends, ends))

"""What the analysis says of every value of a traced graph, tried out: one row is changed, and no other row may move."""

import os

import pytest
import torch
from torch.fx import Interpreter

from compiled_oracles import assert_step
from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.compiled import marks, rewriting
from mechlearn.agreement.compiled.tags import Free, Row
from traced_models import CASES, made, random_case, scattered

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

ROWS, CHANGED = 12, 5

MANY = int(os.environ.get("MECHLEARN_TRACED", "0"))
"""How many random networks to try beside a few; minutes for a hundred."""

LOOKED_AT = (
    list(CASES)
    if MANY
    else ["pieces", "class token and positions", "convolutions in one dimension", "gradient penalty of strides"]
)


class Values(Interpreter):
    """Runs a graph and keeps every value."""

    def __init__(self, module):
        super().__init__(module, garbage_collect_values=False)
        self.values = {}

    def run_node(self, node):
        found = super().run_node(node)
        if "empty" in str(node.target):  # what is in it differs from run to run, and is read by nobody
            found = torch.zeros_like(found)
        self.values[node] = found
        return found


def number(size):
    return size.node.hint if isinstance(size, torch.SymInt) else size


def drawn(node, seed):
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor):
        return number(value)
    shape, generator = [number(size) for size in value.shape], torch.Generator().manual_seed(seed)
    if value.is_floating_point():
        return torch.randn(shape, generator=generator, dtype=value.dtype)
    return torch.randint(0, 4, shape, generator=generator).to(value.dtype)


def assert_sound(module, tags):
    """Run the graph twice, with one row of every marked input another one; return how many values with rows there were."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    by_row = {node.args[0] for node in module.graph.nodes if node.target in (marks.ROWS, marks.TANGENT)}
    first = [drawn(node, seed) for seed, node in enumerate(inputs)]
    second = [value.clone() if isinstance(value, torch.Tensor) else value for value in first]
    for place, node in enumerate(inputs):
        if node in by_row:
            second[place][CHANGED] = drawn(node, 1000 + place)[CHANGED]
    runs = []
    for values in (first, second):
        torch.manual_seed(0)
        one = Values(module)
        one.run(*values)
        runs.append(one.values)
    count = 0
    for node, tag in tags.items():
        one, other = (run.get(node) for run in runs)
        if not isinstance(one, torch.Tensor) or node in by_row:
            continue
        if isinstance(tag, Row):
            count += 1
            whole = one.shape[tag.dim] // (ROWS * int(tag.post))
            one, other = (v.unflatten(tag.dim, (whole, ROWS, int(tag.post))).movedim(tag.dim + 1, 0) for v in (one, other))
            others = torch.arange(ROWS) != CHANGED
            torch.testing.assert_close(other[others], one[others], rtol=1e-12, atol=1e-12, equal_nan=True, msg=f"{node}: {tag}")
        elif isinstance(tag, Free):
            torch.testing.assert_close(other, one, rtol=0, atol=0, equal_nan=True, msg=f"{node}: {tag}")
            for dim in range(one.dim()) if tag.flat is None else tag.flat:
                alike = one.narrow(dim, 0, 1).expand_as(one) if one.numel() else one
                torch.testing.assert_close(alike, one, rtol=1e-12, atol=1e-12, equal_nan=True, msg=f"{node}: {tag}")
            assert not (tag.zero and one.any()), node
    return count


@pytest.fixture
def traced(monkeypatch):
    """Graphs and tags that a step's traces bring forth, before they are rewritten."""
    found = []
    original = rewriting.analysed

    def keep(graph, rows):
        tags = original(graph, rows)
        copied, nodes = torch.fx.Graph(), {}
        copied.output(copied.graph_copy(graph, nodes))
        own = {nodes[node]: tag for node, tag in tags.items() if node in nodes}
        for node, other in nodes.items():
            other.meta = dict(node.meta)
        found.append((torch.fx.GraphModule(torch.nn.Module(), copied), own))
        return tags

    monkeypatch.setattr(rewriting, "analysed", keep)
    return found


@pytest.mark.parametrize("name", LOOKED_AT)
def test_no_row_moves_another(name, traced):
    model, losses_of, batch = made(name)
    step = Agreement(model, AndMask(0.6)).compile(losses_of, backend="aot_eager")
    step(*batch(ROWS), environments=scattered(ROWS, 3))
    assert step.reason is None
    ((module, tags),) = traced
    assert assert_sound(module, tags) > 10


@pytest.mark.parametrize("case", range(3 + MANY))
@pytest.mark.filterwarnings("ignore:The losses should be traced", "ignore:.*one backward pass for each environment")
def test_networks_at_random(case, traced):
    model, losses_of, batch = random_case(case)
    step = Agreement(model, AndMask(0.6)).compile(losses_of, backend="aot_eager")
    assert_step(step, model, losses_of, batch(ROWS, case), scattered(ROWS, 2 + case % 4, case), served=False)
    assert len(traced) == 1
    assert_sound(*traced[0])
    # The second derivative of a convolution contracts rows as if they were channels.
    assert step.reason is None or "aten.convolution.default" in step.reason

"""Reads taken from a small graph by hand, and the literal oracle: one `torch.autograd.grad` for each environment."""

import torch
from torch.autograd.graph import GradientEdge

from mechlearn.agreement.engine import layers as reading
from mechlearn.agreement.engine.analysis.rows import Read, Rows
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.environments import partition

NEEDS = frozenset({"sign", "square", "log_magnitude"})
IDS = {
    "equal": [0, 0, 1, 1, 2, 2],
    "unequal": [0, 0, 0, 1, 2, 2],
    "mixed": [2, 0, 1, 0, 2, 2],
    "mixed, equal": [2, 0, 1, 0, 2, 1],
    "single": [0, 1, 2, 3, 4, 5],
}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, dtype=torch.float64, generator=seeded(seed)).to(dtype)


def losses_of(output):
    readout = draw(output[0].numel(), seed=9, dtype=output.dtype)
    return (output.flatten(1) @ readout - 1) ** 2


def parameter(*shape, seed=1, dtype=torch.float64):
    return torch.nn.Parameter(draw(*shape, seed=seed, dtype=dtype))


def leaf(*shape, seed=2, dtype=torch.float64):
    return draw(*shape, seed=seed, dtype=dtype).requires_grad_()


def free(node, inputs, known, at):
    """Whether no input of the step lies below a node."""
    if node not in known:
        known[node] = (
            node.name() not in at
            and id(getattr(node, "variable", None)) not in inputs
            and all(free(child, inputs, known, at) for child, _ in node.next_functions if child is not None)
        )
    return known[node]


def rows_of(node, rows):
    """`rows` is one for all nodes, or by their names, or by the nodes themselves."""
    return rows if isinstance(rows, Rows) else rows[node if node in rows else node.name()]


def reads_of(losses, parameters, inputs, rows, at=()):
    """Find the reads of parameters: slots of nodes that depend on inputs, below which no input lies.

    `rows` is that of every read's node, see `rows_of`; `at` names further nodes that read.
    """
    names, data = {id(p): name for name, p in parameters.items()}, {id(x) for x in inputs}
    known, found, stack, seen = {}, [], [losses.grad_fn], set()
    while stack:
        node = stack.pop()
        for slot, (child, _) in enumerate(node.next_functions):
            if child is None:
                continue
            if not free(node, data, known, at) and free(child, data, known, at):
                chain, below = [], child
                while getattr(below, "variable", None) is None:
                    chain.append(below)
                    below = below.next_functions[0][0]
                name = names[id(below.variable)]
                found.append(Read(name, node, slot, rows_of(node, rows), tuple(chain)))
            elif child not in seen:
                seen.add(child)
                stack.append(child)
    return found


def sums_of(losses, ids, found, parameters, needs=NEEDS, compiled=None):
    """Add every environment's gradient as the backward pass would, node by node."""
    groups = partition(ids, len(losses), losses.device)
    total = (losses * groups.mean_weights(losses)).sum()
    by_node = {}
    for read in found:
        by_node.setdefault(read.node, []).append(read)
    uses = {name: [] for name in parameters}
    for node, some in by_node.items():
        outputs = len(node._input_metadata)
        edges = [GradientEdge(node, n) for n in range(outputs)]
        deltas = torch.autograd.grad(total, edges, retain_graph=True, allow_unused=True)
        with torch.no_grad():
            taken = reading.take(some, some[0].node, deltas if outputs > 1 else deltas[0], groups)
        for read, use in zip(some, taken, strict=True):
            uses[read.name].append(use)
    sums = {name: RunningSums(parameter, needs, compiled) for name, parameter in parameters.items()}
    with torch.no_grad():
        for name in parameters:
            reading.add(uses[name], sums[name])
    return sums


def assert_exact(losses, ids, parameters, inputs, rows=None, at=(), needs=NEEDS, compiled=None, share=0.9):
    """Compare sums of gradients, signs, squares and logarithms with the literal ones."""
    rows = Rows(0) if rows is None else rows
    found = reads_of(losses, parameters, inputs, rows, at)
    assert {read.name for read in found} == set(parameters)
    assert [reading.covers(read) for read in found] == [None] * len(found)
    sums = sums_of(losses, ids, found, parameters, needs, compiled)
    groups = partition(ids, len(losses), losses.device)
    grouped = groups.grouped(losses)
    stacks = {name: [] for name in parameters}
    for some in groups.slices():
        gradients = torch.autograd.grad(grouped[some].mean(), list(parameters.values()), retain_graph=True, allow_unused=True)
        for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
            stacks[name].append(torch.zeros_like(parameter) if gradient is None else gradient)
    for name, rows_ in stacks.items():
        stack = torch.stack(rows_).double()
        size = float(stack.abs().max())
        error = 1e-12 if losses.dtype == torch.float64 else 2e-5
        statistics = sums[name].statistics()
        assert statistics.environments == groups.count
        assert statistics.gradient.shape == parameters[name].shape
        torch.testing.assert_close(statistics.gradient.double(), stack.sum(0), rtol=error, atol=error * size * len(stack))
        clear = ((stack == 0) | (stack.abs() > error * size)).all(0)
        assert float(clear.double().mean()) >= share, "the case says little"
        if "sign" in needs:
            assert torch.equal(statistics.sign.double()[clear], stack.sign().sum(0)[clear])
        if "square" in needs:
            squares = stack.square().sum(0)
            torch.testing.assert_close(statistics.square.double(), squares, rtol=error, atol=error * size**2 * len(stack))
        if "log_magnitude" in needs:
            logarithms = stack.abs().log().sum(0)
            tolerance = 1e-6 if losses.dtype == torch.float64 else 1e-1
            torch.testing.assert_close(
                statistics.log_magnitude.double()[clear], logarithms[clear], rtol=tolerance, atol=tolerance
            )
    return found

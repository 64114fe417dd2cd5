"""The fused LSTM of a CPU: one opaque node a layer and direction, whose gates are found again from what it saved.

Its hidden states at every step are its output, and its gates are in what it keeps for itself, or else one product of matrices.
What comes back through the gates is propagated through time once for the whole batch. The weights' gradients are then products
of what comes back and what went in, as for a linear layer with one position a step.

Index conventions: t a step of T, b an example of B, h a hidden unit of H; gates in torch's order: input, forget, cell, output.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import Read
from mechlearn.agreement.engine.analysis.saved import saved
from mechlearn.agreement.engine.layers import gates
from mechlearn.agreement.engine.layers.gates import Past
from mechlearn.agreement.engine.layers.gradual import Spread
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.products import Products
from mechlearn.agreement.engine.layers.terms import Stacked, Term

INPUT_WEIGHT, HIDDEN_WEIGHT = 1, 2
"""What the node reads beside its input; then come two biases, if there are any, and the first states."""

LSTM_MODE = 2
"""torch's number for the kind of the recurrent layer."""


class Incoming(NamedTuple):
    """Gradients of what the node returned: (T, B, H) of all hidden states, (B, H) of the last hidden and cell state."""

    states: Tensor | None
    hidden: Tensor | None
    cell: Tensor | None


class Outgoing(NamedTuple):
    """Gradients with respect to the gates before their nonlinearities: (T, B, 4 H), and their sum over steps (B, 4 H)."""

    each: Float[Tensor, "t b g"]
    total: Float[Tensor, "b g"]


def take(node: Node, slots: Sequence[int], delta: tuple[Tensor | None, ...], layout: Layout) -> list[Term]:
    """Return the terms of a fused LSTM layer's weights and biases."""
    past = _past(node)
    return _terms(past, _through_time(node, past, delta), slots, layout)


def why_not(read: Read) -> str | None:
    """Say why a fused recurrent layer has no formula."""
    node = read.node
    if saved(node, "mode") != LSTM_MODE or saved(node, "batch_sizes") or read.rows.dim != 1:
        return "is a fused recurrent layer other than an LSTM on sequences of one length"
    return None if read.slot in range(1, 5) else "is the first state of a fused LSTM"


def _turned(steps: Tensor, backwards: bool) -> Tensor:
    """Return steps in the order in which the layer takes them."""
    return steps.flip(0) if backwards else steps


def _terms(past: Past, deltas: Outgoing, slots: Sequence[int], layout: Layout) -> list[Term]:
    terms: list[Term] = []
    for slot in slots:
        if slot == INPUT_WEIGHT:
            terms.append(_products(deltas.each, past.inputs, layout))
        elif slot == HIDDEN_WEIGHT:
            silent = not past.hidden.any() and deltas.each[0].isfinite().all()  # the first step adds nothing, as usual
            if silent and len(deltas.each) > 1:
                terms.append(_products(deltas.each[1:], past.states[:-1], layout))
            else:
                terms.append(_products(deltas.each, torch.cat([past.hidden[None], past.states[:-1]]), layout))
        else:
            terms.append(Stacked(layout.sums(deltas.total, 0)))
    return terms


def _products(left: Float[Tensor, "t b o"], right: Float[Tensor, "t b i"], layout: Layout) -> Term:
    """Return the products of what came back and what went in; step by step as they lie where environments are adjacent."""
    if layout.groups.order is None and layout.equal and layout.rows[1:] == (1, 1, None):
        return Spread(left, right, layout.count)
    sizes = [size * len(left) for size in layout.sizes]
    left, right = (layout.grouped(factor, 1).flatten(0, 1) for factor in (left, right))
    return Products(left, right, sizes)


def _past(node: Node) -> Past:
    """Return what went into a layer and came out of it."""
    inputs, states = (_turned(saved(node, name), bool(saved(node, "reverse"))) for name in ("input", "result0"))
    weights = [saved(node, f"weight{n}") for n in range(4 if saved(node, "has_biases") else 2)]
    shape = states.shape[1:]
    return Past(inputs, states, saved(node, "hx_").reshape(shape), saved(node, "cx_").reshape(shape), weights)


def _through_time(node: Node, past: Past, delta: tuple[Tensor | None, ...]) -> Outgoing:
    """Propagate what comes back through time, with the gates that were kept if they can be told to be that."""
    of_states, of_hidden, of_cell = delta
    turned = None if of_states is None else _turned(of_states, bool(saved(node, "reverse")))
    arriving = Incoming(turned, of_hidden, of_cell)
    left = gates.kept(past, saved(node, "result3"))
    found = None if left is None else _propagated(past, arriving, left, doubted=True)
    if found is None:
        found = _propagated(past, arriving, gates.opened(past), doubted=False)
    assert found is not None  # nothing was doubted
    return found


def _propagated(past: Past, delta: Incoming, opened: Float[Tensor, "t b 4 h"], *, doubted: bool) -> Outgoing | None:
    """Return the gradients with respect to the gates; None where a layer's states do not follow from gates in doubt."""
    cells = gates.cells(past, opened)
    steps, examples, size = past.states.shape
    # Each example's steps adjacent, so that an environment's rows are: written once, while a block is in cache.
    each = cells.new_empty(examples, steps, 4, size)
    total = cells.new_zeros(examples, 4, size)
    scratch = cells.new_empty(min(past.block, steps), examples, 4, size)
    back = _start(delta, total[:, 0])
    for first in reversed(range(0, steps, past.block)):
        some = slice(first, min(first + past.block, steps))
        squashed = cells[first + 1 : some.stop + 1].tanh()
        if doubted and not gates.close(squashed * opened[some, :, 3], past.states[some]):
            return None
        factors = scratch[: len(squashed)]
        through = _factors(opened[some], cells[some], squashed, factors)
        arriving = None if delta.states is None else delta.states[some]
        back = _step_back(back, arriving, factors, through, (opened[some, :, 1], past.weights[1]))
        total += factors.sum(0)
        each[:, some] = factors.transpose(0, 1)
    return Outgoing(each.flatten(2).transpose(0, 1), total.flatten(1))


def _start(delta: Incoming, like: Float[Tensor, "b h"]) -> tuple[Tensor, Tensor]:
    """Return the gradients of the last hidden and cell state."""
    hidden, cell = (torch.zeros_like(like) if found is None else found.reshape(like.shape) for found in delta[1:])
    return hidden, cell


def _step_back(
    back: tuple[Tensor, Tensor],
    arriving: Float[Tensor, "t b h"] | None,
    factors: Float[Tensor, "t b 4 h"],
    through: Float[Tensor, "t b h"],
    on: tuple[Float[Tensor, "t b h"], Float[Tensor, "g h"]],
) -> tuple[Tensor, Tensor]:
    """Take a block's steps back: factors become gradients. Return those of the hidden and cell state before the block.

    Args:
        back: (B, H) each, of the hidden and cell state after the block.
        arriving: what the block's hidden states receive from elsewhere.
        factors: what each gate's gradient takes from the cell's, and the last one's from the state's.
        through: what the cell's gradient takes from the state's.
        on: forget gates and hidden weight, by which gradients go on.
    """
    hidden, cell = back
    forget, of_hidden = on
    for t in reversed(range(len(factors))):
        state = hidden if arriving is None else hidden + arriving[t]
        cell = torch.addcmul(cell, state, through[t])
        factors[t, :, :3] *= cell[:, None]
        factors[t, :, 3] *= state
        hidden = factors[t].flatten(1) @ of_hidden
        cell = cell * forget[t]
    return hidden, cell


def _factors(
    opened: Float[Tensor, "t b 4 h"],
    before: Float[Tensor, "t b h"],
    squashed: Float[Tensor, "t b h"],
    factors: Float[Tensor, "t b 4 h"],
) -> Float[Tensor, "t b h"]:
    """Write what each gate's gradient takes from the cell's, the last one's from the state's; return what the cell's does."""
    (entry, forget, candidate, exit_), parts = opened.unbind(2), factors.unbind(2)
    torch.ops.aten.sigmoid_backward.grad_input(candidate, entry, grad_input=parts[0])
    torch.ops.aten.sigmoid_backward.grad_input(before, forget, grad_input=parts[1])
    torch.ops.aten.tanh_backward.grad_input(entry, candidate, grad_input=parts[2])
    torch.ops.aten.sigmoid_backward.grad_input(squashed, exit_, grad_input=parts[3])
    return torch.ops.aten.tanh_backward(exit_, squashed)

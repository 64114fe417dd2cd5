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

from craik.agreement.onepass.proof.rows import Read
from craik.agreement.onepass.proof.saved import saved
from craik.agreement.onepass.reads.gates import Gates, Past, find
from craik.agreement.onepass.reads.gradual import Spread
from craik.agreement.onepass.reads.layout import Layout
from craik.agreement.onepass.reads.products import Products
from craik.agreement.onepass.reads.terms import CHUNK_ELEMENTS, Stacked, Term, chunk_length

INPUT_WEIGHT, HIDDEN_WEIGHT = 1, 2
"""What the node reads beside its input; then come two biases, if there are any, and the first states."""

LSTM_MODE = 2
"""torch's number for the kind of the recurrent layer."""


class Incoming(NamedTuple):
    """Gradients of what the node returned: (T, B, H) of all hidden states, (B, H) of the last hidden and cell state."""

    states: Tensor | None
    hidden: Tensor | None
    cell: Tensor | None


def take(node: Node, slots: Sequence[int], delta: tuple[Tensor | None, ...], layout: Layout) -> list[Term]:
    """Return the terms of a fused LSTM layer's weights and biases."""
    past, deltas = _through_time(node, delta)
    return _terms(past, deltas, slots, layout)


def why_not(read: Read) -> str | None:
    """Say why a fused recurrent layer has no formula."""
    node = read.node
    if saved(node, "mode") != LSTM_MODE or saved(node, "batch_sizes") or read.rows.dim != 1:
        return "is a fused recurrent layer other than an LSTM on sequences of one length"
    return None if read.slot in range(1, 5) else "is the first state of a fused LSTM"


def _through_time(node: Node, delta: tuple[Tensor | None, ...]) -> tuple[Past, Float[Tensor, "t b g"]]:
    """Return what went in and the gradients with respect to the gates, steps in the order in which the layer takes them."""
    backwards = bool(saved(node, "reverse"))
    inputs, states = (_turned(saved(node, name), backwards) for name in ("input", "result0"))
    weights = [saved(node, f"weight{n}") for n in range(4 if saved(node, "has_biases") else 2)]
    size = states.shape[1:]
    past = Past(inputs, states, saved(node, "hx_").reshape(size), saved(node, "cx_").reshape(size), weights)
    of_states, of_hidden, of_cell = delta
    arriving = Incoming(None if of_states is None else _turned(of_states, backwards), of_hidden, of_cell)
    return past, _deltas(find(past, saved(node, "result3")), weights[1], arriving)


def _turned(steps: Tensor, backwards: bool) -> Tensor:
    """Return steps in the order in which the layer takes them, or takes them back."""
    return steps.flip(0) if backwards else steps


def _terms(past: Past, deltas: Float[Tensor, "t b g"], slots: Sequence[int], layout: Layout) -> list[Term]:
    gradually = layout.groups.order is None and layout.equal and layout.rows[1:] == (1, 1, None)
    sizes = [size * len(deltas) for size in layout.sizes]
    grouped = deltas if gradually else layout.grouped(deltas, 1).flatten(0, 1)
    shifted = deltas.sum(0)
    terms: list[Term] = []
    for slot in slots:
        if slot not in (INPUT_WEIGHT, HIDDEN_WEIGHT):
            terms.append(Stacked(layout.sums(shifted, 0)))
            continue
        went_in = past.inputs if slot == INPUT_WEIGHT else past.before
        if gradually:
            terms.append(Spread(grouped, went_in, layout.count))
        else:
            terms.append(Products(grouped, layout.grouped(went_in, 1).flatten(0, 1), sizes))
    return terms


def _deltas(gates: Gates, of_hidden: Float[Tensor, "g h"], delta: Incoming) -> Float[Tensor, "t b g"]:
    """Return the gradients with respect to the gates before their nonlinearities."""
    steps, examples, size = gates.squashed.shape
    deltas = gates.squashed.new_empty(steps, examples, 4 * size)
    zero = deltas.new_zeros(examples, size)
    hidden = zero if delta.hidden is None else delta.hidden.reshape(zero.shape)
    cell = zero if delta.cell is None else delta.cell.reshape(zero.shape)
    found, forget = deltas.unflatten(-1, (4, size)), gates.opened[:, :, 1]
    length = chunk_length(examples * 4 * size, CHUNK_ELEMENTS)  # so many steps stay in a cache
    for first in reversed(range(0, steps, length)):
        some = slice(first, first + length)
        through = _factors(gates, some, found[some])
        for t in reversed(range(first, first + len(through))):
            state = hidden if delta.states is None else hidden + delta.states[t]
            cell = torch.addcmul(cell, state, through[t - first])
            found[t, :, :3] *= cell[:, None]
            found[t, :, 3] *= state
            if t:  # what goes back to the first states is nobody's
                hidden = deltas[t] @ of_hidden
                cell = cell * forget[t]
    return deltas


def _factors(gates: Gates, some: slice, factors: Float[Tensor, "t b 4 h"]) -> Float[Tensor, "t b h"]:
    """Write what each gate's gradient takes from the cell's, the last one's from the state's; return what the cell's does."""
    entry, forget, candidate, exit_ = gates.opened[some].unbind(2)
    squashed, parts = gates.squashed[some], factors.unbind(2)
    torch.ops.aten.sigmoid_backward.grad_input(candidate, entry, grad_input=parts[0])
    torch.ops.aten.sigmoid_backward.grad_input(gates.cells[some], forget, grad_input=parts[1])
    torch.ops.aten.tanh_backward.grad_input(entry, candidate, grad_input=parts[2])
    torch.ops.aten.sigmoid_backward.grad_input(squashed, exit_, grad_input=parts[3])
    return torch.ops.aten.tanh_backward(exit_, squashed)

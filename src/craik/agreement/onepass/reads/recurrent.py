"""The fused LSTM of a CPU: one opaque node a layer and direction, whose gates are worked out again from what it saved.

Its hidden states at every step are its output, so that all gates of all steps are one product of matrices; what comes back
through the gates is propagated through time once for the whole batch. The weights' gradients are then products of what comes
back and what went in, as for a linear layer with one position a step.

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
from craik.agreement.onepass.reads.layout import Layout
from craik.agreement.onepass.reads.products import Products
from craik.agreement.onepass.reads.terms import Stacked, Term

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
    backwards = bool(saved(node, "reverse"))
    inputs, states = (_turned(saved(node, name), backwards) for name in ("input", "result0"))
    first = saved(node, "hx_").reshape(1, *states.shape[1:])
    before = torch.cat([first, states[:-1]])
    of_states, of_hidden, of_cell = delta
    arriving = Incoming(None if of_states is None else _turned(of_states, backwards), of_hidden, of_cell)
    gates = _deltas(node, inputs, before, arriving)
    grouped = layout.grouped(gates, 1).flatten(0, 1)
    sizes = [size * len(gates) for size in layout.sizes]
    shifted = gates.sum(0)
    terms: list[Term] = []
    for slot in slots:
        if slot in (INPUT_WEIGHT, HIDDEN_WEIGHT):
            went_in = layout.grouped(inputs if slot == INPUT_WEIGHT else before, 1).flatten(0, 1)
            terms.append(Products(grouped, went_in, sizes))
        else:
            terms.append(Stacked(layout.sums(shifted, 0)))
    return terms


def _turned(steps: Tensor, backwards: bool) -> Tensor:
    """Return steps in the order in which the layer takes them."""
    return steps.flip(0) if backwards else steps


def why_not(read: Read) -> str | None:
    """Say why a fused recurrent layer has no formula."""
    node = read.node
    if saved(node, "mode") != LSTM_MODE or saved(node, "batch_sizes") or read.rows.dim != 1:
        return "is a fused recurrent layer other than an LSTM on sequences of one length"
    return None if read.slot in range(1, 5) else "is the first state of a fused LSTM"


def _deltas(
    node: Node, inputs: Float[Tensor, "t b i"], before: Float[Tensor, "t b h"], delta: Incoming
) -> Float[Tensor, "t b g"]:
    """Return the gradients with respect to the gates before their nonlinearities."""
    of_input, of_hidden, *biases = (saved(node, f"weight{n}") for n in range(4 if saved(node, "has_biases") else 2))
    shift = biases[0] + biases[1] if biases else inputs.new_zeros(len(of_input))
    flat = torch.addmm(shift, inputs.flatten(0, 1), of_input.T).addmm_(before.flatten(0, 1), of_hidden.T)
    gates = flat.unflatten(0, inputs.shape[:2])
    steps, size = len(inputs), before.shape[-1]
    entry, forget, candidate, exit_ = gates.chunk(4, -1)
    for gate in (entry, forget, exit_):
        gate.sigmoid_()
    candidate.tanh_()
    cells = torch.empty(steps + 1, *before.shape[1:], dtype=gates.dtype, device=gates.device)
    cells[0] = saved(node, "cx_").reshape(before.shape[1:])
    for t in range(steps):
        torch.mul(forget[t], cells[t], out=cells[t + 1]).addcmul_(entry[t], candidate[t])
    squashed = cells[1:].tanh()
    # What each gate's gradient takes from the cell's, and the last one's from the state's: formed for all steps at once.
    through = torch.ops.aten.tanh_backward(exit_, squashed)
    factors = torch.empty_like(gates)
    parts = factors.chunk(4, -1)
    torch.ops.aten.sigmoid_backward.grad_input(candidate, entry, grad_input=parts[0])
    torch.ops.aten.sigmoid_backward.grad_input(cells[:-1], forget, grad_input=parts[1])
    torch.ops.aten.tanh_backward.grad_input(entry, candidate, grad_input=parts[2])
    torch.ops.aten.sigmoid_backward.grad_input(squashed, exit_, grad_input=parts[3])
    found = factors.unflatten(-1, (4, size))
    zero = torch.zeros_like(cells[0])
    hidden = zero if delta.hidden is None else delta.hidden.reshape(zero.shape)
    cell = zero if delta.cell is None else delta.cell.reshape(zero.shape)
    for t in reversed(range(steps)):
        state = hidden if delta.states is None else hidden + delta.states[t]
        cell = torch.addcmul(cell, state, through[t])
        found[t, :, :3] *= cell[:, None]
        found[t, :, 3] *= state
        hidden = factors[t] @ of_hidden
        cell = cell * forget[t]
    return factors

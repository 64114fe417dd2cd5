"""The gates of a fused LSTM: read from the memory in which its kernels left them, or else worked out again.

oneDNN keeps all gates of a forward pass for its own backward pass, in memory whose layout it does not promise. Working them out
again is a third of a plain step. So they are looked for where the releases that we know leave them, and what is found is taken
only if it proves itself on the call's own numbers: some units' gates, at every step and in every example, must be what inputs
and weights say (`kept`), and from the gates alone every hidden state must follow. Else all are worked out again.

Index conventions: t a step of T, b an example of B, h a hidden unit of H, i an input; gates in torch's order: input, forget,
cell, output.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS, chunk_length

CLOSE = 1e-3
"""How far what was kept may be off, relative to the largest: rounding is 1e-6 of it, another number as large as itself."""

LINE, ALIAS = 16, 256
"""Floats in a line of a cache, to which rows are padded; and one line more for rows of a multiple of these."""

UNITS = 4
"""So many hidden units' gates are compared."""

CENTRES = (0.5, 0.5, 0.0, 0.5)
"""What a gate is for weights of 0. Small weights leave it near there, and so would be a number from elsewhere."""


class Past(NamedTuple):
    """What went into a layer and came out of it, steps in the order in which the layer takes them.

    Attributes:
        inputs: (T, B, I).
        states: (T, B, H), hidden states after each step.
        hidden: (B, H), the hidden state before the first.
        cell: (B, H), the cell state before the first.
        weights: (4 H, I) of inputs, (4 H, H) of hidden states, and two biases (4 H,) if there are any.
    """

    inputs: Float[Tensor, "t b i"]
    states: Float[Tensor, "t b h"]
    hidden: Float[Tensor, "b h"]
    cell: Float[Tensor, "b h"]
    weights: list[Tensor]

    @property
    def block(self) -> int:
        """How many steps at a time stay in a cache with all their gates."""
        return chunk_length(4 * self.hidden.numel(), CHUNK_ELEMENTS)


def kept(past: Past, workspace: Tensor) -> Float[Tensor, "t b 4 h"] | None:
    """Return the gates that a layer's kernels left, not to be written to; None where there is no telling that they are that.

    Args:
        past: what went in and came out.
        workspace: what its kernels left for themselves.
    """
    steps, examples, size = past.states.shape
    row = -(-4 * size // LINE) * LINE
    row += LINE if row % ALIAS == 0 else 0
    needed = steps * examples * row * 4
    alike = past.states.dtype == torch.float32 and workspace.dtype == torch.uint8 and workspace.is_contiguous()
    if not alike or workspace.numel() < needed or workspace.storage_offset() % 4:
        return None
    rows = workspace.flatten()[:needed].view(torch.float32).view(steps, examples, row)
    gates = rows[..., : 4 * size].unflatten(-1, (4, size))
    last = slice(max(0, size - UNITS), size)
    pairs = zip(gates[..., last].unbind(2), opened(past, last).unbind(2), CENTRES, strict=True)
    return gates if all(close(found - centre, expected - centre) for found, expected, centre in pairs) else None


def opened(past: Past, units: slice = slice(None)) -> Float[Tensor, "t b 4 _"]:
    """Work out the gates of hidden units from inputs, hidden states and weights."""
    size, examples = past.states.shape[-1], len(past.hidden)
    of_input, of_hidden, *biases = (weight.unflatten(0, (4, size))[:, units].flatten(0, 1) for weight in past.weights)
    shift = biases[0] + biases[1] if biases else of_input.new_zeros(len(of_input))
    flat = torch.addmm(shift, past.inputs.flatten(0, 1), of_input.T)
    flat[:examples].addmm_(past.hidden, of_hidden.T)
    flat[examples:].addmm_(past.states[:-1].flatten(0, 1), of_hidden.T)
    gates = flat.view(-1, examples, 4, flat.shape[-1] // 4)
    for first in range(0, len(gates), past.block):
        some = gates[first : first + past.block]
        some[:, :, :2].sigmoid_()
        some[:, :, 2].tanh_()
        some[:, :, 3].sigmoid_()
    return gates


def cells(past: Past, gates: Float[Tensor, "t b 4 h"]) -> Float[Tensor, "t1 b h"]:
    """Return the cell states before the first step and after each, as they follow from gates."""
    found = gates.new_empty(len(gates) + 1, *past.cell.shape)
    found[0] = past.cell
    for first in range(0, len(gates), past.block):
        entry, forget, candidate, _ = gates[first : first + past.block].unbind(2)
        for t, new in enumerate(entry * candidate, first):
            torch.addcmul(new, forget[t - first], found[t], out=found[t + 1])
    return found


def close(found: Tensor, expected: Tensor) -> bool:
    """Tell whether no number is far off; of what is not finite it is not known."""
    return bool((found - expected).abs_().amax() <= CLOSE * expected.abs().amax())

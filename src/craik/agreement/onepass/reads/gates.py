"""The gates of a fused LSTM: read from the memory in which its kernels left them, or else worked out again.

oneDNN keeps all gates of a forward pass for its own backward pass, in memory whose layout it does not promise. Working them out
again is a third of a plain step. So they are looked for where the releases that we know leave them, and what is found is taken
only if it proves itself on the call's own numbers: from the gates alone every hidden state of every step must follow, and some
units of each gate, at every step and in every example, must be what inputs and weights say. Else all are worked out again.

Index conventions: t a step of T, b an example of B, h a hidden unit of H, i an input; gates in torch's order: input, forget,
cell, output.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

CLOSE = 1e-3
"""How far what was kept may be off, relative to the largest: rounding is 1e-6 of it, another number as large as itself."""

LINE, ALIAS = 16, 256
"""Floats in a line of a cache, to which rows are padded; and one line more for rows of a multiple of these."""

UNITS = 8
"""So many hidden units' gates are compared."""


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
    def before(self) -> Float[Tensor, "t b h"]:
        """The hidden states before each step."""
        return torch.cat([self.hidden[None], self.states[:-1]])


class Gates(NamedTuple):
    """What a layer computed at each step.

    Attributes:
        opened: (T, B, 4, H), gates after their nonlinearities; not to be written to.
        cells: (T, B, H), cell states before each step.
        squashed: (T, B, H), tanh of the cell states after each step.
    """

    opened: Float[Tensor, "t b 4 h"]
    cells: Float[Tensor, "t b h"]
    squashed: Float[Tensor, "t b h"]


def find(past: Past, workspace: Tensor) -> Gates:
    """Return a layer's gates.

    Args:
        past: what went in and came out.
        workspace: what its kernels left for themselves.
    """
    before = past.before
    opened = _kept(past, workspace)
    if opened is not None and _agrees(opened, _opened(past, before, _some(past)), _some(past)):
        gates = _followed(opened, past)
        reached = gates.squashed * opened[:, :, 3]
        if _close(reached, past.states):
            return gates
    return _followed(_opened(past, before), past)


def _kept(past: Past, workspace: Tensor) -> Float[Tensor, "t b 4 h"] | None:
    """Return what lies where gates are thought to lie: rows of all four, padded, at the workspace's front."""
    steps, examples, size = past.states.shape
    row = -(-4 * size // LINE) * LINE
    row += LINE if row % ALIAS == 0 else 0
    needed = steps * examples * row * 4
    alike = past.states.dtype == torch.float32 and workspace.dtype == torch.uint8 and workspace.is_contiguous()
    if not alike or workspace.numel() < needed or workspace.storage_offset() % 4:
        return None
    rows = workspace.flatten()[:needed].view(torch.float32).view(steps, examples, row)
    return rows[..., : 4 * size].unflatten(-1, (4, size))


def _some(past: Past) -> slice:
    """Return hidden units at equal distances."""
    return slice(None, None, -(-past.states.shape[-1] // UNITS))


def _opened(past: Past, before: Float[Tensor, "t b h"], units: slice = slice(None)) -> Float[Tensor, "t b 4 _"]:
    """Work out the gates of hidden units from inputs, hidden states and weights."""
    size = past.states.shape[-1]
    of_input, of_hidden, *biases = (weight.unflatten(0, (4, size))[:, units].flatten(0, 1) for weight in past.weights)
    shift = biases[0] + biases[1] if biases else of_input.new_zeros(len(of_input))
    flat = torch.addmm(shift, past.inputs.flatten(0, 1), of_input.T).addmm_(before.flatten(0, 1), of_hidden.T)
    opened = flat.view(*before.shape[:2], 4, -1)
    opened[:, :, :2].sigmoid_()
    opened[:, :, 2].tanh_()
    opened[:, :, 3].sigmoid_()
    return opened


def _agrees(opened: Float[Tensor, "t b 4 h"], expected: Float[Tensor, "t b 4 _"], units: slice) -> bool:
    """Tell whether the gates of some hidden units are what they must be, each gate by its own scale."""
    found = opened[..., units]
    middle = 0.5  # of a sigmoid: small weights leave its gates there, and a number from elsewhere would look like them
    sigmoids = all(_close(found[:, :, gate] - middle, expected[:, :, gate] - middle) for gate in (0, 1, 3))
    return sigmoids and _close(found[:, :, 2], expected[:, :, 2])


def _close(found: Tensor, expected: Tensor) -> bool:
    """Tell whether no number is far off; of what is not finite it is not known."""
    return bool((found - expected).abs_().amax() <= CLOSE * expected.abs().amax())


def _followed(opened: Float[Tensor, "t b 4 h"], past: Past) -> Gates:
    """Return gates with the cell states that follow from them."""
    entering = opened[:, :, 0] * opened[:, :, 2]
    cells = torch.empty(len(entering) + 1, *past.cell.shape, dtype=entering.dtype, device=entering.device)
    cells[0] = past.cell
    for before, after, kept, new in zip(cells[:-1], cells[1:], opened[:, :, 1], entering, strict=True):
        torch.addcmul(new, kept, before, out=after)
    return Gates(opened, cells[:-1], cells[1:].tanh())

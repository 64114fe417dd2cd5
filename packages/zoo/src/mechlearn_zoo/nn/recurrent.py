"""Recurrent layers, initialised from an explicit generator, and one step of them for loops that act in between.

`torch.nn.LSTM` does a whole sequence in one call; what acts, dreams or plans has one frame at a time. `lstm_step` is the same
arithmetic without the call's overhead, a third of the time at a hundred units.
"""

import math
from typing import NamedTuple, TypeVar, cast

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from mechlearn.arguments import check_floats, check_generator, check_kind, check_whole

Layer = TypeVar("Layer", bound=nn.RNNBase)


class Recurrent(NamedTuple):
    """The state of an LSTM: what it shows and what it keeps, (..., hidden) each."""

    shown: Float[Tensor, "*batch hidden"]
    kept: Float[Tensor, "*batch hidden"]


def lstm(inputs: int, hidden: int, generator: Generator) -> nn.LSTM:
    """Return one layer of an LSTM over (b, t, inputs), with torch's default initial weights.

    Args:
        inputs: features of a frame.
        hidden: units.
        generator: of the weights, uniform within 1 / sqrt(hidden).

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
        ValueError: sizes below 1.
    """
    _check(inputs, hidden, generator)
    return _drawn(nn.LSTM(inputs, hidden, batch_first=True, device="meta"), hidden, generator)


def gru(inputs: int, hidden: int, generator: Generator) -> nn.GRU:
    """Return one layer of a GRU over (b, t, inputs); see `lstm`."""
    _check(inputs, hidden, generator)
    return _drawn(nn.GRU(inputs, hidden, batch_first=True, device="meta"), hidden, generator)


def lstm_step(layer: nn.LSTM, x: Float[Tensor, "*batch inputs"], state: Recurrent) -> Recurrent:
    """Return the state after one frame.

    Args:
        layer: of one layer and one direction, with biases and without a projection, as `lstm` makes it.
        x: (..., inputs).
        state: (..., hidden) both parts.

    Raises:
        TypeError: no LSTM, no `Recurrent`, or numbers of another type than the layer's.
        ValueError: another kind of LSTM, other shapes. Values are not looked at: whoever starts a loop of steps does.
    """
    check_kind("layer", layer, nn.LSTM, "a torch.nn.LSTM")
    _check_single(layer)
    check_floats("x", x, "...", layer.input_size, like=cast(Tensor, layer.weight_hh_l0))
    check_state(layer, state, *x.shape[:-1])
    return stepped(layer, x, state)


def stepped(layer: nn.LSTM, x: Float[Tensor, "*batch inputs"], state: Recurrent) -> Recurrent:
    """Return what `lstm_step` does, for those who have looked at frame and state themselves."""
    shape = x.shape[:-1]
    flat = [part.reshape(-1, part.shape[-1]) for part in (x, *state)]
    weights = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
    shown, kept = torch.lstm_cell(flat[0], (flat[1], flat[2]), *(cast(Tensor, weight) for weight in weights))
    return Recurrent(shown.reshape(*shape, -1), kept.reshape(*shape, -1))


def check_state(layer: nn.LSTM, state: object, *batch: int) -> None:
    """Reject anything but a state of a layer for a batch."""
    check_kind("state", state, Recurrent, "a Recurrent(shown, kept)", way_out="Begin with at_rest(layer, batch).")
    if isinstance(state, Recurrent):
        for name, part in state._asdict().items():
            check_floats(f"state.{name}", part, *batch, layer.hidden_size, like=cast(Tensor, layer.weight_hh_l0))


def at_rest(layer: nn.LSTM, *batch: int) -> Recurrent:
    """Return the state before the first frame: zeros, of the layer's type and device."""
    zeros = cast(Tensor, layer.weight_hh_l0).new_zeros((*batch, layer.hidden_size))
    return Recurrent(zeros, zeros)


def rows_of(state: Recurrent, mask: Bool[Tensor, "..."]) -> Recurrent:
    """Return the states of the batch's elements at which the mask is True, (m, hidden) both parts."""
    return Recurrent(state.shown[mask], state.kept[mask])


def put_rows(state: Recurrent, mask: Bool[Tensor, "..."], rows: Recurrent) -> Recurrent:
    """Return the state with others at which the mask is True: what `rows_of` takes out, put back. The state is not changed."""
    parts = (part.clone() for part in state)
    return Recurrent(*(part.masked_scatter_(mask.unsqueeze(-1), new) for part, new in zip(parts, rows, strict=True)))


def _check_single(layer: nn.LSTM) -> None:
    other = (
        ("num_layers", layer.num_layers, 1),
        ("bidirectional", layer.bidirectional, False),
        ("bias", layer.bias, True),
        ("proj_size", layer.proj_size, 0),
    )
    for name, found, wanted in other:
        if found != wanted:
            raise ValueError(
                "`layer` should have one layer and one direction, biases and no projection, as nn.recurrent.lstm makes "
                f"it. Found {name}={found}. Make it with {name}={wanted}, or call the layer itself on whole sequences."
            )


def _check(inputs: int, hidden: int, generator: Generator) -> None:
    check_whole("inputs", inputs, 1)
    check_whole("hidden", hidden, 1)
    check_generator("generator", generator)


def _drawn(layer: Layer, hidden: int, generator: Generator) -> Layer:
    layer = layer.to_empty(device="cpu")
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -1 / math.sqrt(hidden), 1 / math.sqrt(hidden), generator=generator)
    return layer

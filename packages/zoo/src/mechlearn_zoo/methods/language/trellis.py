"""Trellis networks: temporal convolutions tied over depth, with the input injected at every level (Bai et al. 2019).

A level reads the level below at two times: zhat_t = V1 h_t-d + V2 h_t + (U1 x_t-d + U2 x_t + b), then f(zhat_t, z_t-d), with
z^(0) = 0 and the same weights at all levels (equations 1 and 2). What depends on x alone is computed once for each dilation.
The gated f is an LSTM's, its cell read at t - d: z = (h, c).

Theorem 1: an L-layer RNN that is restarted M steps back is a trellis network with M + L - 1 levels. Its restatements are
silent on biases: below level l the block of layer l shows f(b_l) in place of 0, and that does not die out. So upper layers need
biases that f maps to 0 (an RNN's all, an LSTM's candidate's; its gates may have any), or L - 1 further units that switch the
bias on where the layer begins (``warm``).

Trains in parallel over time, as a recurrent network does not; to run token by token a recurrent network is cheaper.

Index convention: t a time, b a sequence, i a level, d the level's dilation, l a layer.
"""

import math
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mechlearn.arguments import (
    check_decay,
    check_flag,
    check_generator,
    check_kind,
    check_one_of,
    check_shape,
    check_tensor,
    check_whole,
)
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "TrellisNet", 2019, "Bai et al., equations 1, 2 and theorem 1", "https://arxiv.org/abs/1810.06682", "a product a level"
)

GATES = 4
"""Blocks of the gated f, in the order of the released code: input, output, candidate, forget."""


@dataclass(frozen=True)
class Trellis:
    """How a trellis network is built.

    Args:
        levels: how deep; all share their weights.
        activation: f: "lstm" (gated) or "tanh".
        dilations: d of each level, repeated in turn.
        weight_norm: a length and a direction for each row of V (Salimans and Kingma 2016).
        dropout: of h between levels, one mask for all levels and times of a sequence.
        auxiliary_every: return h of every so many levels, for losses on them; None for none.

    Raises:
        TypeError, ValueError: numbers out of their range.
    """

    levels: int
    activation: str = "lstm"
    dilations: tuple[int, ...] = (1,)
    weight_norm: bool = False
    dropout: float = 0.0
    auxiliary_every: int | None = None

    def __post_init__(self) -> None:
        check_whole("levels", self.levels, 1)
        check_one_of("activation", self.activation, ("lstm", "tanh"))
        check_kind("dilations", self.dilations, tuple, "a tuple of whole numbers", way_out="Write (1, 2, 4).")
        for dilation in self.dilations or (0,):
            check_whole("dilations", dilation, 1)
        check_flag("weight_norm", self.weight_norm)
        check_decay("dropout", self.dropout)
        if self.auxiliary_every is not None:
            check_whole("auxiliary_every", self.auxiliary_every, 1)

    def dilation(self, level: int) -> int:
        """Return the dilation of a level, counted from 0."""
        return self.dilations[level % len(self.dilations)]

    @property
    def reach(self) -> int:
        """How many inputs an output depends on, its own included."""
        return 1 + sum(self.dilation(level) for level in range(self.levels))


class TrellisState(NamedTuple):
    """What a sequence's continuation needs: inputs and every level's last values.

    Attributes:
        inputs: (reach of one level, b, inputs).
        levels: of each level below the last, its last d values (d, b, hidden) of h, or of h and c side by side.
    """

    inputs: Tensor
    levels: tuple[Tensor, ...]


class TrellisOutput(NamedTuple):
    """What a trellis network returns.

    Attributes:
        output: (b, t, outputs) the last ``outputs`` units of h.
        state: for the sequences' continuation.
        auxiliary: outputs of every so many levels, (b, t, outputs) each.
    """

    output: Float[Tensor, "b t outputs"]
    state: TrellisState
    auxiliary: tuple[Tensor, ...]


class TrellisNet(nn.Module):
    """A trellis network; see the module's text.

    Args:
        inputs: numbers of x at a time.
        hidden: units of h.
        outputs: how many of them are returned, the last ones; put a layer of your own behind them.
        trellis: levels, f, dilations and more.
        generator: of the initial weights (normal, .01 as in the released code for U and V; b is 0) and of what is dropped.
        spread: their standard deviation.

    Raises:
        TypeError, ValueError: sizes below 1, fewer hidden units than outputs.

    >>> net = TrellisNet(3, 8, 4, Trellis(levels=5), Generator().manual_seed(0))
    >>> net(torch.zeros(2, 6, 3)).output.shape
    torch.Size([2, 6, 4])
    """

    def __init__(
        self, inputs: int, hidden: int, outputs: int, trellis: Trellis, generator: Generator, spread: float = 0.01
    ) -> None:
        super().__init__()
        for name, size in {"inputs": inputs, "hidden": hidden, "outputs": outputs}.items():
            check_whole(name, size, 1)
        check_kind("trellis", trellis, Trellis, "a Trellis")
        check_generator("generator", generator)
        if hidden < outputs:
            raise ValueError(f"`hidden` should be {outputs} or more: outputs are hidden units. Found {hidden}. Raise it.")
        self.inputs, self.hidden, self.outputs, self.trellis, self.generator = inputs, hidden, outputs, trellis, generator
        rows = hidden * (GATES if trellis.activation == "lstm" else 1)
        self.past_input, self.input = nn.Parameter(torch.empty(rows, inputs)), nn.Parameter(torch.empty(rows, inputs))
        self.past, self.present = nn.Parameter(torch.empty(rows, hidden)), nn.Parameter(torch.empty(rows, hidden))
        self.bias = nn.Parameter(torch.zeros(rows))
        for weight in (self.past_input, self.input, self.past, self.present):
            nn.init.normal_(weight, 0.0, spread, generator=generator)
        self.length = nn.Parameter(self._direction().norm(dim=1)) if trellis.weight_norm else None
        self.truncated = False

    def forward(self, x: Float[Tensor, "b t inputs"], state: TrellisState | None = None) -> TrellisOutput:
        """Return outputs at every time; without a state the past is 0.

        Splitting a sequence and passing the state on changes nothing: every level keeps its own last values, where the released
        code puts the last level's in the place of all.

        Raises:
            TypeError: no tensor.
            ValueError: another number of inputs, a state of another batch size.
        """
        check_tensor("x", x)
        check_shape("x", x, "B", "T", self.inputs)
        x = x.transpose(0, 1)
        self._check(x, state)
        last, drop = self.trellis.levels - 1, self._mask(x)
        weight = self._weight()
        injected = {d: self._injected(x, state, d) for d in dict.fromkeys(self.trellis.dilations)}
        z, kept, auxiliary = self._start(x), list[Tensor](), list[Tensor]()
        for level in range(last + 1):
            d = self.trellis.dilation(level)
            before = z.new_zeros(d, *z.shape[1:]) if state is None else state.levels[level]
            whole = torch.cat([before, z])
            kept.append(whole[len(whole) - d :].detach())
            z = self._level(whole, injected[d], weight, d, drop)
            every = self.trellis.auxiliary_every
            if every is not None and level != last and (level + 1) % every == 0:
                auxiliary.append(self._output(z))
        return TrellisOutput(self._output(z), TrellisState(self._inputs(x, state), tuple(kept)), tuple(auxiliary))

    def _level(self, whole: Tensor, injected: Tensor, weight: Tensor, d: int, drop: Tensor | None) -> Tensor:
        h = whole[..., : self.hidden]
        # One product for both times: V1 and V2 side by side.
        past, present = (h @ weight.T).chunk(2, -1)
        zhat = injected + past[:-d] + present[d:]
        if self.trellis.activation == "tanh":
            h = torch.tanh(zhat)
            return h if drop is None else h * drop
        i, o, g, f = zhat.chunk(GATES, -1)
        c = f.sigmoid() * whole[:-d, :, self.hidden :] + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return torch.cat([h if drop is None else h * drop, c], -1)

    def _injected(self, x: Tensor, state: TrellisState | None, d: int) -> Tensor:
        before = x.new_zeros(d, *x.shape[1:]) if state is None else state.inputs[len(state.inputs) - d :]
        whole = torch.cat([before, x])
        return whole[:-d] @ self.past_input.T + torch.nn.functional.linear(x, self.input, self.bias)

    def _inputs(self, x: Tensor, state: TrellisState | None) -> Tensor:
        longest = max(self.trellis.dilations)
        before = x.new_zeros(longest, *x.shape[1:]) if state is None else state.inputs
        return torch.cat([before, x])[-longest:].detach()

    def _direction(self) -> Tensor:
        return torch.cat([self.past, self.present])

    def _weight(self) -> Tensor:
        direction = self._direction()
        return direction if self.length is None else direction * (self.length / direction.norm(dim=1))[:, None]

    def _start(self, x: Tensor) -> Tensor:
        return x.new_zeros(*x.shape[:2], self.hidden * (2 if self.trellis.activation == "lstm" else 1))

    def _output(self, z: Tensor) -> Tensor:
        return z[..., self.hidden - self.outputs : self.hidden].transpose(0, 1)

    def _mask(self, x: Tensor) -> Tensor | None:
        rate = self.trellis.dropout
        if not (self.training and rate):
            return None
        drawn = torch.rand(1, x.shape[1], self.hidden, generator=self.generator, device=self.generator.device)
        return (drawn >= rate).to(x) / (1 - rate)

    def _check(self, x: Tensor, state: TrellisState | None) -> None:
        if state is None and len(x) > self.trellis.reach and not self.truncated:
            warnings.warn(
                f"Outputs should depend on the whole sequence. Found {len(x)} times and a reach of {self.trellis.reach}. "
                f"Take more "
                "levels or dilations.",
                stacklevel=3,
            )
        if state is not None and state.inputs.shape[1] != x.shape[1]:
            raise ValueError(
                f"`state` should be of as many sequences as `x`. Found {state.inputs.shape[1]} and {x.shape[1]}. Continue "
                f"the same."
            )


@torch.no_grad()
def from_recurrent(network: nn.RNN | nn.LSTM, horizon: int, warm: bool = False) -> TrellisNet:
    """Return the trellis network that equals a recurrent one restarted ``horizon`` steps back, at every time (theorem 1).

    Args:
        network: an RNN with tanh or an LSTM, of one direction.
        horizon: M, how many inputs an output sees.
        warm: add L - 1 units that switch upper layers' biases on at the level where each layer begins.

    Raises:
        TypeError: another network.
        ValueError: a horizon below 1, two directions, relu, projections, dropout, or biases of upper layers that f does not
            map to 0 where ``warm`` is False.
    """
    check_kind("network", network, (nn.RNN, nn.LSTM), "a torch.nn.RNN or torch.nn.LSTM")
    check_whole("horizon", horizon, 1)
    check_flag("warm", warm)
    gated = isinstance(network, nn.LSTM)
    _check_network(network, gated)
    layers, units = network.num_layers, network.hidden_size
    extra = layers - 1 if warm else 0
    hidden = extra + layers * units
    trellis = Trellis(levels=horizon + layers - 1, activation="lstm" if gated else "tanh")
    first = next(network.parameters())
    net = TrellisNet(network.input_size, hidden, units, trellis, Generator().manual_seed(0)).to(first.device, first.dtype)
    net.truncated = True
    for weight in net.parameters():
        weight.zero_()
    gates = GATES if gated else 1
    for layer in range(layers):
        rows = [slice(g * hidden + extra + layer * units, g * hidden + extra + (layer + 1) * units) for g in range(gates)]
        own = slice(extra + layer * units, extra + (layer + 1) * units)
        below = slice(extra + (layer - 1) * units, extra + layer * units)
        into, across, bias = _parts(network, layer, gated)
        for g, place in enumerate(rows):
            net.past[place, own] = across[g]
            if layer == 0:
                net.input[place] = into[g]
            else:
                net.present[place, below] = into[g]
            candidate = not gated or g == _CANDIDATE
            if layer and candidate and warm:
                net.present[place, layer - 1] = bias[g] / _on(gated)
            else:
                _check_silent(bias[g], layer > 0 and candidate, layer, gated)
                net.bias[place] = bias[g]
    for unit in range(extra):
        _switch(net, unit, gated)
    return net


_CANDIDATE = 2
_SHUT = 1000.0
"""A gate's input at which its sigmoid is 0 or 1 exactly, in float32 and float64."""


def _check_silent(bias: Tensor, upper: bool, layer: int, gated: bool) -> None:
    if upper and bool(bias.any()):
        raise ValueError(
            f"The {'candidate ' if gated else ''}biases of layers above the first should be 0: below its level a layer would "
            f"show f(b) in place of 0. Found {float(bias.abs().max()):.3g} in layer {layer}. Pass warm=True."
        )


def _on(gated: bool) -> float:
    """Return h of a unit that is on: f of 1."""
    return math.tanh(math.tanh(1.0)) if gated else math.tanh(1.0)


def _switch(net: TrellisNet, unit: int, gated: bool) -> None:
    """Wire the unit that is 0 below level ``unit + 1`` and on from there: each is turned on by the one before it."""
    hidden = net.hidden
    candidate = _CANDIDATE * hidden + unit if gated else unit
    if unit:
        net.present[candidate, unit - 1] = 1 / _on(gated)
    else:
        net.bias[candidate] = 1.0
    if gated:
        net.bias[unit] = net.bias[hidden + unit] = _SHUT
        net.bias[3 * hidden + unit] = -_SHUT


def _parts(network: nn.RNN | nn.LSTM, layer: int, gated: bool) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return a layer's weights from below and from its past, and its biases, by gate in our order."""
    into, across = getattr(network, f"weight_ih_l{layer}"), getattr(network, f"weight_hh_l{layer}")
    zero = into.new_zeros(len(into))
    bias = getattr(network, f"bias_ih_l{layer}") + getattr(network, f"bias_hh_l{layer}") if network.bias else zero
    order = (0, 3, 2, 1) if gated else (0,)  # torch has input, forget, candidate, output
    chunked = [[part.chunk(len(order))[g] for g in order] for part in (into, across, bias)]
    return chunked[0], chunked[1], chunked[2]


def _check_network(network: nn.RNN | nn.LSTM, gated: bool) -> None:
    strange = {
        "two directions": network.bidirectional,
        "relu": not gated and network.nonlinearity != "tanh",
        "projections": bool(network.proj_size),
        "dropout": bool(network.dropout),
    }
    if found := [name for name, there in strange.items() if there]:
        raise ValueError(f"`network` should be plain: one direction, tanh, no projection or dropout. Found {found[0]}.")

"""Networks used by two or more experiments, initialised from an explicit generator."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, cast

from torch import Generator, Tensor, nn
from torch.nn.utils.parametrizations import weight_norm as normalise_weight

Init = Literal["kaiming", "default"]


def mlp(
    inputs: int,
    outputs: int,
    generator: Generator,
    hidden: int = 256,
    layers: int = 3,
    init: Init = "kaiming",
    batch_norm: bool = False,
    dropout: float = 0.0,
) -> nn.Sequential:
    """Return a multilayer perceptron with LeakyReLU units (thesis appendix B.2).

    Args:
        inputs: input features.
        outputs: output features.
        generator: of the initial weights.
        hidden: units in each hidden layer.
        layers: number of hidden layers.
        init: "kaiming" draws He-normal weights and sets biases to 0.01, as the papers' published code does; "default" is
            PyTorch's own, about 2.4 times smaller.
        batch_norm: put BatchNorm before each activation.
        dropout: probability of dropping a hidden unit.
    """
    modules: list[nn.Module] = []
    features = inputs
    for _ in range(layers):
        modules.append(_linear(features, hidden, init, generator))
        if batch_norm:
            modules.append(nn.BatchNorm1d(hidden))
        modules.append(nn.LeakyReLU())
        if dropout > 0:
            modules.append(nn.Dropout(dropout))
        features = hidden
    modules.append(_linear(features, outputs, init, generator))
    return nn.Sequential(*modules)


def _linear(inputs: int, outputs: int, init: Init, generator: Generator) -> nn.Linear:
    # Made on the meta device first: elsewhere a Linear would draw its default weights from the global generator.
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    if init == "kaiming":
        nn.init.kaiming_normal_(layer.weight, generator=generator)
        nn.init.constant_(layer.bias, 0.01)
    else:
        nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
        bound = 1 / math.sqrt(layer.in_features)
        nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return layer


def relu_mlp(widths: Sequence[int], generator: Generator, weight_norm: bool = False) -> nn.Sequential:
    """Return a multilayer perceptron with ReLU units and PyTorch's default initial weights; its linear layers are "0", "2", ...

    Args:
        widths: inputs, units of each hidden layer, outputs.
        generator: of the initial weights.
        weight_norm: reparametrise each weight into direction and length (Salimans and Kingma, 2016).

    Example:
        >>> import torch
        >>> list(dict(relu_mlp((3, 8, 2), torch.Generator()).named_children()))
        ['0', '1', '2']
    """
    modules: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layer = _linear(inputs, outputs, "default", generator)
        modules += [normalise_weight(layer) if weight_norm else layer, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def trajectory_network(
    features: int, frames: int, channels: Sequence[int], hidden: int, outputs: int, generator: Generator
) -> nn.Sequential:
    """Return the network that reads trajectories (b, frames, features): convolutions over time, then one hidden layer.

    Each convolution has width 3, keeps the number of frames, and is followed by BatchNorm and ReLU; so is the hidden layer
    (thesis appendix C.2.2.2, table C.6: channels 96, 96, 96, 256, hidden 768; the width and BatchNorm's place are ours).

    Args:
        features: numbers of a frame.
        frames: frames of a trajectory.
        channels: of each convolution.
        hidden: units between the convolutions and the outputs.
        outputs: numbers that come out.
        generator: of the initial weights.
    """
    modules: list[nn.Module] = [_TimeLast()]
    for inputs, filters in pairwise((features, *channels)):
        modules += [_convolution(inputs, filters, generator), nn.BatchNorm1d(filters), nn.ReLU()]
    modules += [nn.Flatten(), _linear(channels[-1] * frames, hidden, "default", generator), nn.BatchNorm1d(hidden), nn.ReLU()]
    return nn.Sequential(*modules, _linear(hidden, outputs, "default", generator))


class _TimeLast(nn.Module):
    """From (b, frames, features) to (b, features, frames), as convolutions over time want it."""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


def _convolution(inputs: int, filters: int, generator: Generator) -> nn.Conv1d:
    layer = nn.Conv1d(inputs, filters, 3, padding=1, device="meta").to_empty(device="cpu")
    nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
    bound = 1 / math.sqrt(3 * inputs)
    nn.init.uniform_(cast(Tensor, layer.bias), -bound, bound, generator=generator)
    return layer


def scaled_convolutions(channels: Sequence[int], multiplier: float, generator: Generator, width: int = 3) -> nn.Sequential:
    """Return convolutions over pictures with ReLU after each; they are "0", "2", ... and keep the picture's size.

    Args:
        channels: of the input, then of each convolution.
        multiplier: of PyTorch's default initial weights, biases included (thesis appendix C.3).
        generator: of the initial weights.
        width: of the square kernels, odd.
    """
    modules: list[nn.Module] = []
    for inputs, filters in pairwise(channels):
        layer = nn.Conv2d(inputs, filters, width, padding=width // 2, device="meta").to_empty(device="cpu")
        bound = multiplier / (width * math.sqrt(inputs))
        nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
        nn.init.uniform_(cast(Tensor, layer.bias), -bound, bound, generator=generator)
        modules += [layer, nn.ReLU()]
    return nn.Sequential(*modules)

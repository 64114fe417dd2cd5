"""Multilayer perceptrons, initialised from an explicit generator."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.utils.parametrizations import weight_norm as normalise_weight

from mechlearn.arguments import check_decay, check_generator

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
        generator: of the initial weights, and then of what is dropped in train mode.
        hidden: units in each hidden layer.
        layers: number of hidden layers.
        init: "kaiming" draws He-normal weights and sets biases to 0.01, as the papers' published code does; "default" is
            PyTorch's own, about 2.4 times smaller.
        batch_norm: put BatchNorm before each activation.
        dropout: probability of dropping a hidden unit, below 1.

    Raises:
        TypeError: no generator, a probability that is no number.
        ValueError: a probability outside [0, 1).
    """
    check_decay("dropout", dropout)
    modules: list[nn.Module] = []
    features = inputs
    for _ in range(layers):
        modules.append(linear(features, hidden, init, generator))
        if batch_norm:
            modules.append(nn.BatchNorm1d(hidden))
        modules.append(nn.LeakyReLU())
        if dropout > 0:
            modules.append(Dropout(dropout, generator))
        features = hidden
    modules.append(linear(features, outputs, init, generator))
    return nn.Sequential(*modules)


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
        layer = linear(inputs, outputs, "default", generator)
        modules += [normalise_weight(layer) if weight_norm else layer, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def linear(inputs: int, outputs: int, init: Init, generator: Generator) -> nn.Linear:
    """Return a linear layer whose weights and biases come from a generator; `mlp` says what the ways to draw them are.

    Raises:
        TypeError: no generator: torch would draw from the global one without a word.
    """
    check_generator("generator", generator)
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


class CodePerceptron(nn.Module):
    """From codes in [0, 1] to logits of the next codes: a perceptron says what is added to gain * (x - 1/2).

    With a gain it begins near the identity: a code of 1 has a logit of gain / 2, a code of 0 one of -gain / 2.

    Args:
        codes: numbers of a frame.
        beside: numbers that are given with each frame and stay.
        generator: of the initial weights.
        hidden: units in each of the two hidden layers.
        gain: see above; 0 for none.
    """

    def __init__(self, codes: int, beside: int, generator: Generator, hidden: int = 128, gain: float = 6.0) -> None:
        super().__init__()
        self.gain = gain
        self.net = mlp(codes + beside, codes, generator, hidden, 2, init="default")

    def forward(self, frames: Float[Tensor, "b codes"], beside: Float[Tensor, "b beside"]) -> Float[Tensor, "b codes"]:
        """Return logits."""
        return self.net(torch.cat([frames, beside], dim=1)) + self.gain * (frames - 0.5)


class Dropout(nn.Dropout):
    """Dropout that draws from a generator of its own; torch's knows the global one only.

    Raises:
        ValueError: a probability outside [0, 1): if all were dropped, none could be scaled.
    """

    def __init__(self, probability: float, generator: Generator) -> None:
        check_decay("probability", probability)
        super().__init__(probability)
        self.generator = generator

    def forward(self, input: Float[Tensor, "*x"]) -> Float[Tensor, "*x"]:  # noqa: A002  # torch's name
        """Drop components in train mode and scale the others by 1 / (1 - probability)."""
        if not self.training:
            return input
        kept = torch.rand(input.shape, generator=self.generator, device=self.generator.device) >= self.p
        return input * kept.to(input) / (1 - self.p)

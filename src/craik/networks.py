"""Networks used by two or more experiments, initialised from an explicit generator."""

import math
from typing import Literal

from torch import Generator, nn

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

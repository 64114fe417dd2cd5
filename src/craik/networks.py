"""Networks used by two or more experiments, initialised from an explicit generator."""

import math
from typing import Literal

from torch import Generator, Tensor, nn
from torch.autograd import Function
from torch.nn.functional import cross_entropy

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


Norm = Literal["group", "batch"]


def fast_resnet(
    channels: int, classes: int, generator: Generator, width: int = 64, norm: Norm = "batch", groups: int = 8
) -> nn.Sequential:
    """Return the residual network of thesis appendix B.2.5 ("FastResNet" of PyTorch-Ignite's CIFAR-10 example), at any width.

    Args:
        channels: of the images.
        classes: output features.
        generator: of the initial weights, drawn as PyTorch's default draws them.
        width: channels of the first convolution, the texts' network has 64; later ones have 2, 4 and 8 times as many.
        norm: "batch" as in the texts; "group" keeps examples apart, so that single examples can be environments.
        groups: of a GroupNorm; divides the width.
    """

    def conv(inputs: int, outputs: int) -> nn.Sequential:
        layer = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False, device="meta").to_empty(device="cpu")
        nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
        normalise = nn.BatchNorm2d(outputs) if norm == "batch" else nn.GroupNorm(groups, outputs)
        return nn.Sequential(layer, normalise, nn.ReLU())

    head = nn.Linear(8 * width, classes, bias=False, device="meta").to_empty(device="cpu")
    layers = [
        conv(channels, width),
        *(conv(width, 2 * width), nn.MaxPool2d(2), Residual(conv(2 * width, 2 * width), conv(2 * width, 2 * width))),
        *(conv(2 * width, 4 * width), nn.MaxPool2d(2)),
        *(conv(4 * width, 8 * width), nn.MaxPool2d(2), Residual(conv(8 * width, 8 * width), conv(8 * width, 8 * width))),
        *(nn.AdaptiveMaxPool2d(1), nn.Flatten(), head, Scale(0.125)),
    ]
    nn.init.kaiming_uniform_(head.weight, a=math.sqrt(5), generator=generator)
    return nn.Sequential(*layers)


class Residual(nn.Module):
    """What modules in sequence make of an input, added to the input."""

    def __init__(self, *modules: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*modules)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum."""
        return x + self.body(x)


class Scale(nn.Module):
    """A constant factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Return the product."""
        return self.factor * x


class Reverse(Function):
    """The identity, whose gradient is turned round: what follows is trained against what precedes (Ganin et al., 2016)."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        """Return the input."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, *grad_outputs: Tensor) -> Tensor:
        """Return the gradient with its sign changed."""
        return -grad_outputs[0]


class Adversarial(nn.Module):
    """DANN: an embedding, a classifier on it, and a discriminator of environments that the embedding is trained against."""

    def __init__(self, inputs: int, environments: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.embedding = nn.Sequential(mlp(inputs, hidden, generator, hidden, layers=1), nn.LeakyReLU())
        self.classifier = mlp(hidden, 1, generator, hidden, layers=1)
        self.discriminator = mlp(hidden, environments, generator, hidden, layers=1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the classifier's logits."""
        return self.classifier(self.embedding(x))

    def domain_loss(self, x: Tensor, environments: Tensor) -> Tensor:
        """Return the discriminator's loss, whose gradient reaches the embedding reversed."""
        return cross_entropy(self.discriminator(Reverse.apply(self.embedding(x))), environments)

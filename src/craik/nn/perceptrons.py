"""Networks used by two or more experiments, initialised from an explicit generator."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, cast

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.autograd import Function
from torch.nn.functional import cross_entropy
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
        generator: of the initial weights, and then of what is dropped in train mode.
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
            modules.append(Dropout(dropout, generator))
        features = hidden
    modules.append(_linear(features, outputs, init, generator))
    return nn.Sequential(*modules)


class Dropout(nn.Dropout):
    """Dropout that draws from a generator of its own; torch's knows the global one only."""

    def __init__(self, probability: float, generator: Generator) -> None:
        super().__init__(probability)
        self.generator = generator

    def forward(self, input: Float[Tensor, "*x"]) -> Float[Tensor, "*x"]:  # noqa: A002  # torch's name
        """Drop components in train mode and scale the others by 1 / (1 - probability)."""
        if not self.training:
            return input
        kept = torch.rand(input.shape, generator=self.generator, device=self.generator.device) >= self.p
        return input * kept.to(input) / (1 - self.p)


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

"""The networks of the simulated part: an extractor of features, its inverse as a prior, and a reader of digits that judges."""

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, max_pool2d, mse_loss, relu

from claimlab import EarlyStopping
from mechlearn.nn.perceptrons import linear, relu_mlp
from mechlearn_zoo.learners.descent import descend, kept_steps


class Extractor(nn.Module):
    """A small convolutional network on rows of digits; its features are taken before the ReLU.

    Args:
        digits: in a picture, side by side.
        generator: of the initial weights.
    """

    def __init__(self, digits: int, generator: Generator) -> None:
        super().__init__()
        self.digits = digits
        sizes = ((1, 16), (16, 32))
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1, device="meta").to_empty(device="cpu") for a, b in sizes)
        for layer in self.convolutions:
            for parameter in layer.parameters():
                parameter.data.uniform_(-0.2, 0.2, generator=generator)
        self.hidden = linear(32 * 4 * 4 * digits, 64, "default", generator)
        self.read = linear(64, 10 * digits, "default", generator)

    def forward(self, x: Float[Tensor, "n 1 h w"]) -> dict[str, Tensor]:
        """Return the features by layer; "read" are the logits (n, digits, 10)."""
        first = self.convolutions[0](x)
        second = self.convolutions[1](relu(first))
        hidden = self.hidden(max_pool2d(relu(second), 2).flatten(1))
        return {
            "first": first,
            "second": second,
            "hidden": hidden,
            "read": self.read(relu(hidden)).unflatten(1, (self.digits, 10)),
        }


LOOKS = 10
"""How often a search is looked at, and the training of the generator."""

LAYERS = ("first", "second", "hidden")
"""Whose features are decoded."""


def train_reader(name: str, network: Extractor, x: Tensor, y: Int[Tensor, "n d"], steps: int, generator: Generator) -> None:
    """Train a network to name the digits of a picture."""
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in kept_steps(name, steps, network, optimizer, generator):
        some = torch.randint(len(x), (64,), generator=generator)
        descend(optimizer, cross_entropy(network(x[some])["read"].flatten(0, 1), y[some].flatten()))
    network.eval().requires_grad_(False)


class Inverse(nn.Module):
    """A generator: from the extractor's highest features, after their ReLU, to a picture.

    Args:
        pixels: height and width of a picture.
        generator: of the initial weights.
    """

    def __init__(self, pixels: tuple[int, int], generator: Generator) -> None:
        super().__init__()
        self.pixels = pixels
        self.body = relu_mlp((64, 256, pixels[0] * pixels[1]), generator)

    def forward(self, q: Float[Tensor, "n q"]) -> Float[Tensor, "n 1 h w"]:
        """Return pictures in [0, 1]."""
        return torch.sigmoid(self.body(q)).unflatten(1, (1, *self.pixels))


def train_inverse(
    inverse: Inverse, extractor: Extractor, x: Tensor, steps: int, generator: Generator, held: tuple[Tensor, Tensor]
) -> EarlyStopping:
    """Train the generator to give the picture whose features it sees; return its error where validation was best.

    Args:
        inverse: the generator.
        extractor: of features.
        x: pictures to train on.
        steps: of the optimiser.
        generator: of batches.
        held: pictures of validation, and of the test.
    """
    q = relu(extractor(x)["hidden"])
    optimizer, stopping = torch.optim.Adam(inverse.parameters(), 2e-3), EarlyStopping(LOOKS, "lowest")
    for done in kept_steps("inverse", steps, inverse, optimizer, generator, stopping):
        some = torch.randint(len(x), (64,), generator=generator)
        descend(optimizer, mse_loss(inverse(q[some]), x[some]))
        if stopping.due((done + 1) / steps):
            validation, test = (missed(inverse, extractor, some) for some in held)
            stopping.look((done + 1) / steps, validation, {"error": test})
    inverse.eval().requires_grad_(False)
    return stopping


@torch.no_grad()
def missed(inverse: Inverse, extractor: Extractor, x: Tensor) -> float:
    """Return the mean squared error of the pictures that the generator makes of true features."""
    return float(mse_loss(inverse(relu(extractor(x)["hidden"])), x))


@torch.no_grad()
def recognised(reader: Extractor, images: Tensor, y: Tensor) -> float:
    """Return the share of digits that a network which saw neither recordings nor extractor names right."""
    return float((reader(images)["read"].argmax(-1) == y).float().mean())

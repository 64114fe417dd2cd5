"""Equation learner layers: networks whose units are terms of formulas, and which may extrapolate as formulas do.

Martius and Lampert 2016, Extrapolation and learning equations, [arXiv:1610.02995](https://arxiv.org/abs/1610.02995), section 2,
equations (2) to (4): z = W x + b, then every unit of the layer is a function of z of its own. Here these are the identity, the
sine and the product of two; the paper's cosine is a sine with another bias, its sigmoid is left out. Rows of W come in this
order: identities, sines, first factors, second factors; outputs: identities, sines, products.

When not to use it: where nothing but interpolation is asked for, as sines and products make surfaces that plain descent gets
stuck on; several starts and a choice by held-out data are part of the method (section 2.3).
"""

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mechlearn.arguments import check_generator, check_whole
from mechlearn.nn.perceptrons import linear


class EquationLayer(nn.Module):
    """A layer of identities, sines and products of what a linear map gives.

    Args:
        inputs: numbers that come in.
        identities: units that pass on what they get.
        sines: units that take its sine.
        products: units that multiply two numbers, so that each takes two rows of the linear map.
        generator: of the initial weights, drawn as PyTorch's default draws them.

    Attributes:
        linear: the map, to identities + sines + 2 products numbers.
        outputs: how many numbers go out.

    Raises:
        TypeError: numbers that are not whole, or no generator.
        ValueError: no input, a negative number of units, or no unit at all.

    Example:
        >>> layer = EquationLayer(2, 1, 1, 1, torch.Generator().manual_seed(0))
        >>> with torch.no_grad():
        ...     _ = layer.linear.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        ...     _ = layer.linear.bias.zero_()
        >>> layer(torch.tensor([[3.0, 5.0]])).tolist()  # x_1, sin 0, x_1 x_2
        [[3.0, 0.0, 15.0]]
    """

    def __init__(self, inputs: int, identities: int, sines: int, products: int, generator: Generator) -> None:
        super().__init__()
        check_whole("inputs", inputs, 1)
        for name, count in (("identities", identities), ("sines", sines), ("products", products)):
            check_whole(name, count)
        check_generator("generator", generator)
        self.outputs = identities + sines + products
        if not self.outputs:
            raise ValueError("An equation layer should have units. Found none of any kind. Give it some sines or products.")
        self.sizes = (identities, sines, products)
        self.linear = linear(inputs, self.outputs + products, "default", generator)

    def forward(self, x: Float[Tensor, "*b inputs"]) -> Float[Tensor, "*b outputs"]:
        """Return identities, sines and products, in this order."""
        identities, sines, products = self.sizes
        passed, angles, first, second = self.linear(x).split((identities, sines, products, products), dim=-1)
        return torch.cat([passed, angles.sin(), first * second], dim=-1)


def equation_network(
    inputs: int, outputs: int, generator: Generator, *, units: tuple[int, int, int] = (4, 4, 4), layers: int = 1
) -> nn.Sequential:
    """Return equation layers and a linear one behind them: L - 1 hidden layers and the linear read-out of equation (4).

    Args:
        inputs: numbers that come in.
        outputs: numbers that go out.
        generator: of the initial weights.
        units: identities, sines and products of each layer.
        layers: of equation layers; a product of three takes two.

    Raises:
        TypeError, ValueError: as `EquationLayer`, and for numbers of layers or outputs that are none.
    """
    check_whole("layers", layers, 1)
    check_whole("outputs", outputs, 1)
    modules: list[nn.Module] = []
    for _ in range(layers):
        layer = EquationLayer(inputs, *units, generator)
        modules.append(layer)
        inputs = layer.outputs
    return nn.Sequential(*modules, linear(inputs, outputs, "default", generator))


def sparsity(model: nn.Module) -> Float[Tensor, ""]:
    """Return the sum of absolute weights of a model's linear layers, biases left out: the penalty of equation (5)."""
    weights = [layer.weight.abs().sum() for layer in model.modules() if isinstance(layer, nn.Linear)]
    return torch.stack(weights).sum() if weights else torch.zeros(())

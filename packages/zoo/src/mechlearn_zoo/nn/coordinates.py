"""CoordConv: convolutions that also see where they are (Liu et al. 2018, https://arxiv.org/abs/1807.03247, section 3).

Index conventions: i is a row of H, j a column of W; x_j = 2 j / (W - 1) - 1 along the width, y_i = 2 i / (H - 1) - 1 along the
height (0 where there is one only), radius sqrt(x^2 + y^2). Channels come in the order of the published code: input, x, y,
radius. That code divides x by H - 1, which is wrong for images that are not square; each axis is divided by its own here.

A layer whose weights for the coordinates are zero is the convolution it holds, bit for bit, so that it can only add. As a
convolution is linear, the coordinates are no channels of each image here: conv(x) + conv(grid), where the second term is the
same for all images of a batch and costs what one image with two channels costs.

When not to use it: where what is looked for may be anywhere, as translation is what a convolution gets right for nothing.
"""

import math
from functools import lru_cache
from typing import TypeVar, cast

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import conv_transpose2d
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from mechlearn.arguments import check_flag, check_floats, check_generator, check_kind, check_whole


def add_coordinates(x: Float[Tensor, "b c h w"], radius: bool = False) -> Float[Tensor, "b c2 h w"]:
    """Return images with channels for x and y in [-1, 1], and for the radius if asked for, behind their own.

    What `CoordConv2d` folds away; for networks whose convolutions cannot be exchanged.

    Raises:
        TypeError: no tensor of floating numbers.
        ValueError: no batch of images.
    """
    check_floats("x", x, "B", "C", "H", "W", way_out="Add the axes that are missing: images come in batches, channels first.")
    check_flag("radius", radius)
    grid = _grid_like(x, radius).expand(len(x), -1, -1, -1)
    return torch.cat([x, grid], dim=1)


class CoordConv2d(nn.Module):
    """A two-dimensional convolution that sees coordinates beside its input.

    Args:
        inputs: channels that come in, coordinates not counted.
        outputs: channels that go out.
        kernel: its side.
        generator: of the initial weights, drawn as PyTorch's default draws them for all inputs + 2 (3) channels.
        stride: steps of the kernel.
        padding: zeros around image and coordinates.
        bias: whether there is one.
        radius: whether the radius is a third coordinate.

    Attributes:
        conv: the `torch.nn.Conv2d` with inputs + 2 (3) channels that it is the same as, behind `add_coordinates`. Dilation and
            other paddings: make a Conv2d with them and use `from_conv`.

    Raises:
        TypeError: numbers, flags or a generator of another kind.
        ValueError: numbers below 1, a negative padding.
    """

    conv: nn.Conv2d

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        generator: Generator,
        stride: int = 1,
        padding: int = 0,
        bias: bool = True,
        radius: bool = False,
    ) -> None:
        super().__init__()
        _check_layer(inputs, outputs, kernel, generator, stride, padding, bias, radius)
        self.inputs, self.radius = inputs, radius
        channels = inputs + 2 + radius
        layer = nn.Conv2d(channels, outputs, kernel, stride, padding, bias=bias, device="meta").to_empty(device="cpu")
        self.conv = _draw(layer, channels * kernel**2, generator)

    @classmethod
    def from_conv(cls, conv: nn.Conv2d, radius: bool = False) -> "CoordConv2d":
        """Return a layer that equals a convolution to begin with: weights 0 for the coordinates.

        Raises:
            TypeError: no `torch.nn.Conv2d`.
            ValueError: one in groups, whose coordinates would belong to one group alone.
        """
        check_kind("conv", conv, nn.Conv2d, "a torch.nn.Conv2d")
        made = _empty(cls, conv, radius)
        made.conv = nn.Conv2d(
            conv.in_channels + 2 + radius,
            conv.out_channels,
            cast(tuple[int, int], conv.kernel_size),
            cast(tuple[int, int], conv.stride),
            cast(tuple[int, int] | str, conv.padding),
            cast(tuple[int, int], conv.dilation),
            bias=conv.bias is not None,
            padding_mode=conv.padding_mode,
            device="meta",
        )
        return _fill(made, conv, dim=1)

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b o h2 w2"]:
        """Return the convolution of the images and their coordinates.

        Raises:
            TypeError: no tensor of floating numbers, or of another type than the weights.
            ValueError: another number of channels, no images. Pixels are not looked at, as in every layer.
        """
        _check_images(x, self.inputs, self.conv.weight)
        weight = self.conv.weight
        # Conv2d's own forward pass with a part of its weights: so every padding it knows is ours, too.
        convolve = self.conv._conv_forward  # pyright: ignore[reportPrivateUsage]
        seen = convolve(x, weight[:, : self.inputs], self.conv.bias)
        return seen.add_(convolve(_grid_like(x, self.radius), weight[:, self.inputs :], None))


class CoordConvTranspose2d(nn.Module):
    """A transposed convolution that sees the coordinates of its input beside it; arguments as of `CoordConv2d`.

    Attributes:
        conv: the `torch.nn.ConvTranspose2d` with inputs + 2 (3) channels that it is the same as, behind `add_coordinates`.
    """

    conv: nn.ConvTranspose2d

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        generator: Generator,
        stride: int = 1,
        padding: int = 0,
        bias: bool = True,
        radius: bool = False,
    ) -> None:
        super().__init__()
        _check_layer(inputs, outputs, kernel, generator, stride, padding, bias, radius)
        self.inputs, self.radius = inputs, radius
        layer = nn.ConvTranspose2d(inputs + 2 + radius, outputs, kernel, stride, padding, bias=bias, device="meta")
        # PyTorch's default counts the outputs as what comes in here.
        self.conv = _draw(layer.to_empty(device="cpu"), outputs * kernel**2, generator)

    @classmethod
    def from_conv(cls, conv: nn.ConvTranspose2d, radius: bool = False) -> "CoordConvTranspose2d":
        """Return a layer that equals a transposed convolution to begin with: weights 0 for the coordinates.

        Raises:
            TypeError: no `torch.nn.ConvTranspose2d`.
            ValueError: one in groups.
        """
        check_kind("conv", conv, nn.ConvTranspose2d, "a torch.nn.ConvTranspose2d")
        made = _empty(cls, conv, radius)
        made.conv = nn.ConvTranspose2d(
            conv.in_channels + 2 + radius,
            conv.out_channels,
            cast(tuple[int, int], conv.kernel_size),
            cast(tuple[int, int], conv.stride),
            cast(tuple[int, int], conv.padding),
            cast(tuple[int, int], conv.output_padding),
            bias=conv.bias is not None,
            dilation=cast(tuple[int, int], conv.dilation),
            device="meta",
        )
        return _fill(made, conv, dim=0)

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b o h2 w2"]:
        """Return the transposed convolution of the images and their coordinates.

        Raises:
            TypeError: no tensor of floating numbers, or of another type than the weights.
            ValueError: another number of channels, no images.
        """
        _check_images(x, self.inputs, self.conv.weight)
        weight, bias, grid = self.conv.weight, self.conv.bias, _grid_like(x, self.radius)
        seen = self._convolve(x, weight[: self.inputs], bias)
        return seen.add_(self._convolve(grid, weight[self.inputs :], None))

    def _convolve(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        conv = self.conv
        padding = cast(tuple[int, int], conv.padding)
        rest = (cast(tuple[int, int], conv.output_padding), 1, cast(tuple[int, int], conv.dilation))
        return conv_transpose2d(x, weight, bias, cast(tuple[int, int], conv.stride), padding, *rest)


def _grid_like(x: Tensor, radius: bool) -> Tensor:
    height, width = x.shape[-2:]
    if torch.compiler.is_compiling():  # a compiler makes constants of its own, and cannot look into a cache
        return _made(height, width, radius, x.dtype, x.device)
    if is_in_torch_dispatch_mode():  # a fake tensor's grid would be kept for the true ones after it
        return _made(height, width, radius, x.dtype, x.device)
    return _kept(height, width, radius, x.dtype, x.device)


def _made(height: int, width: int, radius: bool, dtype: torch.dtype, device: torch.device) -> Tensor:
    # In inference mode a grid would be a tensor that no later training step may use.
    with torch.inference_mode(False), torch.no_grad():
        axes = [_axis(size, device) for size in (width, height)]
        x, y = axes[0].expand(height, width), axes[1][:, None].expand(height, width)
        channels = [x, y, (x.square() + y.square()).sqrt()] if radius else [x, y]
        return torch.stack(channels)[None].to(dtype)


_kept = lru_cache(maxsize=64)(_made)


def _axis(size: int, device: torch.device) -> Tensor:
    index = torch.arange(size, dtype=torch.float64, device="cpu" if device.type == "mps" else device)
    return (2 * index / (size - 1) - 1 if size > 1 else index).to(device)


Layer = TypeVar("Layer", nn.Conv2d, nn.ConvTranspose2d)
Made = TypeVar("Made", CoordConv2d, CoordConvTranspose2d)


def _draw(layer: Layer, fan: int, generator: Generator) -> Layer:
    bound = 1 / math.sqrt(fan)
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    if layer.bias is not None:
        nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return layer


def _empty(cls: type[Made], conv: nn.Module, radius: bool) -> Made:
    check_flag("radius", radius)
    if conv.groups != 1:
        raise ValueError(
            f"`conv` should have one group, as coordinates would belong to one of them alone. Found {conv.groups}. "
            "Put a CoordConv2d of kernel 1 before it instead."
        )
    made = cls.__new__(cls)
    nn.Module.__init__(made)
    made.inputs, made.radius = cast(int, conv.in_channels), radius
    return made


def _fill(made: Made, conv: nn.Conv2d | nn.ConvTranspose2d, dim: int) -> Made:
    with torch.no_grad():
        shape = [*conv.weight.shape]
        shape[dim] = made.conv.in_channels - conv.in_channels
        weight = torch.cat([conv.weight, conv.weight.new_zeros(shape)], dim)
        made.conv.weight = nn.Parameter(weight, conv.weight.requires_grad)
        if conv.bias is not None:
            made.conv.bias = nn.Parameter(conv.bias.clone(), conv.bias.requires_grad)
    return made.train(conv.training)


def _check_layer(
    inputs: int, outputs: int, kernel: int, generator: Generator, stride: int, padding: int, bias: bool, radius: bool
) -> None:
    for name, size in (("inputs", inputs), ("outputs", outputs), ("kernel", kernel), ("stride", stride)):
        check_whole(name, size, least=1)
    check_whole("padding", padding)
    check_generator("generator", generator)
    check_flag("bias", bias)
    check_flag("radius", radius)


def _check_images(x: Tensor, inputs: int, weight: Tensor) -> None:
    check_floats("x", x, "B", inputs, "H", "W", like=weight, way_out="Coordinates are added by the layer itself.")

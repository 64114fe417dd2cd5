import copy

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import nn_oracles as oracles
from cpu_alone import ON_A_GPU
from mechlearn_zoo.nn.coordinates import CoordConv2d, CoordConvTranspose2d, add_coordinates


def images(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("radius", [False, True])
@pytest.mark.parametrize("size", [(5, 3), (1, 4), (2, 1)])
def test_channels_are_the_literal_ones(size, radius):
    x = images(2, 3, *size)
    found = add_coordinates(x, radius)
    assert torch.equal(found[:, :3], x)
    wanted = oracles.coordinates(*size, radius)
    torch.testing.assert_close(found[:, 3:], wanted.expand(2, -1, -1, -1), rtol=0, atol=1e-15)


CONVS = [
    (nn.Conv2d, {"stride": 2, "padding": 1}),
    (nn.Conv2d, {"padding": "same", "dilation": 2}),
    (nn.Conv2d, {"padding": 2, "padding_mode": "reflect", "bias": False}),
    (nn.ConvTranspose2d, {"stride": 2, "padding": 1, "output_padding": 1}),
    (nn.ConvTranspose2d, {"dilation": 2, "bias": False}),
]
KINDS = {nn.Conv2d: CoordConv2d, nn.ConvTranspose2d: CoordConvTranspose2d}


@pytest.mark.parametrize(("kind", "settings"), CONVS)
@pytest.mark.parametrize("radius", [False, True])
def test_starts_as_the_convolution_and_equals_the_concatenated_form(kind, settings, radius):
    torch.manual_seed(0)
    conv = kind(3, 4, 3, **settings).double()
    made, x = KINDS[kind].from_conv(conv, radius), images(2, 3, 7, 6)
    if ON_A_GPU:  # cuDNN may add up a transposed convolution in any order
        torch.testing.assert_close(made(x), conv(x), rtol=0, atol=1e-12)
    else:
        assert torch.equal(made(x), conv(x))
    assert set(made.state_dict()) == {f"conv.{name}" for name in conv.state_dict()}
    nn.init.normal_(made.conv.weight)
    folded, literal = made(x), made.conv(add_coordinates(x, radius))
    torch.testing.assert_close(folded, literal, rtol=0, atol=1e-12)
    gradients = [torch.autograd.grad(out.square().sum(), list(made.parameters())) for out in (folded, literal)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kind", [CoordConv2d, CoordConvTranspose2d])
def test_initial_weights_come_from_the_generator(kind):
    state = torch.get_rng_state()
    one, other = (kind(2, 3, 3, torch.Generator().manual_seed(4), stride=2, radius=True) for _ in range(2))
    assert torch.equal(one.conv.weight, other.conv.weight)
    assert torch.equal(state, torch.get_rng_state())
    assert one.conv.weight.shape[kind is CoordConv2d] == 5
    fan = (5 if kind is CoordConv2d else 3) * 9
    assert float(one.conv.weight.detach().abs().max()) <= fan**-0.5
    assert one(torch.zeros(2, 2, 5, 5)).shape[:2] == (2, 3)


def test_dtype_layout_and_copies():
    layer = CoordConv2d(2, 3, 3, torch.Generator(), padding=1)
    with torch.inference_mode():
        layer(torch.zeros(1, 2, 6, 6))
    layer(torch.zeros(1, 2, 6, 6)).sum().backward()  # the grid that inference made can be trained on
    x = images(2, 2, 4, 6, dtype=torch.float32).to(memory_format=torch.channels_last)
    assert layer(x).is_contiguous(memory_format=torch.channels_last)
    half = copy.deepcopy(layer).to(torch.bfloat16)
    assert half(x.bfloat16()).dtype == torch.bfloat16


def test_sees_where_a_pixel_is():
    layer = CoordConv2d(1, 1, 1, torch.Generator())
    nn.init.zeros_(layer.conv.bias)
    layer.conv.weight.data = torch.tensor([0.0, 1.0, 10.0]).view(1, 3, 1, 1)
    found = layer(torch.zeros(1, 1, 3, 3))[0, 0]
    assert found.tolist() == [[-11.0, -10.0, -9.0], [-1.0, 0.0, 1.0], [9.0, 10.0, 11.0]]


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    generator = torch.Generator()
    with pytest.raises(ValueError, match=r"should have the shape \(B, C, H, W\). Found \(3, 3\)"):
        add_coordinates(torch.zeros(3, 3))
    with pytest.raises(ValueError, match=r"shape \(B, 2, H, W\). Found \(1, 3, 4, 4\)"):
        CoordConv2d(2, 1, 3, generator)(torch.zeros(1, 3, 4, 4))
    with pytest.raises(ValueError, match="one group"):
        CoordConv2d.from_conv(nn.Conv2d(4, 4, 3, groups=2))
    with pytest.raises(TypeError, match=r"torch.nn.Conv2d\. Found"):
        CoordConv2d.from_conv(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="`kernel` should be at least 1"):
        CoordConvTranspose2d(2, 1, 0, generator)
    with pytest.raises(TypeError, match="Generator"):
        CoordConv2d(2, 1, 3, 0)


@pytest.mark.usefixtures("as_installed")
def test_empty_batches_and_other_types_are_refused():
    for layer in (CoordConv2d(2, 3, 3, torch.Generator()), CoordConvTranspose2d(2, 3, 3, torch.Generator())):
        with pytest.raises(ValueError, match=r"shape \(B, 2, H, W\)\. Found \(0, 2, 4, 4\)"):
            layer(torch.zeros(0, 2, 4, 4))
        with pytest.raises(TypeError, match=r"of the type torch\.float32\. Found torch\.float64"):
            layer(torch.zeros(1, 2, 4, 4, dtype=torch.float64))
        with pytest.raises(TypeError, match="hold floating numbers"):
            layer(torch.zeros(1, 2, 4, 4, dtype=torch.uint8))
        with pytest.raises(TypeError, match="`x` should be a tensor"):
            layer(None)
        with torch.autocast(layer.conv.weight.device.type, dtype=torch.bfloat16):
            assert layer(torch.zeros(1, 2, 4, 4, dtype=torch.bfloat16)).isfinite().all()


def test_a_grid_of_fake_tensors_is_not_kept():
    with FakeTensorMode():
        add_coordinates(torch.zeros(1, 1, 7, 9))
    assert add_coordinates(torch.zeros(1, 1, 7, 9))[0, 1, 0, 0].item() == -1

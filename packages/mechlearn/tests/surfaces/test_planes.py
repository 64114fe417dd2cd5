import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import surfaces_oracles as oracles
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.params import parameters_of
from mechlearn.surfaces import between, flatness, line, plane, random_direction, surface_of_model

AT = (torch.linspace(-1, 1, 4, dtype=torch.float64), torch.linspace(-0.5, 1, 3, dtype=torch.float64))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def by_example(out, y):
    return cross_entropy(out, y, reduction="none")


def data(inputs=4):
    x = torch.randn(20, inputs, dtype=torch.float64, generator=generator(1))
    return x, torch.randint(0, 3, (20,), generator=generator(2)), torch.randint(0, 3, (20,), generator=generator(3))


def axes_of(parameters):
    return [random_direction(parameters, generator(seed)) for seed in (5, 6)]


@pytest.mark.parametrize("chunk", [1, 5, 64])
def test_a_plane_of_a_model_is_the_literal_loop(chunk):
    model, (x, y, ids) = relu_mlp((4, 6, 3), generator()).double(), data()
    before = copy.deepcopy(model.state_dict())
    surface = surface_of_model(model, by_example, [(x[:7], y[:7], ids[:7]), (x[7:], y[7:], ids[7:])])
    axes = axes_of(surface.parameters)
    found = plane(surface.losses, surface.parameters, *axes, AT, chunk)
    torch.testing.assert_close(found, oracles.plane(model, by_example, x, y, ids, axes, AT), rtol=0, atol=1e-12)
    mean = plane(surface.mean, surface.parameters, *axes, AT, chunk)
    torch.testing.assert_close(mean, found.mean(0), rtol=0, atol=1e-13)
    cut = line(surface.losses, surface.parameters, axes[0], AT[0], chunk)
    flat = plane(surface.losses, surface.parameters, *axes, (AT[0], torch.zeros(1, dtype=torch.float64)))
    torch.testing.assert_close(cut, flat[:, :, 0], rtol=0, atol=1e-13)
    assert surface.environments == (0, 1, 2)
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in before.items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def weight_normed():
    return relu_mlp((4, 6, 3), generator(), weight_norm=True)


def frozen():
    model = relu_mlp((4, 6, 6, 3), generator())
    model[0].requires_grad_(requires_grad=False)
    return model


def tied():
    model = relu_mlp((4, 4, 4, 3), generator())
    model[2].weight = model[0].weight
    return model


def hooked():
    model = relu_mlp((4, 6, 3), generator())
    model[0].register_forward_hook(lambda module, inputs, output: 2 * output)
    return model


def without_bias():
    return nn.Sequential(nn.Linear(4, 6, bias=False), nn.Tanh(), nn.Linear(6, 3))


def shared_activation():
    activation = nn.ReLU()
    return nn.Sequential(nn.Linear(4, 6), activation, nn.Linear(6, 6), activation, nn.Linear(6, 3))


def shared_layer():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer, nn.ReLU(), nn.Linear(4, 3))


@pytest.mark.parametrize("make", [weight_normed, frozen, tied, hooked, without_bias, shared_activation, shared_layer])
def test_what_looks_like_a_perceptron(make):
    model, (x, y, ids) = make().double(), data()
    surface = surface_of_model(model, by_example, [(x, y, ids)])
    axes = axes_of(surface.parameters)
    found, alone = (plane(surface.losses, surface.parameters, *axes, AT, chunk) for chunk in (64, 1))
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-12)


def test_a_loader_may_shuffle():
    model, (x, y, ids) = relu_mlp((4, 6, 3), generator()).double(), data()
    whole = surface_of_model(model, by_example, [(x * (1 + ids[:, None]), y, ids)])
    loader = DataLoader(TensorDataset(x * (1 + ids[:, None]), y, ids), batch_size=6, shuffle=True, generator=generator())
    shuffled = surface_of_model(model, by_example, loader)
    torch.testing.assert_close(shuffled.losses(whole.parameters), whole.losses(whole.parameters), rtol=0, atol=1e-12)
    axes = axes_of(whole.parameters)
    found, wanted = (plane(one.losses, one.parameters, *axes, AT) for one in (shuffled, whole))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("as_installed")
def test_environments_are_integers():
    model, (x, y, ids) = relu_mlp((4, 6, 3), generator()).double(), data()
    for given in (["a", "b"] * 10, np.array(["a", "b"] * 10)):
        with pytest.raises(TypeError, match=r"environments should be integers\. Found 'a'\. Number them"):
            surface_of_model(model, by_example, [(x, y, given)])
    for wrong in (ids + 0.5, ids == 0, [0.2, 0.7] * 10, torch.full((20,), torch.nan), torch.full((20,), torch.inf)):
        with pytest.raises(TypeError, match=r"`environments` should hold one id for each example: integers"):
            surface_of_model(model, by_example, [(x, y, wrong)])
    wanted = surface_of_model(model, by_example, [(x, y, ids)])
    for right in (ids.float(), ids.to(torch.uint8), ids.tolist(), ids.numpy()):
        found = surface_of_model(model, by_example, [(x, y, right)])
        assert found.environments == (0, 1, 2)
        assert torch.equal(found.losses(found.parameters), wanted.losses(wanted.parameters))


def test_a_perceptron_that_is_given_a_tuple_or_another_mean():
    model, (x, y, ids) = relu_mlp((4, 6, 3), generator()).double(), data()
    plain, packed = (surface_of_model(model, by_example, [(given, y, ids)]) for given in (x, (x,)))
    axes = axes_of(plain.parameters)
    wanted = plane(plain.losses, plain.parameters, *axes, AT)
    torch.testing.assert_close(plane(packed.losses, packed.parameters, *axes, AT), wanted, rtol=0, atol=1e-12)
    found = plane(lambda p: plain.losses(p).max(), plain.parameters, *axes, AT)
    torch.testing.assert_close(found, wanted.amax(0), rtol=0, atol=1e-12)


def test_a_plane_of_a_quadratic_is_its_closed_form():
    h = torch.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    theta = {"t": torch.tensor([0.5, -1.0], dtype=torch.float64)}
    d, e = ({"t": torch.tensor(v, dtype=torch.float64)} for v in ([1.0, 0.0], [1.0, 1.0]))
    found = plane(lambda p: p["t"] @ h @ p["t"] / 2, theta, d, e, AT)
    for i, a in enumerate(AT[0]):
        for j, b in enumerate(AT[1]):
            point = theta["t"] + a * d["t"] + b * e["t"]
            assert float(found[i, j]) == pytest.approx(float(point @ h @ point / 2), abs=1e-14)


def convolutional():
    torch.manual_seed(0)
    layers = (nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3))
    model = nn.Sequential(*layers).double()
    model(torch.randn(30, 1, 4, 4, dtype=torch.float64))  # averages that are not the initial ones
    return model


@pytest.mark.parametrize("statistics", ["kept", "moved", "re-estimated"])
def test_batch_norm_s_statistics(statistics):
    model = convolutional()
    x = torch.randn(20, 1, 4, 4, dtype=torch.float64, generator=generator(4))
    _, y, ids = data()
    surface = surface_of_model(model, by_example, [(x, y, ids)], statistics)
    d = random_direction(surface.parameters, generator(5))
    found = line(surface.losses, surface.parameters, d, AT[0])
    literal = copy.deepcopy(model).train(statistics == "re-estimated")
    zero = {name: torch.zeros_like(tensor) for name, tensor in d.items()}
    at = (AT[0], torch.zeros(1, dtype=torch.float64))
    torch.testing.assert_close(found, oracles.plane(literal, by_example, x, y, ids, (d, zero), at)[:, :, 0])
    assert ("1.running_var" in surface.parameters) == (statistics == "moved")


def test_moved_statistics_move_between_models():
    one, other = convolutional(), convolutional()
    other[1].running_mean += 1
    _, y, ids = data()
    batch = [(torch.randn(20, 1, 4, 4, dtype=torch.float64, generator=generator(4)), y, ids)]
    start, end = (surface_of_model(model, by_example, batch, "moved") for model in (one, other))
    ends = line(start.losses, start.parameters, between(start.parameters, end.parameters), torch.tensor([0.0, 1.0]))
    torch.testing.assert_close(ends[:, 1], end.losses(end.parameters))


def test_constants_that_are_no_statistics_stay():
    model = convolutional()
    model[4].register_buffer("table", torch.eye(3, dtype=torch.float64))
    surface = surface_of_model(model, by_example, [(torch.zeros(1, 1, 4, 4), torch.zeros(1), [0])], "moved")
    assert {"1.running_mean", "1.running_var"} == surface.parameters.keys() - dict(model.named_parameters()).keys()


def test_axes_of_two_types_are_those_of_the_wider():
    theta = {"w": torch.tensor([1.0, 2.0])}
    first, second = ({"w": torch.tensor(v)} for v in ([1.0, 0.0], [0.0, 1.0]))
    found = plane(lambda p: p["w"].prod(), theta, first, second, (torch.tensor([0.0, 0.5]), torch.arange(2.0).double()))
    assert found.tolist() == [[2.0, 3.0], [3.0, 4.5]]


def test_named_and_several_inputs():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3).double()

        def forward(self, a, b):
            return self.layer(a + b)

    x, y, ids = data()
    found = [surface_of_model(Sum(), by_example, [(given, y, ids)]) for given in ((x, x), {"a": x, "b": x})]
    values = [float(one.mean(found[0].parameters)) for one in found]
    assert values[0] == values[1]


def test_flatness():
    at = torch.linspace(-2, 2, 41)
    assert flatness(at.square(), at, 1.0) == pytest.approx(2.0)
    assert flatness((at - 0.5).square(), at, 0.25) == pytest.approx(1.0, abs=1e-5)
    assert flatness(at.square(), at, 5.0) == float("inf")
    assert flatness(at, at, 1.0) == float("inf")
    assert flatness(torch.tensor([0.0, 0.1, 0.2]), torch.arange(3.0), 1.0) == float("inf")  # nor on the other side
    assert flatness(torch.tensor([101.0, 100.0, 101.0]), torch.tensor([-1.0, 0.0, 1.0]), 1e-6) == pytest.approx(2e-6)
    with pytest.raises(ValueError, match="lowest point"):
        flatness(torch.full((3,), torch.inf), torch.arange(3.0), 1.0)


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    model, (x, y, ids) = relu_mlp((4, 6, 3), generator()).double(), data()
    surface = surface_of_model(model, by_example, [(x, y, ids)])
    with pytest.raises(ValueError, match="running averages are 'kept', 'moved' or 're-estimated'"):
        surface_of_model(convolutional(), by_example, [(x, y, ids)])
    with pytest.raises(ValueError, match="again and again"):
        surface_of_model(model, by_example, iter([(x, y, ids)]))
    with pytest.raises(ValueError, match="Found none"):
        surface_of_model(model, by_example, [])
    reduced = surface_of_model(model, cross_entropy, [(x, y, ids)])
    with pytest.raises(ValueError, match="unreduced"):
        reduced.losses(reduced.parameters)
    with pytest.raises(ValueError, match="names and shapes"):
        line(surface.losses, surface.parameters, {"a": x}, AT[0])
    with pytest.raises(ValueError, match="two parts"):
        plane(surface.losses, surface.parameters, surface.parameters, surface.parameters, AT[:1])
    with pytest.raises(ValueError, match="at least one point"):
        line(surface.losses, surface.parameters, parameters_of(model), AT[0][:0])
    with pytest.raises(ValueError, match="`rise` should be positive"):
        flatness(AT[0], AT[0], 0.0)
    with pytest.raises(ValueError, match="Sort them"):
        flatness(AT[0], AT[0].flip(0), 1.0)
    frozen = relu_mlp((4, 3), generator()).requires_grad_(False)
    with pytest.raises(ValueError, match="Unfreeze"):
        surface_of_model(frozen, by_example, [(x, y, ids)])


def test_points_and_curves_that_are_not_numbers(as_installed):
    theta = {"weight": torch.ones(3)}

    def loss(some):
        return some["weight"].square().sum()

    at = torch.tensor([0.0, torch.nan, 1.0])
    with pytest.raises(ValueError, match=r"`at` should be finite\. Found nan at \(1,\)\. Write torch\.linspace"):
        line(loss, theta, theta, at)
    with pytest.raises(ValueError, match=r"`at\[1\]` should be finite\. Found inf"):
        plane(loss, theta, theta, theta, (torch.zeros(2), torch.tensor([torch.inf])))
    with pytest.raises(ValueError, match=r"`at` should have the shape \(n,\)\. Found \(2, 2\)"):
        line(loss, theta, theta, torch.zeros(2, 2))
    with pytest.raises(ValueError, match=r"`curve` should be numbers\. Found nan at 0\.5"):
        flatness(torch.tensor([0.0, torch.nan, 1.0]), torch.tensor([0.0, 0.5, 1.0]), 0.1)
    assert flatness(torch.tensor([torch.inf, 0.0, torch.inf]), torch.tensor([-1.0, 0.0, 1.0]), 0.1) == 0.0  # steep
    curves = torch.func.vmap(lambda scale: line(loss, theta, {"weight": scale * torch.ones(3)}, torch.tensor([0.0, 1.0])))
    assert curves(torch.tensor([0.0, 1.0])).tolist() == [[3.0, 3.0], [3.0, 12.0]]


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("found", [None, 1.5, "word", [1.0]])
def test_a_loss_that_returns_no_tensor_is_named(found, count):
    theta, at = {"weight": torch.ones(3)}, torch.linspace(-1, 1, count)
    sentence = r"`loss` should return one number, or one for each environment, .* Found"
    with pytest.raises(TypeError, match=sentence):
        line(lambda some: found, theta, theta, at)
    with pytest.raises(TypeError, match=sentence):
        plane(lambda some: found, theta, theta, theta, (at, at[:1]))


@pytest.mark.usefixtures("as_installed")
def test_a_model_that_returns_other_rows_is_named():
    model, x = nn.Linear(2, 1), torch.ones(4, 2)

    def losses(change):
        class Changed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, given):
                return change(self.model(given))

        return surface_of_model(Changed(), lambda out, y: (out[:, 0] - y).square(), [(x, torch.ones(4), [0, 0, 1, 1])])

    for change, sentence in (
        (lambda out: torch.cat([out, out[:1]]), r"a row for each example, shape \(4, 1\)\. Found shape \(5, 1\)"),
        (lambda out: out.sum(), r"Found shape \(\)"),
        (lambda out: None, r"should return a tensor, or tensors\. Found NoneType"),
        (lambda out: 1.5, "Found float"),
    ):
        surface = losses(change)
        with pytest.raises((TypeError, ValueError), match=rf"`model` .*{sentence}"):
            line(surface.losses, surface.parameters, surface.parameters, torch.linspace(-1, 1, 3))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (torch.ones(3, dtype=torch.int64), "should hold floating numbers"),
        (torch.ones(3, dtype=torch.bool), "should hold floating numbers"),
        (torch.ones(3).to(torch.float8_e4m3fn), "should hold floats of two bytes or more"),
        (torch.ones(3, device="meta"), "should hold data"),
    ],
)
def test_a_curve_that_has_no_floats_is_named(other, sentence, place):
    given = [torch.tensor([1.0, 0.0, 1.0]), torch.tensor([-1.0, 0.0, 1.0])]
    given[place] = other
    with pytest.raises(TypeError, match=f"`{('curve', 'at')[place]}` {sentence}"):
        flatness(*given, 0.1)

import pytest
import torch
from torch import nn

import surfaces_oracles as oracles
from mechlearn.params import dot, map_params, parameters_of
from mechlearn.surfaces import between, flat, from_flat, line, orthogonal_to, random_direction, rescale_units, surface_of_model
from mechlearn.surfaces.directions import Normalisation


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def model():
    torch.manual_seed(0)
    layers = (nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 2))
    return nn.Sequential(*layers).double()


def test_filters_layers_weights_and_biases():
    theta = parameters_of(model())
    raw, by_filter, by_layer, by_weight = (
        random_direction(theta, generator(), how, "kept") for how in ("none", "filter", "layer", "weight")
    )
    for name, tensor in theta.items():
        if tensor.dim() == 1:
            assert torch.equal(by_filter[name], tensor)
            continue
        torch.testing.assert_close(by_filter[name], oracles.filter_normalised(raw[name], tensor), rtol=1e-14, atol=0)
        torch.testing.assert_close(by_layer[name], raw[name] / raw[name].norm() * tensor.norm(), rtol=1e-14, atol=0)
        assert torch.equal(by_weight[name], raw[name] * tensor)
    zero = random_direction(theta, generator())
    assert all(not zero[name].any() for name in theta if theta[name].dim() == 1)
    assert torch.equal(zero["0.weight"], by_filter["0.weight"])


def test_a_filter_of_zeros_stays():
    found = random_direction({"w": torch.tensor([[0.0, 0.0], [3.0, 4.0]])}, generator())
    assert found["w"][0].tolist() == [0.0, 0.0]
    assert float(found["w"][1].norm()) == pytest.approx(5.0)


def change(normalise: Normalisation, factors):
    """How much the curve along one and the same draw changes when units are rescaled."""
    one = model()
    other = rescale_units(one, factors)
    x = torch.randn(30, 1, 4, 4, dtype=torch.float64, generator=generator(1))
    y = torch.randint(0, 2, (30,), generator=generator(2))
    at = torch.linspace(-1, 1, 7, dtype=torch.float64)
    curves = []
    for net in (one, other):
        surface = surface_of_model(
            net, lambda out, y: nn.functional.cross_entropy(out, y, reduction="none"), [(x, y, [0] * 30)]
        )
        curves.append(line(surface.mean, surface.parameters, random_direction(surface.parameters, generator(3), normalise), at))
    return float((curves[0] - curves[1]).abs().max())


@pytest.mark.parametrize("normalise", ["filter", "layer", "weight"])
def test_curves_do_not_see_the_scale_of_layers(normalise):
    layers = [torch.full((n,), c, dtype=torch.float64) for n, c in ((3, 10.0), (5, 0.2))]
    assert change(normalise, layers) < 1e-12
    assert change("none", layers) > 1e-2


def test_curves_see_the_scale_of_units_unless_each_weight_is_normalised():
    units = [torch.linspace(1, 10, n, dtype=torch.float64) for n in (3, 5)]
    assert change("weight", units) < 1e-12
    assert change("filter", units) > 1e-3
    assert change("layer", units) > 1e-3


def test_between_flat_and_orthogonal():
    one = parameters_of(model())
    other = map_params(lambda t: t + 1, one)
    d = between(one, other)
    assert torch.equal(flat(d), torch.ones(len(flat(one)), dtype=torch.float64))
    assert all(torch.equal(t, one[name]) for name, t in from_flat(flat(one), one).items())
    left = orthogonal_to(one, [d, random_direction(one, generator())])
    assert float(dot(left, d)) == pytest.approx(0, abs=1e-10)
    with pytest.raises(ValueError, match="nothing is left"):
        orthogonal_to(d, [d])


def test_others_that_lie_in_each_other_take_nothing_away_twice():
    d, b = ({"w": torch.tensor([numbers])} for numbers in ([1.0, 1.0, 0.0], [0.3, 0.7, 0.1]))
    once = orthogonal_to(d, [b])
    for other in (b, {"w": 1.7 * b["w"]}):
        assert torch.equal(orthogonal_to(d, [b, other])["w"], once["w"])
    with pytest.raises(ValueError, match=r"zeros alone in others\[0\]"):
        orthogonal_to(d, [between(d, d)])


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    theta = parameters_of(model())
    with pytest.raises(TypeError, match="dictionary of tensors by name"):
        random_direction(model(), generator())
    with pytest.raises(ValueError, match='"filter", "layer", "weight" or "none"'):
        random_direction(theta, generator(), "unit")
    with pytest.raises(ValueError, match='"zero" or "kept"'):
        random_direction(theta, generator(), "filter", "ignored")
    with pytest.raises(TypeError, match="Generator"):
        random_direction(theta, 0)
    with pytest.raises(ValueError, match="of one at least"):
        random_direction({}, generator())
    with pytest.raises(ValueError, match="same names and shapes"):
        between(theta, {"a": torch.zeros(1)})
    with pytest.raises(ValueError, match=r"should have the shape"):
        from_flat(torch.zeros(3), theta)

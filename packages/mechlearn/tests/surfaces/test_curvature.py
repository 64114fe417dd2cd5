import pytest
import torch
from torch import nn

import surfaces_oracles as oracles
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.surfaces import convexity_plane, extreme_curvature, flat, from_flat, random_direction, surface_of_model


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def surface():
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, generator=generator(3))
    x = torch.randn(20, 3, dtype=torch.float64, generator=generator(1))
    y = torch.randint(0, 2, (20,), generator=generator(2))
    return surface_of_model(model, lambda o, y: nn.functional.cross_entropy(o, y, reduction="none"), [(x, y, [0] * 20)])


def test_extremes_are_those_of_the_dense_hessian():
    found = surface()
    matrix = oracles.hessian(lambda theta: found.mean(from_flat(theta, found.parameters)), flat(found.parameters))
    values = torch.linalg.eigvalsh(matrix)
    extremes = extreme_curvature(found.mean, found.parameters, generator(), 1e-8)
    assert extremes.smallest == pytest.approx(float(values[0]), rel=1e-6)
    assert extremes.largest == pytest.approx(float(values[-1]), rel=1e-6)
    assert extremes.ratio == pytest.approx(abs(float(values[0] / values[-1])), rel=1e-6)
    assert extremes.products > 0


def test_quadratics_of_any_size_and_a_plane():
    h = torch.diag(torch.tensor([4.0, -1.0, 0.5]))
    for size in (3, 2, 1):
        found = extreme_curvature(lambda p, n=size: p["t"] @ h[:n, :n] @ p["t"] / 2, {"t": torch.ones(size)}, generator())
        assert found.largest == pytest.approx(4.0)
        assert found.smallest == pytest.approx(-1.0 if size > 1 else 4.0)
    bowl = surface()
    axes = tuple(random_direction(bowl.parameters, generator(seed)) for seed in (0, 1))
    at = (torch.tensor([0.0, 0.5]), torch.tensor([0.0]))
    plane = convexity_plane(bowl.mean, bowl.parameters, axes, at, generator(), 1e-6)
    assert plane.shape == (2, 1)
    assert float(plane[0, 0]) == pytest.approx(extreme_curvature(bowl.mean, bowl.parameters, generator(), 1e-6).ratio, rel=1e-3)


@pytest.mark.parametrize("size", [3, 4, 6])
def test_a_loss_that_is_linear_has_no_curvature(size):
    for loss in (lambda p: p["t"].sum(), lambda p: 0 * p["t"].square().sum()):
        found = extreme_curvature(loss, {"t": torch.ones(size)}, generator())
        assert (found.smallest, found.largest, found.ratio) == (0, 0, 0)
        assert found.products > 0


def test_relu_networks_in_single_precision():
    model = relu_mlp((3, 8, 1), generator())
    x = torch.randn(10, 3, generator=generator(1))
    found = surface_of_model(model, lambda o, y: (o[:, 0] - y).square(), [(x, x[:, 0], [0] * 10)])
    assert extreme_curvature(found.mean, found.parameters, generator()).largest > 0


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    theta = {"t": torch.ones(5)}
    with pytest.raises(ValueError, match=r"`loss` should return one number, shape \(1,\)\. Found shape \(5,\)"):
        extreme_curvature(lambda p: p["t"], theta, generator())
    with pytest.raises(ValueError, match="`tolerance` should be positive"):
        extreme_curvature(lambda p: p["t"].sum(), theta, generator(), 0.0)
    for found in (None, 1.5, torch.tensor(1), torch.tensor(1j), torch.ones((), device="meta")):
        with pytest.raises(TypeError, match=r"`loss` should return (one number|floats).* Found"):
            extreme_curvature(lambda p, found=found: found, theta, generator())
    with pytest.raises(TypeError, match="Generator"):
        extreme_curvature(lambda p: p["t"].sum(), theta, None)


def test_a_graph_is_kept_where_none_is_kept_around():
    with torch.no_grad():
        assert extreme_curvature(lambda p: p["t"].square().sum(), {"t": torch.ones(2)}, generator()).largest == 2
    with torch.inference_mode(), pytest.raises(RuntimeError, match="Leave it out"):
        extreme_curvature(lambda p: p["t"].square().sum(), {"t": torch.ones(2)}, generator())

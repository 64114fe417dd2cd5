"""Products against dense second derivatives by torch.autograd.functional."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd.functional import hessian, jacobian
from torch.func import functional_call
from torch.utils.data import DataLoader

from mechlearn.surfaces import landscape_of_functions, landscape_of_model, surface_of_model
from small_models import batch, make, squared

DATA = batch(4, [0, 0, 3, 3, 7, 7, 7])


def dense(model, landscape, e, gauss_newton):
    x, y, ids = DATA
    rows = ids == landscape.environments[e]
    shapes = {name: dict(model.named_parameters())[name].shape for name in landscape.parameters}

    def output(theta):
        return functional_call(model, {n: theta[place].view(shapes[n]) for n, place in landscape.parameters.items()}, x[rows])

    def loss(output):
        return squared(output, y[rows]).mean()

    if not gauss_newton:
        return hessian(lambda theta: loss(output(theta)), landscape.point)
    slopes = jacobian(output, landscape.point).flatten(0, -2)
    out = output(landscape.point)
    middle = hessian(lambda flat: loss(flat.view(out.shape)), out.detach().flatten())
    return slopes.T @ middle @ slopes


@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("name", ["sequence", "unusual"])
def test_products_and_dense_matrices(name, curvature):
    model = make(name, 1)
    (x, y, ids), cuts = DATA, [torch.tensor([0, 2, 4]), torch.tensor([1, 3, 5, 6])]
    landscape = landscape_of_model(model, squared, [(x[rows], y[rows], ids[rows]) for rows in cuts])
    expected = dense(model, landscape, 2, curvature == "gauss-newton")
    torch.testing.assert_close(landscape.hessian(2, curvature), expected, rtol=1e-9, atol=1e-12)
    vector = torch.randn(len(landscape.point), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(landscape.product(2, vector, curvature), expected @ vector, rtol=1e-9, atol=1e-12)


def test_losses_and_gradients_elsewhere():
    model = make("mlp", 1)
    landscape = landscape_of_model(model, squared, [DATA])
    theta = landscape.point + 0.1
    value, gradient = landscape.gradient(1, theta)
    assert value == pytest.approx(landscape.loss(1, theta))
    step = 1e-6 * gradient / gradient.norm()
    rise = (landscape.loss(1, theta + step) - landscape.loss(1, theta - step)) / 2e-6
    assert rise == pytest.approx(float(gradient.norm()), rel=1e-6)
    assert landscape.loss(1) != value


def test_a_loss_without_curvature():
    slope = torch.tensor([1.0, -2.0])
    landscape = landscape_of_functions([lambda x: slope @ x, lambda x: (x * x).sum()], torch.zeros(2))
    assert torch.equal(landscape.product(0, torch.ones(2)), torch.zeros(2))
    assert torch.equal(landscape.hessian(1), 2 * torch.eye(2))


def test_a_point_that_is_not_finite_is_refused(as_installed):
    with pytest.raises(ValueError, match=r"`point` should be finite\. Found nan at \(1,\)"):
        landscape_of_functions([torch.sum], torch.tensor([0.0, torch.nan]))
    with pytest.raises(TypeError, match="`point` should hold floating numbers"):
        landscape_of_functions([torch.sum], torch.tensor([0, 1]))


def test_losses_that_are_reduced_over_examples_are_refused():
    x, y = torch.randn(7, 2), torch.randn(7, 3)
    found = landscape_of_model(nn.Linear(2, 3), lambda out, y: ((out - y) ** 2).mean(0), [(x, y, [0] * 5 + [1] * 2)])
    with pytest.raises(ValueError, match=r"shape \(5,\)\. Found shape \(3,\)"):
        found.loss(0)


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, one, other, sign=1):
        return sign * self.layer(torch.cat([one, other], 1))[:, 0]


def test_inputs_in_lists_are_those_of_tuples():
    torch.manual_seed(0)
    model, x, y, ids = TwoInputs(), torch.randn(6, 2), torch.randn(6), [0, 1, 1, 1, 1, 1]
    loader = DataLoader([((x[i], 2 * x[i]), y[i], ids[i]) for i in range(6)], batch_size=4)
    assert isinstance(next(iter(loader))[0], list)

    def loss(output, y):
        return (output - y) ** 2

    wanted = float((model(x[:1], 2 * x[:1]) - y[:1]).detach() ** 2)
    assert landscape_of_model(model, loss, loader).loss(0) == pytest.approx(wanted)
    assert landscape_of_model(model, loss, [((x, 2 * x, -1), y, ids)]).loss(0) != pytest.approx(wanted)
    surface = surface_of_model(model, loss, loader)
    assert float(surface.losses(surface.parameters)[0]) == pytest.approx(wanted)
    with pytest.raises(TypeError, match="Found ndarray"):
        landscape_of_model(model, loss, [((x, np.zeros((6, 2))), y, ids)]).loss(0)


def test_gradients_without_a_graph_around():
    landscape = landscape_of_model(make("mlp", 1), squared, [DATA])
    with torch.no_grad():
        assert torch.equal(landscape.gradient(1)[1], landscape_of_model(make("mlp", 1), squared, [DATA]).gradient(1)[1])
        assert bool(landscape.product(1, torch.ones_like(landscape.point)).any())
    with torch.inference_mode(), pytest.raises(RuntimeError, match="Leave it out"):
        landscape.gradient(1)

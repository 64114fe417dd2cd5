import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import robustness_oracles as oracle
from mechlearn_zoo.methods.robustness.norms import Ball, dual, norms, project, steepest

NORMS = (1, 2, math.inf)


def draw(seed, n=3, d=5):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, d, generator=generator, dtype=torch.float64)
    return x, 2 * torch.randn(n, d, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("box", [None, (0.0, 1.0)])
@pytest.mark.parametrize("seed", range(4))
def test_projection_is_the_nearest_point(p, box, seed):
    x, delta = draw(seed)
    found = project(delta, Ball(0.7, p, box), x)
    for one, wanted, start in zip(found, delta, x, strict=True):
        best = oracle.nearest(wanted.numpy(), start.numpy(), 0.7, p, box)
        np.testing.assert_allclose(one.numpy(), best, atol=2e-6)


@given(
    seed=st.integers(0, 10**6), p=st.sampled_from(NORMS), radius=st.sampled_from([0.0, 0.01, 0.3, 1.0, 5.0]), box=st.booleans()
)
def test_projection_stays_within_and_moves_nothing_twice(seed, p, radius, box):
    x, delta = draw(seed, 4, 6)
    delta[0, :3] = 0.0
    x[1] = x[1].round()
    ball = Ball(radius, p, (0.0, 1.0) if box else None)
    found = project(delta, ball, x)
    assert (norms(found, p) <= radius + 1e-12).all()
    if box:
        assert ((x + found >= -1e-12) & (x + found <= 1 + 1e-12)).all()
    torch.testing.assert_close(project(found, ball, x), found, rtol=0, atol=1e-12)


def test_projection_uses_the_whole_radius_where_scaling_and_clipping_does_not():
    x, delta = torch.tensor([[0.0, 0.5, 0.5]]), torch.tensor([[-1.0, 1.0, 0.5]])
    ball = Ball(0.4, 2, (0.0, 1.0))
    assert norms(project(delta, ball, x), 2).item() == pytest.approx(0.4)
    assert norms((delta * 0.4 / delta.norm()).clamp(-x, 1 - x), 2).item() < 0.3


@pytest.mark.parametrize("p", NORMS)
def test_the_steepest_direction_attains_the_dual_norm_and_nothing_exceeds_it(p):
    _, gradient = draw(7, 4, 6)
    best = (steepest(gradient, 0.3, p) * gradient).sum(1)
    torch.testing.assert_close(best, 0.3 * norms(gradient, dual(p)))
    generator = torch.Generator().manual_seed(0)
    for _ in range(300):
        other = torch.randn(gradient.shape, generator=generator, dtype=torch.float64)
        other = other * (0.3 / norms(other, p))[:, None]
        assert ((other * gradient).sum(1) <= best + 1e-12).all()


def test_no_gradient_no_direction():
    for p in NORMS:
        assert not steepest(torch.zeros(2, 3), 1.0, p).any()


def test_shapes_are_kept():
    x = torch.rand(2, 1, 4, 4)
    delta = torch.randn(2, 1, 4, 4)
    for p in NORMS:
        assert project(delta, Ball(0.2, p, (0.0, 1.0)), x).shape == x.shape
        assert steepest(delta, 0.2, p).shape == x.shape


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Ball(-1.0), "`radius` should be finite and at least 0. Found -1.0"),
        (lambda: Ball(1.0, 3), "`p` should be 1, 2 or math.inf. Found 3"),
        (lambda: Ball(1.0, 2, (1.0, 0.0)), "lower end first"),
        (lambda: Ball(1.0, 2, [0, 1]), "pair of numbers"),
        (lambda: project(torch.zeros(1, 2), Ball(1.0, 2, (0.0, 1.0)), torch.tensor([[0.0, 2.0]])), "within the box"),
        (lambda: project(torch.zeros(1, 3), Ball(1.0), torch.zeros(1, 2)), "the shape of `x`"),
        (lambda: project(torch.zeros(1, 2), Ball(1.0), torch.full((1, 2), torch.nan)), "finite"),
        (lambda: dual(0.5), "`p` should be"),
    ],
)
def test_bad_input(make, sentence, as_installed):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


SMALL = [(torch.float32, 1e-24), (torch.float32, 1e-44), (torch.float64, 1e-200)]
EXTREMES = [*SMALL, (torch.float32, 1e25), (torch.float16, 300.0), (torch.float64, 1e200)]


@pytest.mark.parametrize(("dtype", "scale"), EXTREMES)
def test_lengths_and_directions_need_no_squares_within_the_type(dtype, scale):
    x = torch.tensor([[3.0, -4.0], [0.0, 0.0]], dtype=dtype) * torch.tensor(scale, dtype=dtype)
    wanted = torch.tensor([math.hypot(*row) for row in x.tolist()], dtype=dtype)
    torch.testing.assert_close(norms(x, 2), wanted, rtol=1e-3, atol=0)
    best = steepest(x, 2.0, 2).double()
    unit = x.double() / torch.where(wanted > 0, wanted, 1).double()[:, None]
    torch.testing.assert_close(best, 2 * unit, rtol=2e-3, atol=0)


@pytest.mark.parametrize("box", [None, (-1.0, 1.0)])
def test_a_perturbation_whose_square_overflows_is_projected_along_itself(box):
    x = torch.zeros(1, 2)
    found = project(torch.tensor([[3e25, -4e25]]), Ball(0.5, 2, box), x)
    torch.testing.assert_close(found, torch.tensor([[0.3, -0.4]]))


def test_powers_of_two_round_nothing():
    x = torch.randn(20, 300, generator=torch.Generator().manual_seed(0)) * 10.0 ** torch.arange(-12, 8)[:, None]
    plain = torch.linalg.vector_norm(x, dim=1)
    assert torch.equal(norms(x, 2), plain)
    assert torch.equal(steepest(x, 0.3, 2), x * (0.3 / plain[:, None]))

"""The quadratic program with one quadratic constraint against dense grids and scipy's constrained optimisation."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import consistency_oracles as oracles
from mechlearn.surfaces.consistency.program import NotPositiveError, Quadratic, maximise


def problem(seed, n, linear=1.0, definite=None):
    """A random objective and a positive definite constraint; `definite` shifts the objective's curvature."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=generator)  # noqa: E731
    r, m = draw(n, n), draw(n, n)
    constraint = Quadratic(0.0, linear * draw(n), r @ r.T + 0.2 * torch.eye(n))
    matrix = (m + m.T) / 2 if definite is None else definite * (m @ m.T + 0.5 * torch.eye(n))
    return Quadratic(float(draw(1)), draw(n), matrix), constraint


def check(objective, constraint, upper, lower, expected, rel=1e-6):
    found = maximise(objective, constraint, upper, lower)
    assert found.value == pytest.approx(expected, rel=rel, abs=1e-6)
    assert objective.value(found.point) == pytest.approx(found.value, rel=1e-9, abs=1e-9)
    level = constraint.value(found.point)
    assert level <= upper + 1e-9
    assert lower is None or level >= lower - 1e-9
    slope = objective.linear + objective.matrix @ found.point
    rise = constraint.linear + constraint.matrix @ found.point
    torch.testing.assert_close(slope, found.multiplier * rise, rtol=1e-6, atol=1e-6 * float(1 + slope.norm()))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    linear=st.sampled_from([0.0, 1.0]),
    definite=st.sampled_from([None, -1.0, 1.0]),
    lower=st.sampled_from([None, -0.3]),
)
def test_two_dimensions_against_a_dense_grid(seed, linear, definite, lower):
    objective, constraint = problem(seed, 2, linear, definite)
    expected = oracles.greatest_by_polar_grid(objective, constraint, 0.3, lower)
    found = maximise(objective, constraint, 0.3, lower).value
    assert found >= expected - 1e-9
    assert found == pytest.approx(expected, rel=2e-3, abs=1e-3)
    check(objective, constraint, 0.3, lower, found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("lower", "definite"), [(None, None), (-0.1, None), (-0.1, -1.0)])
def test_three_dimensions_against_constrained_optimisation(seed, lower, definite):
    objective, constraint = problem(seed, 3, definite=definite)
    check(objective, constraint, 0.5, lower, oracles.greatest_by_search(objective, constraint, 0.5, lower, 20, seed))


def test_the_hard_case():
    """No linear term along the top eigenvector: nothing but a multiple of that vector fills up the norm."""
    objective = Quadratic(0.0, torch.tensor([0.0, 0.1, 0.0]), torch.tensor([5.0, 1.0, -1.0]).diag())
    constraint = Quadratic(0.0, torch.zeros(3), torch.eye(3))
    found = maximise(objective, constraint, 0.5)
    y = 0.1 / (5 - 1)
    assert found.multiplier == pytest.approx(5)
    assert found.value == pytest.approx(0.1 * y + y * y / 2 + 5 * (1 - y * y) / 2)
    torch.testing.assert_close(found.point.abs(), torch.tensor([(1 - y * y) ** 0.5, y, 0.0]).double())


@pytest.mark.parametrize("tiny", [1e-6, 1e-12, 1e-18, 1e-300])
def test_nearly_the_hard_case(tiny):
    objective = Quadratic(0.0, torch.tensor([tiny, 0.1], dtype=torch.float64), torch.tensor([5.0, 1.0]).double().diag())
    constraint = Quadratic(0.0, torch.zeros(2), torch.eye(2))
    y = 0.1 / 4
    expected = 0.1 * y + y * y / 2 + 5 * (1 - y * y) / 2
    assert maximise(objective, constraint, 0.5).value == pytest.approx(expected, abs=1e-5)


def test_equal_top_eigenvalues():
    objective = Quadratic(0.0, torch.tensor([0.3, 0.4, 0.0]), torch.tensor([2.0, 2.0, 1.0]).diag())
    found = maximise(objective, Quadratic(0.0, torch.zeros(3), torch.eye(3)), 0.5)
    torch.testing.assert_close(found.point, torch.tensor([0.6, 0.8, 0.0]).double())
    assert found.value == pytest.approx(0.5 + 1.0)


def test_a_maximum_in_the_interior_and_one_in_the_hole():
    bowl = Quadratic(0.0, torch.tensor([0.2, 0.0]).double(), -torch.eye(2).double())
    round_ = Quadratic(0.0, torch.zeros(2), torch.eye(2))
    inside = maximise(bowl, round_, 0.5)
    assert inside.multiplier == 0
    torch.testing.assert_close(inside.point, torch.tensor([0.2, 0.0]).double())
    # Around (1, 0) the loss falls by 1/2; where it may fall by 0.1 only, the way to (1, 0) ends on the inner circle.
    shifted = Quadratic(0.0, torch.tensor([-1.0, 0.0]).double(), torch.eye(2).double())
    wish = Quadratic(0.0, torch.tensor([1.0, 0.0]).double(), -torch.eye(2).double())
    torch.testing.assert_close(maximise(wish, shifted, 0.1).point, torch.tensor([1.0, 0.0]).double())
    found = maximise(wish, shifted, 0.1, -0.1)
    assert shifted.value(found.point) == pytest.approx(-0.1)
    assert found.multiplier < 0


@given(slope=st.floats(-2, 2), curve=st.floats(-3, 3), tilt=st.floats(-2, 2))
def test_one_dimension_keeps_to_its_side(slope, curve, tilt):
    """The shell around the minimum is two intervals; only the one with the start is connected to it."""
    objective = Quadratic(0.0, torch.tensor([slope]), torch.tensor([[curve]]))
    constraint = Quadratic(0.0, torch.tensor([tilt]), torch.ones(1, 1))
    x = torch.linspace(-8, 8, 64001, dtype=torch.float64)
    inside = (tilt * x + x * x / 2).abs() <= 0.2
    start = len(x) // 2
    left = start - int((~inside[: start + 1]).flip(0).double().argmax()) + 1
    right = start + int((~inside[start:]).double().argmax())
    expected = float((slope * x + curve * x * x / 2)[left:right].max())
    assert maximise(objective, constraint, 0.2, -0.2).value == pytest.approx(expected, abs=5e-3)


def test_errors():
    flat = Quadratic(0.0, torch.zeros(2), torch.tensor([1.0, 0.0]).diag())
    with pytest.raises(NotPositiveError, match="eigenvalue 0"):
        maximise(flat, flat, 1.0)
    with pytest.raises(ValueError, match="0 should satisfy"):
        maximise(flat, Quadratic(2.0, torch.zeros(2), torch.eye(2)), 1.0)

"""`cagrad`, against all supports of its dual in turn, and against the problem that it solves."""

import itertools

import pytest
import torch

from mechlearn.agreement.torchjd import aggregate
from mechlearn.environments import group
from mechlearn.penalties import cagrad
from mechlearn.penalties.gradients import environment_gradients
from small_models import batch, make, squared


def drawn(seed, environments, components, common=0.0):
    generator = torch.Generator().manual_seed(seed)
    g = torch.randn(environments, components, dtype=torch.float64, generator=generator)
    return g + common * torch.randn(components, dtype=torch.float64, generator=generator)


def literal(g, c):
    """The best d over all sets of environments that may be worst: on each set g_e d is one number, as large as can be.

    With d = g_0 + sum_e v_e g_e over the set, gram v = n 1 - gram_0 and v gram v = c^2 g_0 g_0: a quadratic equation in n.
    """
    g0 = g.mean(0)
    best = g0
    for size in range(1, len(g) + 1):
        for some in itertools.combinations(range(len(g)), size):
            own = g[list(some)]
            gram = own @ own.T
            if torch.linalg.cond(gram) > 1e10:
                continue
            ones, along = torch.ones(size, dtype=g.dtype), own @ g0
            a, b = torch.linalg.solve(gram, ones), torch.linalg.solve(gram, along)
            p, q, r = ones @ a, ones @ b, along @ b - c**2 * g0 @ g0
            if q**2 - p * r < 0:
                continue
            number = (q + (q**2 - p * r).sqrt()) / p
            d = g0 + (number * a - b) @ own
            if (g @ d).min() > (g @ best).min():
                best = d
    return best


@pytest.mark.parametrize("c", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("environments", "components"), [(2, 2), (2, 7), (3, 5), (4, 4), (5, 30)])
def test_no_set_of_environments_has_a_better_direction(environments, components, c):
    for seed in range(6):
        g = drawn(seed, environments, components, common=0.5 * (seed % 3))
        g0, d = g.mean(0), cagrad(g, c)
        assert (d - g0).norm() <= c * g0.norm() * (1 + 1e-9)
        torch.testing.assert_close((g @ d).min(), (g @ literal(g, c)).min(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("environments", "components"), [(8, 5), (16, 8), (32, 400), (64, 200)])
def test_the_value_is_that_of_the_dual_so_that_nothing_is_better(environments, components):
    g = drawn(environments, environments, components, common=0.3)
    g0, d = g.mean(0), cagrad(g, 0.5)
    radius = 0.5 * g0.norm()
    weights = torch.linalg.lstsq(g.T, d - g0).solution.clamp(min=0)  # those of some g_w along d - g_0
    if components >= environments:  # where they are the only ones
        weights = weights / weights.sum()
        bound = weights @ g @ g0 + radius * (weights @ g).norm()
        torch.testing.assert_close((g @ d).min(), bound, rtol=1e-6, atol=1e-8)
    others = torch.randn(2000, components, dtype=g.dtype, generator=torch.Generator().manual_seed(0))
    others = g0 + radius * others / others.norm(dim=1, keepdim=True)
    assert (others @ g.T).amin(1).max() <= (g @ d).min()


def test_without_conflict_of_two_equal_ones_it_is_a_longer_mean_and_at_0_the_mean():
    g = torch.tensor([[1.0, 1.0], [1.0, 1.0]])
    torch.testing.assert_close(cagrad(g, 0.5), torch.tensor([1.5, 1.5]))
    g = drawn(0, 3, 4)
    torch.testing.assert_close(cagrad(g, 0.0), g.mean(0))
    assert torch.equal(cagrad(torch.zeros(2, 3)), torch.zeros(3))


@pytest.mark.parametrize("c", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("g", [[[-1.0, 0.0], [2.0, 0.0], [0.0, 3.0]], [[0.0, 0.0], [1.0, 2.0]], [[1.0, 0.0], [-0.5, 0.0]]])
def test_where_gradients_cancel_or_are_0_it_is_the_best_of_a_fine_grid(g, c):
    g = torch.tensor(g, dtype=torch.float64)
    g0, d = g.mean(0), cagrad(g, c)
    angles = torch.linspace(0, 2 * torch.pi, 2001, dtype=torch.float64)
    circle = torch.stack([angles.cos(), angles.sin()], 1)
    grid = g0 + c * g0.norm() * torch.linspace(0, 1, 41, dtype=torch.float64)[:, None, None] * circle
    assert (g @ d).min() >= (grid @ g.T).amin(-1).max() - 1e-5


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float32, 1e-25), (torch.float32, 1e25), (torch.float16, 300.0)])
def test_any_scale_of_gradients(dtype, scale):
    g = torch.tensor([[4.0, 0.0], [-2.0, 1.0]], dtype=dtype)
    found = cagrad(g * scale, 0.9)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double() / scale, cagrad(g.double(), 0.9), rtol=2e-3, atol=1e-6)


def test_a_model_trains_with_it():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 1, 1, 2])
    parameters = list(model.parameters())
    rows = environment_gradients(squared(model(x), y), group(squared(model(x), y), ids), parameters, create_graph=False)
    aggregate(model, squared(model(x), y), ids, cagrad)
    torch.testing.assert_close(torch.cat([p.grad.flatten() for p in parameters]), cagrad(rows))


@pytest.mark.usefixtures("as_installed")
def test_wrong_arguments_end_in_a_sentence():
    with pytest.raises(ValueError, match=r"`gradients` should have the shape \(E, P\)\. Found \(3,\)"):
        cagrad(torch.ones(3))
    with pytest.raises(TypeError, match="`gradients` should hold floating numbers"):
        cagrad(torch.ones(2, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"`gradients` should be finite\. Found nan at \(0, 1\)\. Lower the"):
        cagrad(torch.tensor([[1.0, torch.nan]]))
    for c in (1.0, -0.1):
        with pytest.raises(ValueError, match=r"`c` should lie in \[0, 1\)"):
            cagrad(torch.ones(2, 2), c)

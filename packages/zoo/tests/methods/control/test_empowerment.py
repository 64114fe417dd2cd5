import math

import numpy as np
import pytest
import torch

import control_finite_oracles as oracle
from mechlearn_zoo.methods.control.empowerment import capacity, merge_equal_rows, mutual_information, n_step_channel, reachable
from mechlearn_zoo.tasks.finite.grids import open_grid


def entropy(p):
    return sum(-x * math.log2(x) for x in (p, 1 - p) if x > 0)


@pytest.mark.parametrize("p", [0.0, 0.01, 0.1, 0.3, 0.5])
def test_closed_forms(p):
    flips, erases = [[1 - p, p], [p, 1 - p]], [[1 - p, 0, p], [0, 1 - p, p]]
    falls = [[1, 0], [p, 1 - p]]
    for rows, wanted in ((flips, 1 - entropy(p)), (erases, 1 - p), (falls, math.log2(1 + (1 - p) * p ** (p / (1 - p))))):
        found = capacity(torch.tensor(rows, dtype=torch.float64), 1e-12)
        assert float(found.bits) == pytest.approx(wanted, abs=1e-12)
        assert float(found.upper - found.lower) <= 1e-12
    assert float(capacity(torch.eye(7, dtype=torch.float64), 1e-12).bits) == pytest.approx(math.log2(7), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_both_solvers_meet_the_literal_iteration(seed):
    draw = np.random.default_rng(seed)
    channel = draw.dirichlet(np.full(6, 0.3), size=5)
    channel[draw.random(channel.shape) < 0.3] = 0
    channel[:, 0] += 1e-3
    channel /= channel.sum(1, keepdims=True)
    lower, upper, q = oracle.blahut_arimoto(channel, 800)
    for solver, tolerance in (("newton", 1e-9), ("blahut-arimoto", 1e-5)):
        found = capacity(torch.as_tensor(channel), tolerance, solver=solver)
        assert lower - tolerance <= float(found.bits) <= upper + 1e-12
        assert lower - 1e-12 <= float(found.upper)
        assert float(found.lower) <= upper + 1e-12
    np.testing.assert_allclose(capacity(torch.as_tensor(channel)).input, q, atol=5e-2)


def test_a_hundred_channels_are_certified():
    generator = torch.Generator().manual_seed(0)
    channels = torch.rand(100, 9, 7, dtype=torch.float64, generator=generator).pow(4)
    channels = torch.where(torch.rand(channels.shape, generator=generator) < 0.5, 0.0, channels)
    channels[..., 0] += 1e-9
    channels[:, 3] = channels[:, 5]
    channels /= channels.sum(-1, keepdim=True)
    found = capacity(channels, 1e-10)
    assert float((found.upper - found.lower).max()) <= 1e-10
    assert found.input.ge(0).all()
    torch.testing.assert_close(found.input.sum(-1), torch.ones(100, dtype=torch.float64))
    torch.testing.assert_close(mutual_information(channels, found.input), found.bits, rtol=0, atol=1e-12)


def test_rows_that_sum_to_one_only_roughly_are_divided_by_their_sums():
    """Else the bounds are those of no channel: they miss the capacity by more than they are apart."""
    exact = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)
    wanted = 1 - entropy(0.1)
    for rows in (exact * (1 + 9e-6), exact * (1 - 9e-6), exact * torch.tensor([[1 + 9e-6], [1 - 9e-6]]).double()):
        found = capacity(rows, 1e-11)
        assert float(found.lower) - 1e-12 <= wanted <= float(found.upper) + 1e-12
        even = torch.tensor([0.5, 0.5], dtype=torch.float64) * (1 - 9e-6)
        assert float(mutual_information(rows, even)) == pytest.approx(wanted, abs=1e-12)
    generator = torch.Generator().manual_seed(0)
    short = torch.rand(20, 5, 7, generator=generator).softmax(-1)
    double = short.double() / short.double().sum(-1, keepdim=True)
    for ours, theirs in zip(capacity(short, 1e-10), capacity(double, 1e-10), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_equal_rows_are_merged_and_share_nothing():
    rows = torch.tensor([[[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]]])
    found = merge_equal_rows(rows)
    assert found.present.tolist() == [[True, True, False], [True, True, True]]
    assert found.first[0, :2].tolist() == [0, 1]
    assert merge_equal_rows(rows[0]).channel.shape == (2, 2)
    torch.testing.assert_close(capacity(rows).bits[0], capacity(rows[0, :2]).bits)
    assert capacity(rows).input[0, 2] == 0


def test_steps_are_products_of_matrices():
    transitions, _, _ = oracle.random_mdp(0, ending=0.0)
    for n in (1, 2, 3):
        np.testing.assert_allclose(n_step_channel(torch.as_tensor(transitions), n), oracle.n_steps(transitions, n), atol=1e-15)


def test_an_open_grid_has_the_formula():
    """Staying and four moves reach a diamond of 2 n^2 + 2 n + 1 cells, from a corner (n + 1)(n + 2) / 2."""
    grid = open_grid(9, 9, stay=True)
    for n in (1, 2, 3, 4):
        bits = reachable(grid.next, n)
        assert float(bits[grid.state((4, 4))]) == pytest.approx(math.log2(2 * n * n + 2 * n + 1), abs=1e-12)
        assert float(bits[0]) == pytest.approx(math.log2((n + 1) * (n + 2) / 2), abs=1e-12)
    torch.testing.assert_close(capacity(n_step_channel(grid.transitions(), 2)).bits, reachable(grid.next, 2), atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: capacity(torch.ones(2, 2)), ValueError, "sum to 1. Found a row of 2"),
        (lambda: capacity(torch.tensor([[1.5, -0.5]])), ValueError, "least entry -0.5"),
        (lambda: capacity(torch.full((2, 2), torch.nan)), ValueError, "sum to 1"),
        (lambda: capacity(torch.ones(3) / 3), ValueError, "messages by what is received"),
        (lambda: capacity(torch.ones(0, 3)), ValueError, "messages by what is received"),
        (lambda: capacity(torch.eye(2), 0.0), ValueError, "`tolerance`"),
        (lambda: capacity([[1.0]]), TypeError, "."),
        (
            lambda: capacity(torch.tensor([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]]), solver="blahut-arimoto", limit=3),
            RuntimeError,
            "Raise",
        ),
        (lambda: n_step_channel(torch.ones(2, 4, 2) / 2, 7), ValueError, "Found 16384. Take fewer"),
        (lambda: n_step_channel(torch.ones(2, 4, 2) / 2, 0), ValueError, "at least 1"),
        (lambda: n_step_channel(torch.ones(2, 4, 3) / 3, 2), ValueError, r"`transitions` should have the shape \(S, A, S\)"),
        (lambda: reachable(torch.tensor([[0], [-1]]), 1), ValueError, "`after` should be numbers from 0 to 1. Found -1 to 0"),
        (lambda: reachable(torch.tensor([0, 1]), 1), ValueError, r"`after` should have the shape \(S, A\)"),
        (lambda: reachable(torch.ones(2, 2, dtype=torch.bool), 1), TypeError, "`after` should hold whole numbers"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_sent_is_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("q", "sentence"),
    [
        ([0.9, 0.9], r"`q` should be a distribution.*Found a sum of 1\.8"),
        ([1.5, -0.5], r"Found a sum of 1, least entry -0\.5\. Divide by the sum"),
        ([math.nan, 1.0], "`q` should be a distribution"),
        ([1.0], r"`q` should be probabilities of the shape \(\.\.\., 2\).*Found \(1,\)"),
        ([0, 1], r"Found \(2,\) of torch\.int64"),
    ],
)
def test_an_input_that_is_no_distribution_is_refused(q, sentence):
    with pytest.raises(ValueError, match=sentence):
        mutual_information(torch.eye(2), torch.tensor(q))
    assert mutual_information(torch.eye(2), torch.tensor([[0.5, 0.5], [1.0, 0.0]])).tolist() == [1.0, 0.0]


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8])
def test_states_of_a_short_type_are_states(dtype):
    after = torch.tensor([[0, 1], [1, 2], [2, 2]])
    assert torch.equal(reachable(after.to(dtype), 2), reachable(after, 2))

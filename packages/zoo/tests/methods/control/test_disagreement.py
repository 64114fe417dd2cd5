import math

import numpy as np
import pytest
import torch

import control_finite_oracles as oracle
from mechlearn_zoo.finite import FiniteMDP
from mechlearn_zoo.methods.control.disagreement import jensen_renyi, jensen_shannon, plan


def members(seed, members=5, batch=7, d=4, spread=1.0):
    draw = np.random.default_rng(seed)
    means = draw.normal(size=(members, batch, d))
    return torch.as_tensor(means), torch.as_tensor(np.exp(spread * draw.normal(size=means.shape)))


@pytest.mark.parametrize(("d", "spread"), [(4, 1.0), (11, 1.0), (3, 6.0), (1, 0.1)])
def test_renyi_is_the_literal_double_sum(d, spread):
    means, variances = members(0, d=d, spread=spread)
    wanted = [oracle.jensen_renyi(means[:, b].numpy(), variances[:, b].numpy()) for b in range(7)]
    np.testing.assert_allclose(jensen_renyi(means, variances), wanted, atol=1e-11)
    shifted = jensen_renyi((1e-3 * means).float(), (1e-6 * variances).float())
    np.testing.assert_allclose(shifted, wanted, atol=1e-4)


def test_renyi_of_many_predictions_in_blocks():
    means, variances = members(1, batch=1000)
    whole = jensen_renyi(means, variances)
    torch.testing.assert_close(
        torch.cat([jensen_renyi(means[:, i : i + 100], variances[:, i : i + 100]) for i in range(0, 1000, 100)]), whole
    )
    torch.testing.assert_close(jensen_renyi(means.view(5, 10, 100, 4), variances.view(5, 10, 100, 4)).flatten(), whole)


def test_renyi_is_what_sampling_finds():
    means, variances = members(2, batch=1)
    found, error = oracle.renyi_by_sampling(means[:, 0].numpy(), variances[:, 0].numpy(), 40_000, 0)
    assert float(jensen_renyi(means, variances)) == pytest.approx(found, abs=4 * error)


def test_equal_members_do_not_disagree_and_widths_may_make_renyi_negative():
    means, variances = members(3)
    same = means[:1].expand_as(means), variances[:1].expand_as(variances)
    for kind in ("renyi", "moments"):
        torch.testing.assert_close(jensen_renyi(*same, kind=kind), torch.zeros(7, dtype=torch.float64), rtol=0, atol=1e-12)
    widths = torch.tensor([[[1e-4]], [[1e4]]])
    assert jensen_renyi(torch.zeros(2, 1, 1), widths) < 0 < jensen_renyi(torch.zeros(2, 1, 1), widths, kind="moments")


@pytest.mark.parametrize("kind", ["renyi", "moments"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_float32(dtype, kind):
    """The product of 18 widths of 9 each is 1e17, more than float16 holds."""
    means, variances = members(0, batch=5, d=18)
    means, variances = means.to(dtype), (9 * variances.clamp(0.5, 2)).to(dtype)
    found = jensen_renyi(means, variances, kind=kind)
    assert found.dtype == torch.float32
    assert torch.equal(found, jensen_renyi(means.float(), variances.float(), kind=kind))
    same = jensen_renyi(means[:1].expand_as(means), variances[:1].expand_as(variances), kind=kind)
    torch.testing.assert_close(same, torch.zeros(5), rtol=0, atol=1e-4)
    mixed = jensen_renyi(means, variances.double(), kind=kind)
    torch.testing.assert_close(mixed, jensen_renyi(means.double(), variances.double(), kind=kind), rtol=0, atol=0)


def test_no_predictions_do_not_disagree():
    assert jensen_renyi(torch.zeros(2, 0, 3), torch.ones(2, 0, 3)).shape == (0,)
    assert jensen_renyi(torch.zeros(2, 4, 0, 3), torch.ones(2, 4, 0, 3), kind="moments").shape == (4, 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmaxes_of_half_types_are_distributions(dtype):
    logits = 2 * torch.randn(4, 200, 10, generator=torch.Generator().manual_seed(0))
    rows = logits.to(dtype).softmax(-1)
    found = jensen_shannon(rows)
    assert found.dtype == torch.float32
    exact = rows.double() / rows.double().sum(-1, keepdim=True)
    torch.testing.assert_close(found.double(), jensen_shannon(exact), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="sum to 1"):
        jensen_shannon(1.02 * rows)
    with pytest.raises(ValueError, match="sum to 1"):
        jensen_shannon(rows.float() / rows.float().sum(-1, keepdim=True) * 1.001)


def test_moments_are_those_of_the_mixture():
    means, variances = (one[:, 0].numpy() for one in members(4))
    covariance = np.diag(variances.mean(0)) + np.cov(means.T, bias=True)
    wanted = 0.5 * (np.linalg.slogdet(covariance)[1] - np.log(variances).sum(1).mean())
    assert float(jensen_renyi(*members(4), kind="moments")[0]) == pytest.approx(wanted, abs=1e-12)


def test_shannon_is_the_mutual_information():
    draw = np.random.default_rng(0).dirichlet(np.ones(4), size=(3, 6))
    draw[0, :, 0] = 0
    draw /= draw.sum(-1, keepdims=True)
    wanted = [oracle.jensen_shannon(draw[:, b]) for b in range(6)]
    np.testing.assert_allclose(jensen_shannon(torch.as_tensor(draw)), wanted, atol=1e-14)
    assert float(jensen_shannon(torch.eye(3).unsqueeze(1))) == pytest.approx(math.log(3), abs=1e-6)


def test_a_plan_is_value_iteration_step_by_step():
    parts = [torch.as_tensor(part) for part in oracle.random_mdp(5)]
    mdp, utility = FiniteMDP(*parts, 0.9), torch.rand(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found, values = plan(mdp, utility, 6), np.zeros(4)
    for h in range(6):
        q = np.array(
            [[float(utility[s, a]) + 0.9 * float(mdp.transitions[s, a].numpy() @ values) for a in range(3)] for s in range(4)]
        )
        assert found[h].tolist() == q.argmax(1).tolist()
        values = q.max(1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: jensen_shannon(torch.full((1, 3), 1 / 3)), "two members"),
        (lambda: jensen_shannon(torch.ones(2, 3)), "sum to 1. Found sums from 3 to 3"),
        (lambda: jensen_renyi(torch.zeros(2, 3), -torch.ones(2, 3)), "positive and finite. Found -1"),
        (lambda: jensen_renyi(torch.zeros(2, 3), torch.full((2, 3), torch.nan)), "positive and finite"),
        (lambda: jensen_renyi(torch.zeros(2, 3), torch.ones(2, 4)), "shape of `means`"),
        (
            lambda: jensen_renyi(torch.full((2, 3), torch.nan), torch.ones(2, 3)),
            r"`means` should be finite. Found nan at \(0, 0\)",
        ),
    ],
)
def test_what_cannot_disagree_is_refused(call, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()


def test_certain_members_have_a_gradient():
    logits = torch.tensor([[0.0, -torch.inf], [1.0, 2.0]], requires_grad=True)
    jensen_shannon(logits.softmax(-1)).backward()
    assert logits.grad.isfinite().all()
    assert logits.grad[1].abs().sum() > 0


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("shape", [(4, 1), (1, 3), (3, 4)])
def test_utility_of_another_process_is_refused(shape):
    mdp = FiniteMDP(*(torch.as_tensor(part) for part in oracle.random_mdp(5)), 0.9)
    with pytest.raises(ValueError, match=r"`utility` should have the shape \(\.\.\., 4, 3\)"):
        plan(mdp, torch.zeros(shape), 2)

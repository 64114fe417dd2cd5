import inspect

import numpy as np
import pytest
import torch

import returns_oracles as oracles
from craik.methods.control import Rollout, discounted, gae, linear_recurrence, n_step
from craik.methods.control.returns import WIDE, _by_doubling, _by_rows
from made_up_rollouts import made_up


def arrays(rollout, values, final):
    return rollout.rewards.numpy(), values.numpy(), rollout.terminated.numpy(), rollout.truncated.numpy(), final.numpy()


@pytest.mark.parametrize("seed", range(5))
def test_returns_are_their_sums(seed):
    rollout, values, final = made_up(seed)
    for n in (1, 2, 3, 7, 13, 40):
        expected = oracles.n_step(*arrays(rollout, values, final), 0.9, n)
        np.testing.assert_allclose(n_step(rollout, values, 0.9, n, final), expected, rtol=0, atol=1e-14)
    for lambda_ in (0.0, 0.95, 1.0):
        expected = oracles.gae(*arrays(rollout, values, final), 0.9, lambda_)
        np.testing.assert_allclose(gae(rollout, values, 0.9, lambda_, final), expected, rtol=0, atol=1e-14)
    whole = oracles.n_step(*arrays(rollout, values, final), 0.9, 13)
    np.testing.assert_allclose(discounted(rollout, values, 0.9, final), whole, rtol=0, atol=1e-14)


def test_doubling_is_the_loop():
    for steps in (1, 2, 3, 4, 5, 31, 64):
        generator = torch.Generator().manual_seed(steps)
        a, b = torch.rand(2, steps, 3, generator=generator, dtype=torch.float64)
        kept = a.clone(), b.clone()
        torch.testing.assert_close(_by_doubling(a, b), _by_rows(a, b), rtol=0, atol=1e-14)
        assert torch.equal(linear_recurrence(a, b), _by_doubling(a, b) if steps > 32 else _by_rows(a, b))
        assert torch.equal(a, kept[0])
        assert torch.equal(b, kept[1])
    wide = torch.rand(2, 3, WIDE, dtype=torch.float64)
    expected = wide[1][0] + wide[0][0] * (wide[1][1] + wide[0][1] * wide[1][2])
    torch.testing.assert_close(linear_recurrence(*wide)[0], expected, rtol=0, atol=1e-14)


def test_the_order_of_environments_does_not_matter():
    rollout, values, _ = made_up(3, ends=0.0)
    turned = Rollout(*(part.flip(1) for part in list(vars(rollout).values())[:6]))
    assert torch.equal(gae(rollout, values, 0.9).flip(1), gae(turned, values.flip(1), 0.9))


def test_what_was_cut_by_a_limit_is_worth_its_value():
    """A constant reward of 1 under a time limit: the value is 1 / (1 - gamma) throughout, and no advantage is left."""
    rollout, _, _ = made_up(0, ends=0.3)
    cut = rollout.terminated | rollout.truncated
    ones = torch.ones_like(rollout.rewards)
    paid = Rollout(rollout.observations, rollout.actions, ones, torch.zeros_like(cut), cut, rollout.log_mu)
    values = torch.full((14, 5), 10.0, dtype=torch.float64)
    advantages = gae(paid, values, 0.9, 0.95, torch.full((int(cut.sum()),), 10.0, dtype=torch.float64))
    torch.testing.assert_close(advantages, torch.zeros_like(advantages), rtol=0, atol=1e-13)


def test_no_gradient_flows():
    rollout, values, final = made_up(1)
    values.requires_grad_()
    assert not gae(rollout, values, 0.9, 0.95, final).requires_grad
    assert not n_step(rollout, values, 0.9, 3, final).requires_grad


def test_bad_input():
    rollout, values, final = made_up(1)
    with pytest.raises(ValueError, match=r"`values` should have the shape \(14, 5\).*Found \(13, 5\)"):
        gae(rollout, values[:-1], 0.9, 0.95, final)
    with pytest.raises(ValueError, match=r"one value for each of the \d+ truncated steps.*Found None"):
        gae(rollout, values, 0.9)
    with pytest.raises(ValueError, match=r"`discount` should lie in \[0, 1\]. Found 1.1"):
        gae(rollout, values, 1.1, 0.95, final)
    with pytest.raises(ValueError, match="`n` should be at least 1"):
        n_step(rollout, values, 0.9, 0, final)
    with pytest.raises(TypeError, match="`n` should be a whole number"):
        inspect.unwrap(n_step)(rollout, values, 0.9, 2.5, final)


def test_returns_to_go_by_hand():
    rewards = torch.tensor([[0.0, 1.0], [2.0, 0.0], [4.0, 8.0]])
    assert linear_recurrence(torch.full_like(rewards, 0.5), rewards).tolist() == [[2.0, 3.0], [4.0, 4.0], [4.0, 8.0]]

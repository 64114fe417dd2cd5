import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

import returns_oracles as oracles
from made_up_rollouts import made_up
from mechlearn_zoo.methods.control import Rollout, discounted, gae, linear_recurrence, n_step
from mechlearn_zoo.methods.control.returns import WIDE, _by_doubling, _by_rows


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


def literal(a, b):
    found, x = [], torch.zeros(b.shape[1:], dtype=torch.float64)
    for t in reversed(range(len(b))):
        x = b[t].double() + a[t].double() * x if t + 1 < len(b) else b[t].double()
        found.append(x)
    return torch.stack(found[::-1])


def test_factors_whose_product_overflows_leave_what_is_a_number():
    """2^130 is no number of float32's, and times 0 it is none at all; row by row nothing is large."""
    a, b = torch.full((130, 2), 2.0), torch.zeros(130, 2)
    assert torch.equal(linear_recurrence(a, b), b)
    a[::3], b[::5] = 0.1, 1.0
    a[50:90, 1], b[50:, 1] = 1e5, 0.0
    assert not _by_doubling(a, b).isfinite().all()
    torch.testing.assert_close(linear_recurrence(a, b).double(), literal(a, b), rtol=1e-5, atol=0)
    b[0, 0] = torch.inf  # an infinite number is handed on as one
    assert linear_recurrence(a, b)[0].tolist() == [torch.inf, float(literal(a, b)[0, 1].float())]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_are_computed_in_float32(dtype):
    """A discount of 0.999 is 1 in bfloat16; a sum of 400 ones has 3 digits there."""
    rollout, values, final = made_up(1, steps=400)
    short = [one.to(dtype) for one in (rollout.rewards, values, final)]
    wide = [one.float() for one in short]
    for rewards, v, f in ((short[0], *short[1:]), (wide[0], *short[1:]), (short[0], *wide[1:])):
        mine, theirs = replace(rollout, rewards=rewards), replace(rollout, rewards=wide[0])
        for function, more in ((discounted, ()), (gae, (0.95,)), (n_step, (7,))):
            found = function(mine, v, 0.999, *more, f)
            assert found.dtype == torch.float32
            assert torch.equal(found, function(theirs, wide[1], 0.999, *more, wide[2]))
    ones = torch.ones(400, 1)
    torch.testing.assert_close(linear_recurrence(ones.to(dtype), ones.to(dtype)), torch.arange(400.0, 0, -1)[:, None])


def test_types_follow_promotion():
    rollout, values, final = made_up(1)
    mixed = replace(rollout, rewards=rollout.rewards.float())
    for function, more in ((discounted, ()), (gae, (0.95,)), (n_step, (7,))):
        found = function(rollout, values.float(), 0.999, *more, final.float())
        assert found.dtype == torch.float64
        exact = function(rollout, values.float().double(), 0.999, *more, final.float().double())
        torch.testing.assert_close(found, exact, rtol=0, atol=0)
        assert function(mixed, values.float(), 0.999, *more, final.float()).dtype == torch.float32


def test_recurrences_of_two_shapes_are_refused():
    with pytest.raises(ValueError, match=r"`a` and `b` should both be \(T, B\).*Found \(3, 1\) and \(3, 2\)"):
        linear_recurrence(torch.ones(3, 1), torch.ones(3, 2))
    with pytest.raises(ValueError, match=r"one step at least. Found \(0, 2\)"):
        linear_recurrence(torch.ones(0, 2), torch.ones(0, 2))


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

import inspect
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import returns_oracles as oracles
from made_up_rollouts import made_up
from mechlearn_zoo.methods.control import Clips, Rollout, n_step, vtrace

CLIPS = [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (math.inf, 1.5, 3.0), (math.inf, math.inf, math.inf), (0.5, 0.2, 1.0)]


def log_pi_for(rollout, seed):
    noise = torch.randn(rollout.rewards.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return rollout.log_mu + 0.7 * noise


@pytest.mark.parametrize("clips", CLIPS)
@pytest.mark.parametrize("seed", range(3))
def test_the_double_sum(seed, clips):
    rollout, values, final = made_up(seed)
    log_pi = log_pi_for(rollout, seed)
    for discount, lambda_ in ((0.99, 1.0), (0.9, 0.5), (0.0, 1.0), (1.0, 1.0)):
        found = vtrace(rollout, values, log_pi, discount, final_values=final, clips=Clips(*clips), lambda_=lambda_)
        flags = rollout.terminated.numpy(), rollout.truncated.numpy(), final.numpy()
        arrays = rollout.rewards.numpy(), values.numpy(), *flags, log_pi.numpy(), rollout.log_mu.numpy()
        targets, advantages = oracles.vtrace(*arrays, discount, *clips, lambda_)
        scale = max(1.0, float(np.abs(targets).max()))
        np.testing.assert_allclose(found.targets, targets, rtol=0, atol=1e-14 * scale)
        np.testing.assert_allclose(found.advantages, advantages, rtol=0, atol=2e-14 * scale * min(clips[2], 10))
        torch.testing.assert_close(found.errors, found.targets - values[:-1], rtol=0, atol=1e-13)


def test_on_policy_targets_are_returns_bit_for_bit():
    """Rewards and values in eighths and a discount of one half: every sum is exact in float64."""
    rollout, values, final = made_up(2, steps=12)
    eighths = lambda x: (8 * x).round() / 8  # noqa: E731
    rollout = replace(rollout, rewards=eighths(rollout.rewards))
    values, final = eighths(values), eighths(final)
    found = vtrace(rollout, values, rollout.log_mu, 0.5, final_values=final)
    assert torch.equal(found.targets, n_step(rollout, values, 0.5, 12, final))


def test_the_fixed_point_is_the_value_of_the_clipped_policy():
    """Over all trajectories, weighted by the behaviour, the expected error of pi_rho's value is 0; c moves nothing."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        draw = lambda *shape: torch.rand(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
        states, actions, time, discount = 3, 2, 3, 0.9
        kernel = draw(states, actions, states)
        kernel, reward = kernel / kernel.sum(-1, keepdim=True), draw(states, actions)
        pi, mu = (policy / policy.sum(-1, keepdim=True) for policy in (draw(2, states, actions) + 0.05))
        paths = torch.tensor(list(itertools.product(range(states), *[range(actions), range(states)] * time))).T
        x, a = paths[0::2], paths[1::2]
        weight = (mu[x[:-1], a] * kernel[x[:-1], a, x[1:]]).prod(0)
        no = torch.zeros(a.shape, dtype=torch.bool)
        rollout = Rollout(x[..., None], a, reward[x[:-1], a], no, no, mu[x[:-1], a].log())
        for rho, c in ((1.0, 1.0), (1.0, 0.3), (2.0, 1.0), (math.inf, 1.0), (math.inf, math.inf)):
            clipped = torch.minimum(rho * mu, pi)
            clipped = clipped / clipped.sum(-1, keepdim=True)
            moved = torch.einsum("sa,sat->st", clipped, kernel)
            value = torch.linalg.solve(torch.eye(3, dtype=torch.float64) - discount * moved, (clipped * reward).sum(-1))
            found = vtrace(rollout, value[x], pi[x[:-1], a].log(), discount, clips=Clips(rho, c))
            expected = torch.zeros(states, dtype=torch.float64).index_add_(0, x[0], weight * found.errors[0])
            assert expected.abs().max() < 1e-13


def test_permuting_environments_permutes():
    rollout, values, _ = made_up(4, ends=0.0)
    log_pi = log_pi_for(rollout, 0)
    turned = Rollout(*(part.flip(1) for part in list(vars(rollout).values())[:6]))
    one, other = vtrace(rollout, values, log_pi, 0.9), vtrace(turned, values.flip(1), log_pi.flip(1), 0.9)
    assert all(torch.equal(mine.flip(1), theirs) for mine, theirs in zip(one, other, strict=True))


def test_continuous_actions():
    """Densities may exceed 1; the learner is a wider normal than the behaviour."""
    rollout, values, final = made_up(5)
    noise = torch.randn(rollout.rewards.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    normal = torch.distributions.Normal
    rollout = replace(rollout, actions=noise[..., None], log_mu=normal(0.0, 0.1).log_prob(0.1 * noise))
    found = vtrace(rollout, values, normal(0.01, 0.12).log_prob(0.1 * noise), 0.9, final_values=final)
    assert torch.isfinite(found.targets).all()


def test_what_the_learner_would_not_do_teaches_nothing():
    rollout, values, final = made_up(6)
    found = vtrace(rollout, values, torch.full_like(rollout.log_mu, -torch.inf), 0.9, final_values=final)
    assert torch.equal(found.targets, values[:-1])
    assert not found.advantages.any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_are_computed_in_float32(dtype):
    rollout, values, final = made_up(1, steps=40)
    log_pi = log_pi_for(rollout, 0)
    parts = {"rewards": rollout.rewards.to(dtype), "log_mu": rollout.log_mu.to(dtype)}
    short, wide = replace(rollout, **parts), replace(rollout, **{name: part.float() for name, part in parts.items()})
    v, pi, f = (one.to(dtype) for one in (values, log_pi, final))
    for clips in (Clips(), Clips(2.0, 1.0, 1.0)):
        wanted = vtrace(wide, v.float(), pi.float(), 0.999, final_values=f.float(), clips=clips)
        for one, log in ((short, pi), (wide, pi.float()), (wide, pi), (short, pi.float())):
            found = vtrace(one, v, log, 0.999, final_values=f, clips=clips)
            assert all(torch.equal(mine, theirs) for mine, theirs in zip(found, wanted, strict=True))
            assert {part.dtype for part in found} == {torch.float32}


@pytest.mark.parametrize("clips", [Clips(), Clips(2.0, 1.0, 1.0)])
@pytest.mark.parametrize("place", ["rewards", "log_mu", "values", "log_pi"])
def test_the_widest_type_is_computed_in(place, clips):
    rollout, values, final = made_up(1)
    parts = {"rewards": rollout.rewards, "log_mu": rollout.log_mu, "values": values, "log_pi": log_pi_for(rollout, 0)}
    parts = {name: part.float() for name, part in parts.items()}
    parts[place] = parts[place].double()
    exact = {name: part.double() for name, part in parts.items()}

    def computed(rewards, log_mu, values, log_pi):
        one = replace(rollout, rewards=rewards, log_mu=log_mu)
        return vtrace(one, values, log_pi, 0.99, final_values=final.float(), clips=clips)

    for mine, theirs in zip(computed(**parts), computed(**exact), strict=True):
        assert mine.dtype == torch.float64
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-15)


def test_ratios_that_overflow_are_cut_or_refused():
    rollout, values, final = made_up(6)
    log_pi = rollout.log_mu.clone()
    log_pi[2, 1] += 800.0
    assert all(part.isfinite().all() for part in vtrace(rollout, values, log_pi, 0.9, final_values=final))
    for clips, name in ((Clips(math.inf, 1.0, 1.0), "rho"), (Clips(1.0, 1.0, math.inf), "pg_rho")):
        with pytest.raises(ValueError, match=rf"ratios should be finite.*Found inf at t=2, b=1, and clips.{name} is infinity"):
            vtrace(rollout, values, log_pi, 0.9, final_values=final, clips=clips)


def test_no_gradient_and_nothing_changed():
    rollout, values, final = made_up(7)
    values.requires_grad_()
    log_pi = log_pi_for(rollout, 0).requires_grad_()
    kept = log_pi.detach().clone(), rollout.rewards.clone()
    found = vtrace(rollout, values, log_pi, 0.9, final_values=final)
    assert not any(part.requires_grad for part in found)
    assert torch.equal(log_pi, kept[0])
    assert torch.equal(rollout.rewards, kept[1])


def test_bad_input():
    rollout, values, final = made_up(1)
    log_pi = rollout.log_mu.clone()
    log_pi[3, 2] = math.nan
    with pytest.raises(ValueError, match=r"`log_pi` should be logarithms.*Found nan at t=3, b=2"):
        vtrace(rollout, values, log_pi, 0.9, final_values=final)
    with pytest.raises(ValueError, match=r"`log_pi` should have the shape \(13, 5\).*Found \(13, 5, 2\)"):
        vtrace(rollout, values, torch.zeros(13, 5, 2), 0.9, final_values=final)
    with pytest.raises(ValueError, match=r"`c` should be at most `rho`.*Found c=2 and rho=1. Lower c"):
        Clips(rho=1.0, c=2.0)
    with pytest.raises(ValueError, match=r"`rho` should be positive. Found nan"):
        Clips(rho=math.nan)
    with pytest.raises(TypeError, match=r"`c` should be a number. Found '1'"):
        inspect.unwrap(Clips.__post_init__)(type("Wrong", (), {"rho": 1.0, "c": "1", "pg_rho": 1.0})())
    with pytest.raises(ValueError, match=r"`lambda_` should lie in \[0, 1\]"):
        vtrace(rollout, values, rollout.log_mu, 0.9, final_values=final, lambda_=2.0)

"""A linear-Gaussian model s' = A s + B a + u of which only o = s' + v is seen: its counterfactual has a closed form."""

import pytest
import torch

from mechlearn_zoo.methods.control.structural import rerun

A, B, Q, R, T = 0.8, 0.5, 0.6, 0.3, 3


def mechanism(state, action, noise):
    after = A * state + B * action + noise
    return after, -(after**2)


def policy(state, generator):
    return 1 - 0.4 * state


def logged(count, generator):
    """Actions that are drawn blindly, and what is seen."""
    noise, actions, seen = (torch.randn(T, count, generator=generator, dtype=torch.float64) for _ in range(3))
    acting = iter(actions)
    start = torch.ones(count, dtype=torch.float64)
    states = rerun(mechanism, start, Q * noise, lambda s, g: next(acting), generator).states
    return start, actions, states[1:] + R * seen


def posterior(start, actions, observed):
    """The mean (T, B) and covariance (T, T) of p(u | o): o = M u + what actions do, by the joint normal distribution."""
    times = torch.arange(T)
    matrix = torch.tril(torch.tensor(A, dtype=torch.float64) ** (times[:, None] - times).clamp(min=0))
    known = matrix @ (B * actions) + A ** (times[:, None] + 1.0) * start
    gain = Q**2 * matrix.T @ torch.linalg.inv(Q**2 * matrix @ matrix.T + R**2 * torch.eye(T, dtype=torch.float64))
    return gain @ (observed - known), Q**2 * (torch.eye(T, dtype=torch.float64) - gain @ matrix)


def test_the_counterfactual_is_the_closed_form():
    """The closed loop s' = (A - .4 B) s + B + u is linear: states are normal, by the posterior's mean and covariance."""
    generator, samples = torch.Generator().manual_seed(0), 40_000
    start, actions, observed = logged(2, generator)
    mean, covariance = posterior(start, actions, observed)
    drawn = torch.linalg.cholesky(covariance) @ torch.randn(T, 2 * samples, generator=generator, dtype=torch.float64)
    paths = rerun(mechanism, start.repeat_interleave(samples), mean.repeat_interleave(samples, 1) + drawn, policy, generator)
    wanted, loop = [start], torch.zeros(T, T, dtype=torch.float64)
    for t in range(T):
        wanted.append((A - 0.4 * B) * wanted[-1] + B + mean[t])
        loop[t, : t + 1] = (A - 0.4 * B) ** torch.arange(t, -1, -1, dtype=torch.float64)
    spread = (loop @ covariance @ loop.T).diagonal()
    found = paths.states[1:].view(T, 2, samples)
    torch.testing.assert_close(found.mean(-1), torch.stack(wanted[1:]), rtol=0, atol=4.5 * Q / samples**0.5)
    torch.testing.assert_close(found.var(-1), spread[:, None].expand(T, 2), rtol=0.05, atol=0)
    torch.testing.assert_close(paths.rewards, -(paths.states[1:] ** 2))


def test_noise_that_is_seen_makes_the_logged_episode_again():
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(T, 5, generator=generator, dtype=torch.float64)
    first = rerun(mechanism, torch.zeros(5, dtype=torch.float64), noise, policy, generator)
    abducted = first.states[1:] - A * first.states[:-1] - B * first.actions
    torch.testing.assert_close(rerun(mechanism, first.states[0], abducted, policy, generator), first)


def test_over_histories_it_is_the_intervention():
    """Lemma 1: averaged over what was logged, the counterfactual is what the policy would do from the start."""
    generator, count = torch.Generator().manual_seed(2), 40_000
    start, actions, observed = logged(count, generator)
    mean, covariance = posterior(start, actions, observed)
    noise = mean + torch.linalg.cholesky(covariance) @ torch.randn(T, count, generator=generator, dtype=torch.float64)
    found = rerun(mechanism, start, noise, policy, generator).states[-1]
    prior = Q * torch.randn(T, count, generator=generator, dtype=torch.float64)
    wanted = rerun(mechanism, start, prior, policy, generator).states[-1]
    assert float(found.mean()) == pytest.approx(float(wanted.mean()), abs=0.025)
    assert float(found.std()) == pytest.approx(float(wanted.std()), rel=0.025)


def test_what_does_not_fit_is_refused():
    start, noise, generator = torch.zeros(3), torch.zeros(2, 3), torch.Generator()
    with pytest.raises(ValueError, match=r"`noise` should have the shape \(T, 3\)"):
        rerun(mechanism, start, noise[:, :2], policy, generator)
    with pytest.raises(ValueError, match="`noise` should be finite"):
        rerun(mechanism, start, noise + torch.nan, policy, generator)
    with pytest.raises(ValueError, match=r"`rewards` should have the shape \(3,\)"):
        rerun(lambda s, a, u: (s, u[:1]), start, noise, policy, generator)


@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="`mechanism`"):
        rerun(None, torch.zeros(3), torch.zeros(2, 3), policy, torch.Generator())

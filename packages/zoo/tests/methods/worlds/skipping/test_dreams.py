import math

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from mechlearn.skips import Actions
from mechlearn_zoo.methods.worlds.skipping import SkippingRNN, entropies, skipped_dream
from mechlearn_zoo.nn.mixtures import Mixture


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def memory(rewards=True):
    return SkippingRNN(3, 4, 8, 2, 5, generator(1), rewards).double()


def case(count=4):
    z = torch.randn(count, 3, generator=generator(2), dtype=torch.float64)
    return z, Actions(torch.randn(count, 20, 2, generator=generator(3), dtype=torch.float64), 2)


@torch.no_grad()
def test_a_certain_dream_is_the_literal_loop():
    m = memory()
    z, actions = case()
    found = skipped_dream(m, z, actions, duration=12, generator=generator(), temperature=0.0)
    for b in range(4):
        time, now, state, u = 0, z[b], m.at_rest(), 0
        while time < 12:
            given = torch.cat([actions.values[b, t] if t < 20 else torch.zeros(2).double() for t in (time, time + 1)])
            predicted = m.step(now, given, state)
            state = predicted.state
            best = predicted.mixture.log_weights.argmax(-1, keepdim=True)
            now = predicted.mixture.means.gather(-1, best).squeeze(-1)
            time += int(m.jumps(state.shown).argmax()) + 1
            torch.testing.assert_close(found.latents[b, u + 1], now, rtol=0, atol=1e-12)
            assert int(found.times[b, u + 1]) == time
            assert float(found.rewards[b, u]) == pytest.approx(float(m.rewarded(state.shown)), abs=1e-12)
            u += 1
        assert int(found.steps[b]) == u
        assert torch.equal(found.latents[b, u:], found.latents[b, u].expand_as(found.latents[b, u:]))
        assert not found.rewards[b, u:].any()


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("lengths", [None, torch.tensor([2])])
def test_behind_their_end_actions_are_zeros(window, lengths, monkeypatch):
    values = torch.tensor([[[1.0], [2.0], [torch.nan]]]) if lengths is not None else torch.tensor([[[1.0], [2.0]]])
    m = SkippingRNN(3, window or 1, 8, 2, 1, generator(1))  # a horizon of one frame
    seen, step = [], m.step
    monkeypatch.setattr(m, "step", lambda z, given, state: seen.append(given[0].tolist()) or step(z, given, state))
    skipped_dream(m, torch.zeros(1, 3), Actions(values, window, lengths), duration=5, generator=generator())
    assert [given[0] for given in seen] == [1, 2, 0, 0, 0]
    assert window is None or [given[1] for given in seen] == [2, 0, 0, 0, 0]


def test_jumps_are_drawn_from_their_distribution():
    m = memory(rewards=False)
    with torch.no_grad():
        m.jump.weight.zero_()
        m.jump.bias.copy_(torch.tensor([0.0, 1.0, -1.0, 0.5, -3.0]))
    z, actions = case(1)
    many = Actions(actions.values.expand(20_000, -1, -1), 2)
    found = skipped_dream(m, z.expand(20_000, -1), many, duration=1, generator=generator())
    share = torch.bincount(found.times[:, 1], minlength=6)[1:] / 20_000
    torch.testing.assert_close(share.double(), m.jump.bias.softmax(0).detach(), rtol=0, atol=0.02)
    assert found.rewards is None
    again = skipped_dream(m, z.expand(20_000, -1), many, duration=1, generator=generator())
    assert torch.equal(found.latents, again.latents)


def test_entropy_is_that_of_the_distribution():
    one = Mixture(torch.zeros(3, 1), torch.randn(3, 1, generator=generator()), torch.tensor([[-1.0], [0.0], [2.0]]))
    wanted = one.log_scales[:, 0] + 0.5 * math.log(2 * math.pi * math.e)
    torch.testing.assert_close(entropies(one, generator(), 20_000), wanted, rtol=0, atol=0.03)
    two = Mixture(torch.tensor([[0.3, -0.2]]), torch.tensor([[-1.0, 2.0]]), torch.tensor([[0.1, -0.5]]))
    law = MixtureSameFamily(Categorical(logits=two.log_weights), Normal(two.means, two.log_scales.exp()))
    x = torch.linspace(-12, 12, 20_001).unsqueeze(1)
    density = law.log_prob(x)
    exact = -(density.exp() * density).sum(0) * 24 / 20_000
    torch.testing.assert_close(entropies(two, generator(), 40_000), exact, rtol=0, atol=0.03)


def test_what_is_refused():
    z, actions = case()
    with pytest.raises(ValueError, match=r"`starts` should have the shape \(b, 3\)"):
        skipped_dream(memory(), z[:, :2], actions, duration=3, generator=generator())
    with pytest.raises(ValueError, match=r"`actions.values` should have the shape \(4, t, a\)"):
        skipped_dream(memory(), z, actions[[0]], duration=3, generator=generator())
    with pytest.raises(ValueError, match="`duration` should be at least 1"):
        skipped_dream(memory(), z, actions, duration=0, generator=generator())
    with pytest.raises(ValueError, match="`temperature` should be finite and at least 0"):
        skipped_dream(memory(), z, actions, duration=3, generator=generator(), temperature=-1.0)


def test_what_is_not_finite_is_refused_before_anything_is_drawn():
    m, drawn = memory(), generator()
    starts, actions = case()
    before = drawn.get_state()
    with pytest.raises(ValueError, match=r"`starts` should be finite\. Found nan at \(0, 0\)\. Leave such episodes out"):
        skipped_dream(m, starts * math.nan, actions, duration=3, generator=drawn)
    with pytest.raises(ValueError, match=r"`actions\.values` should be finite.*Say by `lengths`"):
        skipped_dream(m, starts, Actions(actions.values * math.nan, actions.window), duration=3, generator=drawn)
    with pytest.raises(ValueError, match="`means` should be finite"):
        entropies(Mixture(torch.zeros(2, 3), torch.full((2, 3), math.nan), torch.zeros(2, 3)), drawn)
    assert torch.equal(drawn.get_state(), before)

import pytest
import torch

from dreams_oracles import memory_loss as literal
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN, energy_lost, memory_loss
from mechlearn_zoo.nn.autoencoders import ConvVAE


def memory(ends=True):
    return MixtureRNN(3, 2, 8, 4, ends, torch.Generator().manual_seed(0)).double()


def play(b=2, t=5):
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(b, t, n, dtype=torch.float64, generator=generator) for n in (3, 2))


def test_steps_are_the_sequence():
    m = memory()
    z, a = play()
    whole = m(z, a)
    state = m.at_rest(2)
    for t in range(5):
        one = m.step(z[:, t], a[:, t], state)
        state = one.state
        for part, wanted in zip(one.mixture, whole.mixture, strict=True):
            torch.testing.assert_close(part, wanted[:, t], rtol=0, atol=1e-13)
        torch.testing.assert_close(one.ends, whole.ends[:, t], rtol=0, atol=1e-13)
    torch.testing.assert_close(state.shown, whole.state.shown)


def test_a_sequence_goes_on_from_a_state():
    m = memory()
    z, a = play()
    first = m(z[:, :2], a[:, :2])
    then = m(z[:, 2:], a[:, 2:], first.state)
    torch.testing.assert_close(then.ends, m(z, a).ends[:, 2:], rtol=0, atol=1e-13)


def test_the_loss_is_literal():
    m = memory().requires_grad_(False)
    z, a = play(2, 6)
    predicted = m(z[:, :5], a[:, :5])
    ended = torch.rand(2, 5, generator=torch.Generator().manual_seed(2)) < 0.4
    found = memory_loss(predicted, z[:, 1:], ended)
    for b in range(2):
        for t in range(5):
            mixture = [part[b, t].tolist() for part in predicted.mixture]
            wanted = literal(*mixture, z[b, t + 1].tolist(), float(predicted.ends[b, t]), bool(ended[b, t]), 10.0)
            assert float(found[b, t]) == pytest.approx(wanted, abs=1e-12)


def test_energy_lost_is_one_for_a_constant_picture():
    vision = ConvVAE(1, 10, 2, torch.Generator().manual_seed(0), widths=(4,))
    frames = torch.rand(50, 1, 10, 10)
    vision.decode = lambda z: frames.mean(0).expand(len(z), -1, -1, -1)
    assert energy_lost(vision, frames) == pytest.approx(1)


def test_what_is_refused():
    m = memory()
    z, a = play()
    with pytest.raises(ValueError, match=r"`a` should have the shape \(2, 5, 2\)"):
        m(z, a[:, :4])
    with pytest.raises(ValueError, match="`ended` alone"):
        memory_loss(memory(ends=False)(z, a), z, torch.zeros(2, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match="predictions alone"):
        memory_loss(m(z, a), z)
    with pytest.raises(ValueError, match="`end_weight` should be finite and at least 0"):
        memory_loss(m(z, a), z, torch.zeros(2, 5, dtype=torch.bool), -1.0)


@pytest.mark.usefixtures("as_installed")
def test_what_is_not_finite_of_another_width_or_type_is_refused():
    m, (z, a) = memory(), play()
    broken = z.clone()
    broken[1, 2, 0] = torch.nan
    with pytest.raises(ValueError, match=r"`z` should be finite\. Found nan at \(1, 2, 0\)\. Leave such episodes out"):
        m(broken, a)
    with pytest.raises(ValueError, match="`a` should be finite"):
        m(z, a / 0)
    with pytest.raises(ValueError, match=r"`following` should be finite\. Found nan at \(1, 2, 0\)"):
        memory_loss(m(z, a), broken, torch.zeros(2, 5, dtype=torch.bool))
    found = m(z, a)
    with pytest.raises(TypeError, match="`ends` should hold data"):
        memory_loss(found._replace(ends=found.ends.to("meta")), z, torch.zeros(2, 5, dtype=torch.bool))
    with pytest.raises(TypeError, match="`ended` should hold booleans"):
        memory_loss(m(z, a), z, torch.zeros(2, 5))
    with pytest.raises(TypeError, match=r"`z` should be of the type torch\.float64\. Found torch\.float32"):
        m(z.float(), a)
    rest = m.at_rest(2)
    for step in (m.step, m.remember):
        with pytest.raises(ValueError, match=r"`z` should have the shape \(\.\.\., 3\)\. Found \(2, 2\)"):
            step(z[:, 0, :2], a[:, 0], rest)
        with pytest.raises(ValueError, match=r"`a` should have the shape \(2, 2\)\. Found \(2, 1\)"):
            step(z[:, 0], a[:, 0, :1], rest)
        with pytest.raises(ValueError, match=r"`state\.shown` should have the shape \(2, "):
            step(z[:, 0], a[:, 0], m.at_rest(3))
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        MixtureRNN(3, 2, 8, 4, True, None)
    drawn = torch.Generator().manual_seed(0)
    before = drawn.get_state()
    with pytest.raises(ValueError, match="`mixtures` should be at least 1"):
        MixtureRNN(3, 2, 8, 0, True, drawn)
    assert torch.equal(drawn.get_state(), before)
    with pytest.raises(ValueError, match="`frames` should vary"):
        energy_lost(ConvVAE(1, 10, 2, drawn, widths=(4,)), torch.ones(3, 1, 10, 10))

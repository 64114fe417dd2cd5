import math

import pytest
import torch

import rules_oracles
from mechlearn.agreement import combine
from mechlearn.agreement.rules import AndMask, SignalToNoiseMask, Statistics


def statistics(g):
    return Statistics(len(g), g.sum(0), g.sign().sum(0), square=g.square().sum(0))


def test_equal_magnitudes_make_it_an_and_mask():
    g = torch.randn(15, 200, generator=torch.Generator().manual_seed(0)).sign()
    for threshold in (0.1, 0.31, 0.7):
        ratio = threshold / math.sqrt(1 - threshold**2)
        found = SignalToNoiseMask(ratio)(statistics(g))
        expected = AndMask(threshold)(statistics(g))
        assert torch.equal(found.survives, expected.survives.bool())
        assert torch.equal(found.gradient, expected.gradient)
        assert 0 < int(found.survives.sum()) < 200


def test_one_large_environment_is_noise_even_with_the_same_sign():
    g = torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 50.0]])
    assert SignalToNoiseMask(1.0)(statistics(g)).survives.tolist() == [True, False]
    assert AndMask(1.0)(statistics(g)).survives.bool().all()


def test_no_gradient_at_all_does_not_survive():
    zeros = torch.zeros(3, 2)
    assert not SignalToNoiseMask(0.5)(statistics(zeros)).survives.any()
    assert SignalToNoiseMask(0.0)(statistics(zeros)).survives.all()


@pytest.mark.parametrize("ratio", [-0.1, float("inf"), float("nan")])
def test_ratio_out_of_range(ratio):
    with pytest.raises(ValueError, match="`ratio` should be finite and at least 0"):
        SignalToNoiseMask(ratio)


@pytest.mark.parametrize("scale", [1e-35, 1e-25, 1e25])
def test_gradients_whose_squares_float32_cannot_hold(scale):
    """Squares of 0 let everything through."""
    generator = torch.Generator().manual_seed(0)
    g = (torch.randn(6, 50, generator=generator) + 0.5) * scale
    found = combine(SignalToNoiseMask(1.0), g)
    gradient, mask = rules_oracles.signal_to_noise(g, 1.0)
    assert 0 < mask.sum() < 50
    assert torch.equal(found.survives, mask)
    torch.testing.assert_close(found.gradient, gradient, rtol=1e-6, atol=0)


@pytest.mark.parametrize("scale", [1e-170, 1e160])
def test_beyond_float64_it_says_so(scale):
    g = torch.tensor([[1.0, 1.0], [0.5, -1.0]], dtype=torch.float64) * scale
    with pytest.raises(FloatingPointError, match=r"within the range of torch\.float64.*Scale the losses"):
        combine(SignalToNoiseMask(1.0), g)
    combine(SignalToNoiseMask(0.0), g)

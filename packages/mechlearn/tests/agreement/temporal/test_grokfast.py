"""`Grokfast`, against the paper's two algorithms with every past gradient at hand."""

import pytest
import torch

from mechlearn.agreement import Grokfast

SHAPES = ((4, 3), (5,), ())


def parameters():
    return [torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in SHAPES]


def streams(steps, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [[torch.randn(shape, dtype=torch.float64, generator=generator) for shape in SHAPES] for _ in range(steps)]


def amplified(grokfast, params, stream):
    found = []
    for gradients in stream:
        for p, g in zip(params, gradients, strict=True):
            p.grad = g.clone()
        grokfast.amplify_()
        found.append([p.grad.clone() for p in params])
    return found


def test_the_exponential_average_is_its_algorithm():
    params, stream = parameters(), streams(8)
    found = amplified(Grokfast(params, beta=0.7, factor=2.0), params, stream)
    for t, gradients in enumerate(found):
        for k, gradient in enumerate(gradients):
            average = stream[0][k] * 0.7**t
            for s in range(1, t + 1):
                average = average + 0.3 * 0.7 ** (t - s) * stream[s][k]
            torch.testing.assert_close(gradient, stream[t][k] + 2.0 * average)


@pytest.mark.parametrize("window", [1, 3])
def test_the_window_is_its_algorithm(window):
    params, stream = parameters(), streams(8)
    found = amplified(Grokfast(params, factor=5.0, window=window), params, stream)
    for t, gradients in enumerate(found):
        for k, gradient in enumerate(gradients):
            past = [own[k] for own in stream[max(0, t + 1 - window) : t + 1]]
            added = 5.0 * sum(past) / window if len(past) == window else 0.0
            torch.testing.assert_close(gradient, stream[t][k] + added)


@pytest.mark.parametrize("window", [None, 3])
def test_a_saved_filter_goes_on_bit_for_bit(window):
    params, stream = parameters(), streams(8)
    whole = amplified(Grokfast(params, beta=0.9, window=window), params, stream)
    first, second = Grokfast(params, beta=0.9, window=window), Grokfast(params, beta=0.1)
    amplified(first, params, stream[:4])
    second.load_state_dict(first.state_dict())
    rest = amplified(second, params, stream[4:])
    assert all(torch.equal(a, b) for x, y in zip(whole[4:], rest, strict=True) for a, b in zip(x, y, strict=True))
    assert second.beta == 0.9


def test_narrow_gradients_are_averaged_in_float32_and_absent_ones_are_skipped():
    params = [torch.nn.Parameter(torch.zeros(2, dtype=torch.bfloat16)), torch.nn.Parameter(torch.zeros(1))]
    grokfast = Grokfast(params, beta=0.999, factor=1.0)
    for _ in range(3):
        params[0].grad = torch.ones(2, dtype=torch.bfloat16)
        grokfast.amplify_()
    assert params[0].grad.tolist() == [2.0, 2.0]
    assert grokfast.state_dict()["memories"][0].dtype == torch.float32
    assert params[1].grad is None
    assert grokfast.state_dict()["memories"][1] is None


def test_a_gradient_that_is_not_finite_changes_nothing():
    params = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    for refuse in (True, False):
        grokfast = Grokfast(params, factor=1.0, refuse_nonfinite=refuse)
        params[0].grad, params[1].grad = torch.ones(1), torch.tensor([torch.inf])
        if refuse:
            with pytest.raises(FloatingPointError, match=r"Every gradient should be finite\. Found NaN or infinity"):
                grokfast.amplify_()
        else:
            grokfast.amplify_()
        assert params[0].grad.item() == 1.0
        assert grokfast.state_dict()["memories"] == [None, None]


@pytest.mark.usefixtures("as_installed")
def test_wrong_arguments_end_in_a_sentence():
    params = [torch.nn.Parameter(torch.zeros(2))]
    for beta in (1.0, -0.1):
        with pytest.raises(ValueError, match=r"`beta` should lie in \[0, 1\)"):
            Grokfast(params, beta=beta)
    with pytest.raises(ValueError, match="`factor` should be finite and at least 0"):
        Grokfast(params, factor=-1.0)
    with pytest.raises(ValueError, match="`window` should be at least 1"):
        Grokfast(params, window=0)
    with pytest.raises(TypeError, match=r"`Grokfast` should be called with arguments that it has: .* Found `lamb`"):
        Grokfast(params, lamb=2.0)
    with pytest.raises(ValueError, match="`params` should hold at least one parameter"):
        Grokfast([])
    params[0].grad = torch.ones(2).to_sparse()
    with pytest.raises(ValueError, match=r"Gradients should be dense and real\. Found a sparse gradient of shape \(2,\)"):
        Grokfast(params).amplify_()
    other = Grokfast([torch.nn.Parameter(torch.zeros(3))])
    other.params[0].grad = torch.ones(3)
    other.amplify_()
    with pytest.raises(ValueError, match="The state should be of the same 1 parameters in the same order"):
        Grokfast(params).load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match=r"The state should hold .*Found none for memories"):
        Grokfast(params).load_state_dict({"beta": 0.9, "factor": 1.0, "window": None})

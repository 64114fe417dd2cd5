import copy

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from mechlearn.agreement import TemporalAndMaskAdam, TemporalMask
from temporal_oracles import temporal_mask


@given(
    seed=st.integers(0, 1000),
    beta=st.sampled_from([0.0, 0.5, 0.8]),
    threshold=st.sampled_from([0.0, 0.3, 0.62, 1.0]),
    bias_correction=st.booleans(),
)
def test_equals_the_literal_lines(seed, beta, threshold, bias_correction):
    assume(threshold < 1 or beta == 0 or bias_correction)
    generator = torch.Generator().manual_seed(seed)
    parameter = torch.nn.Parameter(torch.zeros(3, 2, dtype=torch.float64))
    mask = TemporalMask([parameter], beta, threshold, bias_correction=bias_correction)
    steps = [torch.randint(-1, 2, (3, 2), generator=generator).double() * 0.3 for _ in range(5)]
    for expected, step in zip(temporal_mask(steps, beta, threshold, bias_correction), steps, strict=True):
        parameter.grad = step.clone()
        (share,) = mask.mask_()
        assert torch.equal(parameter.grad, step * expected)
        assert share == pytest.approx(expected.double().mean().item())


def test_with_plain_descent_it_is_the_optimisers_mask():
    generator = torch.Generator().manual_seed(0)
    one, other = (torch.nn.Parameter(torch.zeros(50)) for _ in range(2))
    adam = TemporalAndMaskAdam([one], betas=(0.0, 0.9, 0.7), threshold=0.5)
    sgd, mask = torch.optim.SGD([other], lr=0.1), TemporalMask([other], 0.7, 0.5)
    for _ in range(5):
        before = one.detach().clone(), other.detach().clone()
        one.grad = torch.randn(50, generator=generator)
        other.grad = one.grad.clone()
        adam.step()
        mask.mask_()
        sgd.step()
        assert torch.equal(one != before[0], other != before[1])
    assert 0 < int((other != before[1]).sum()) < 50


def test_a_state_goes_on_where_it_was_and_is_checked():
    parameters = [torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(2))]
    mask = TemporalMask(parameters, 0.5, 0.7)
    for _ in range(2):
        parameters[0].grad = torch.ones(3)
        mask.mask_()
    twin = TemporalMask([torch.nn.Parameter(torch.zeros(3).double()), torch.nn.Parameter(torch.zeros(2).double())])
    twin.load_state_dict(copy.deepcopy(mask.state_dict()))
    assert (twin.beta, twin.threshold) == (0.5, 0.7)
    twin.params[0].grad = torch.ones(3).double()
    assert twin.mask_() == [1.0]
    assert mask.state_dict()["steps"] == [2, 0]
    with pytest.raises(ValueError, match="same 1 parameters in the same order"):
        TemporalMask([torch.nn.Parameter(torch.zeros(4))]).load_state_dict(mask.state_dict())


def test_bad_gradients_are_refused_before_any_is_touched():
    fine, broken = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    mask = TemporalMask([fine, broken], threshold=0.99)
    fine.grad, broken.grad = torch.ones(2), torch.tensor([1.0, float("nan")])
    with pytest.raises(FloatingPointError, match="no gradient was changed"):
        mask.mask_()
    assert torch.equal(fine.grad, torch.ones(2))
    embedding = torch.nn.Embedding(3, 2, sparse=True)
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match="Found a sparse gradient"):
        TemporalMask(embedding.parameters()).mask_()


def test_a_step_that_a_scaler_skips_counts_for_nothing():
    fine, broken = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    mask = TemporalMask([fine, broken], threshold=0.99, refuse_nonfinite=False)
    fine.grad, broken.grad = torch.ones(2), torch.tensor([1.0, float("inf")])
    assert mask.mask_() == [1.0, 1.0]
    assert torch.equal(fine.grad, torch.ones(2))
    assert broken.grad.tolist() == [1.0, float("inf")]
    assert mask.state_dict()["steps"] == [0, 0]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("bias_correction", "yes", TypeError), ("threshold", 1.0, ValueError), ("beta", 1.0, ValueError)],
)
def test_a_state_whose_settings_are_out_of_range_is_not_loaded(name, value, error):
    mask = TemporalMask([torch.nn.Parameter(torch.ones(1))])
    with pytest.raises(error):
        mask.load_state_dict({**mask.state_dict(), name: value})
    assert (mask.beta, mask.threshold, mask.bias_correction) == (0.9, 0.4, False)


def test_settings_out_of_range():
    parameter = torch.nn.Parameter(torch.ones(1))
    with pytest.raises(ValueError, match="`threshold` should lie in"):
        TemporalMask([parameter], threshold=1.1)
    with pytest.raises(ValueError, match=r"`beta` should lie in \[0, 1\)"):
        TemporalMask([parameter], beta=1.0)
    with pytest.raises(ValueError, match="at least one parameter"):
        TemporalMask([])
    with pytest.raises(ValueError, match="nothing would ever move"):
        TemporalMask([parameter], threshold=1.0)


@pytest.mark.parametrize(("name", "value"), [("threshold", 1.5), ("threshold", 1.0), ("beta", 1.0)])
def test_settings_that_are_changed_later_are_looked_at(name, value):
    weights = torch.nn.Parameter(torch.ones(2))
    mask = TemporalMask([weights])
    weights.grad = torch.ones(2)
    setattr(mask, name, value)
    with pytest.raises(ValueError, match=r"should .*Found"):
        mask.mask_()
    assert weights.grad.tolist() == [1, 1]


@pytest.mark.parametrize(("beta", "dtype"), [(0.999, torch.float32), (0.9, torch.bfloat16)])
def test_signs_that_never_change_pass_a_threshold_of_one_however_long(beta, dtype):
    weights = torch.nn.Parameter(torch.zeros(2, dtype=dtype))
    mask = TemporalMask([weights], beta=beta, threshold=1.0, bias_correction=True)
    for _ in range(1500):
        weights.grad = torch.tensor([1.0, -1.0], dtype=dtype)
        assert mask.mask_() == [1.0]
    weights.grad = torch.tensor([1.0, 1.0], dtype=dtype)
    assert mask.mask_() == [0.5]


def test_an_empty_parameter_has_nothing_that_is_masked():
    weights = torch.nn.Parameter(torch.zeros(0))
    weights.grad = torch.zeros(0)
    assert TemporalMask([weights]).mask_() == [1.0]


def test_signs_of_two_byte_gradients_are_averaged_in_four():
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.bfloat16))
    mask = TemporalMask([parameter], beta=0.99, threshold=0.9)
    for step in range(240):
        parameter.grad = torch.ones_like(parameter)
        shares = mask.mask_()
        if step == 100:
            state, mask = mask.state_dict(), TemporalMask([parameter])
            mask.load_state_dict(state)
    assert shares == [1.0]
    assert mask.state_dict()["sign_avg"][0].dtype == torch.float32

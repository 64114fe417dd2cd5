import pytest
import torch

import privileged_oracles as oracles
from mechlearn_zoo.methods.privileged import auxiliary_loss


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("frame", [(), (3,), (2, 2)])
def test_the_mean_over_an_example_s_own_frames(frame):
    predicted, privileged = draw(0, 5, 4, *frame), draw(1, 5, 4, *frame)
    mask = torch.arange(4) < torch.tensor([[1], [4], [2], [3], [4]])
    found = auxiliary_loss(predicted, privileged, mask)
    assert found.tolist() == pytest.approx(oracles.auxiliary(predicted, privileged, mask))
    everything = torch.ones(5, 4, dtype=torch.bool)
    found = auxiliary_loss(predicted, privileged)
    assert found.tolist() == pytest.approx(oracles.auxiliary(predicted, privileged, everything))
    torch.testing.assert_close(found, auxiliary_loss(predicted, privileged, everything))


def test_what_lies_behind_the_end_has_no_gradient():
    predicted = draw(0, 2, 3).requires_grad_()
    mask = torch.tensor([[True, False, False], [True, True, True]])
    auxiliary_loss(predicted, draw(1, 2, 3), mask).sum().backward()
    assert predicted.grad[0, 1:].tolist() == [0, 0]
    assert predicted.grad[mask].all()


@pytest.mark.parametrize("frame", [(), (1,), (2, 2)])
@pytest.mark.parametrize("odd", [torch.nan, torch.inf])
def test_what_lies_behind_the_end_may_be_anything(frame, odd):
    mask = torch.tensor([[True, False, False], [True, True, True]])
    predicted, privileged = draw(0, 2, 3, *frame).requires_grad_(), draw(1, 2, 3, *frame)
    found = auxiliary_loss(predicted, privileged, mask)
    (wanted,) = torch.autograd.grad(found.sum(), predicted)
    privileged[~mask] = odd
    again = auxiliary_loss(predicted, privileged, mask)
    assert torch.equal(again, found)
    assert torch.equal(torch.autograd.grad(again.sum(), predicted)[0], wanted)
    assert not wanted[~mask].any()


@pytest.mark.parametrize(
    ("predicted", "mask", "sentence"),
    [
        (draw(0, 5, 3), None, r"in their shape, \(5, 4\)\. Found \(5, 3\)"),
        (draw(0, 5, 4), torch.ones(5, 3, dtype=torch.bool), r"should be bools \(5, 4\).*Found torch.bool, \(5, 3\)"),
        (draw(0, 5, 4), torch.ones(5, 4), "should be bools.*Found torch.float32"),
        (draw(0, 5, 4), torch.zeros(5, 4, dtype=torch.bool), "a frame in every example"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_does_not_fit(predicted, mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        auxiliary_loss(predicted, draw(1, 5, 4), mask)


@pytest.mark.usefixtures("as_installed")
def test_what_is_no_tensor():
    with pytest.raises(TypeError, match="`privileged` should be a tensor"):
        auxiliary_loss(draw(0, 5, 4), None)
    with pytest.raises(TypeError, match="`mask` should be a tensor"):
        auxiliary_loss(draw(0, 5, 4), draw(1, 5, 4), [[True] * 4] * 5)


@pytest.mark.parametrize("shape", [(5, 0), (5, 4, 0)])
@pytest.mark.usefixtures("as_installed")
def test_of_nothing_there_is_no_mean(shape):
    with pytest.raises(ValueError, match=r"`privileged` should have numbers in each example\. Found shape \(5, "):
        auxiliary_loss(torch.ones(shape), torch.ones(shape))
    assert auxiliary_loss(torch.ones(0, 3), torch.ones(0, 3)).shape == (0,)

import math

import pytest
import torch

import privileged_oracles as oracles
from mechlearn_zoo.methods.privileged import FutureScores, info_nce


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def head(steps=4):
    return FutureScores(steps, 3, 2, torch.Generator().manual_seed(0)).double()


@pytest.mark.parametrize("ragged", [False, True])
def test_an_example_s_own_future_among_the_batch(ragged):
    scores, context, futures = head(), draw(1, 5, 3), draw(2, 5, 4, 2)
    mask = torch.arange(4) < torch.tensor([[1], [4], [2], [3], [3]]) if ragged else torch.ones(5, 4, dtype=torch.bool)
    found = info_nce(scores(context, futures), mask)
    expected = oracles.info_nce(context, futures, scores.weight.detach(), mask)
    assert found.tolist() == pytest.approx(expected)
    if not ragged:
        torch.testing.assert_close(found, info_nce(scores(context, futures)))


def test_what_lies_behind_the_end_changes_nothing():
    scores, context, futures = head(), draw(1, 5, 3), draw(2, 5, 4, 2).requires_grad_()
    mask = torch.arange(4) < torch.tensor([[1], [2], [2], [3], [3]])  # nobody has a fourth frame
    found = info_nce(scores(context, futures), mask)
    (gradient,) = torch.autograd.grad(found.sum(), futures)
    assert torch.isfinite(gradient).all()
    assert not gradient[~mask].any()
    other = torch.where(mask[..., None], futures, 100.0)
    torch.testing.assert_close(found, info_nce(scores(context, other), mask))


def test_ignorance_is_log_b_and_certainty_is_0():
    assert info_nce(torch.zeros(3, 8, 8)).tolist() == pytest.approx([math.log(8)] * 8)
    assert info_nce(100 * torch.eye(8).expand(3, 8, 8)).tolist() == pytest.approx([0.0] * 8, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: info_nce(draw(0, 3, 4, 5)), ValueError, r"shape \(T, B, B\).*Found \(3, 4, 5\)"),
        (lambda: info_nce(draw(0, 0, 4, 4)), ValueError, r"a step and two examples or more\. Found \(0, 4, 4\)"),
        (lambda: info_nce(draw(0, 3, 1, 1)), ValueError, "two examples or more"),
        (lambda: info_nce(draw(0, 3, 4, 4), torch.ones(4, 2) > 0), ValueError, r"`mask` should be bools \(4, 3\)"),
        (lambda: info_nce(None), TypeError, "`scores` should be a tensor"),
        (lambda: head()(draw(0, 5, 2), draw(1, 5, 4, 2)), ValueError, r"Contexts should have the shape \(B, 3\)"),
        (lambda: FutureScores(0, 3, 2, torch.Generator()), ValueError, "`steps` should be at least 1"),
        (lambda: FutureScores(1, 3, 2, None), TypeError, "`generator` should be"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_does_not_fit(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()

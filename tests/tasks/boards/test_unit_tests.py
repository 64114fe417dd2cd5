import pytest
import torch

from craik.tasks.boards.unit_tests import EXAMPLES, unit_test


@pytest.mark.parametrize("example", EXAMPLES)
def test_shuffling_leaves_invariant_inputs_and_the_spurious_ones_of_others(example):
    data = unit_test(example, 4, 300, torch.Generator().manual_seed(0))
    assert data.x.shape == data.test_x.shape == (4, 300, 10)
    assert torch.equal(data.x[..., :5], data.test_x[..., :5])
    assert not torch.equal(data.x[..., 5:], data.test_x[..., 5:])
    assert torch.equal(data.x[..., 5:].sort(1).values, data.test_x[..., 5:].sort(1).values)
    again = unit_test(example, 4, 300, torch.Generator().manual_seed(0))
    assert torch.equal(data.x, again.x)


def test_what_is_invariant_says_the_label():
    cows = unit_test("cows", 3, 2000, torch.Generator().manual_seed(1))
    assert ((cows.x[..., :5].sum(-1) > 0) == (cows.y > 0.5)).all()
    usual = ((cows.x[..., 5:].sum(-1) > 0) == (cows.y > 0.5)).float().mean(1)
    assert usual.tolist() == pytest.approx([0.95, 0.97, 0.99], abs=0.02)
    margin = unit_test("margin", 3, 2000, torch.Generator().manual_seed(1))
    side = 2 * margin.y - 1
    means = (margin.x * side[..., None]).mean(1)
    assert means[:, :5].flatten().tolist() == pytest.approx([0.1] * 15, abs=0.02)
    regression = unit_test("regression", 3, 4000, torch.Generator().manual_seed(1))
    assert regression.x[..., :5].std((1, 2)).tolist() == pytest.approx([0.1, 1.5, 2.0], rel=0.05)


def test_bad_input():
    with pytest.raises(ValueError, match="`example` should be"):
        unit_test("camels", 3, 10, torch.Generator())
    with pytest.raises(ValueError, match="`environments` should"):
        unit_test("cows", 0, 10, torch.Generator())

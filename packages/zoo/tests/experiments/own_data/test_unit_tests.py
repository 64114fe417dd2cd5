import pytest
import torch

from mechlearn_zoo.experiments.own_data.linear_units.unit_tests import EXAMPLES, parts, scrambled, unit_test, unit_test_twice


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


@pytest.mark.parametrize("example", EXAMPLES)
def test_other_examples_are_of_the_same_environments_and_change_nothing_of_the_first(example):
    alone = unit_test(example, 5, 2000, torch.Generator().manual_seed(0))
    first, other = unit_test_twice(example, 5, 2000, *(torch.Generator().manual_seed(seed) for seed in (0, 1)))
    assert all(torch.equal(one, same) for one, same in zip(alone, first, strict=True))
    assert not torch.isclose(other.x, first.x).all(2).any()
    ways = [(data.x * (data.y - data.y.mean(1, keepdim=True))[..., None]).mean(1) for data in (first, other)]
    assert (ways[0] - ways[1]).norm() < 0.1 * ways[0].norm()
    assert torch.equal(other.x[..., :5], other.test_x[..., :5])


def test_parts_are_the_examples_in_their_order():
    data = unit_test("cows", 3, 12, torch.Generator().manual_seed(0))
    train, validation, test = parts(data, 3)
    assert torch.equal(torch.cat([train.x, validation.x, test.x], 1), data.x)
    assert torch.equal(test.test_x, data.test_x[:, 8:])
    assert validation.y.shape == (3, 4)
    with pytest.raises(ValueError, match="should divide the 12 examples"):
        parts(data, 5)


def test_scrambling_rotates():
    data = unit_test("regression", 3, 50, torch.Generator().manual_seed(0))
    turned = scrambled(data, torch.Generator().manual_seed(1))
    torch.testing.assert_close(turned.x[0] @ turned.x[1].T, data.x[0] @ data.x[1].T)
    torch.testing.assert_close(turned.test_x[2] @ turned.x[0].T, data.test_x[2] @ data.x[0].T)
    assert turned.y is data.y
    assert (turned.x - data.x).abs().mean() > 0.1


def test_bad_input():
    with pytest.raises(ValueError, match="`example` should be"):
        unit_test("camels", 3, 10, torch.Generator())
    with pytest.raises(ValueError, match="`environments` should"):
        unit_test("cows", 0, 10, torch.Generator())

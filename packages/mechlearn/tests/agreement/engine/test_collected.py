"""Environments of several calls: sums of stacked gradients, and ids that come back."""

import pytest
import torch
from torch import nn

from mechlearn.agreement import AndMask, Mean, SandMask
from mechlearn.agreement.engine.collected import Collected
from mechlearn.agreement.engine.sums import RunningSums

NEEDS = frozenset({"sign", "square", "log_magnitude", "magnitude"})
PARAMETER = nn.Parameter(torch.zeros(3, 4, dtype=torch.float64))
OUTSIDE = torch.zeros(2)


def draw(examples, seed):
    """Per-example gradients, integers over 8: sums without rounding."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-9, 10, (examples, 3, 4), generator=generator).double() / 8


def call(examples, ids, needs=NEEDS, names=("weight",)):
    """What one call collects of per-example gradients: each environment's mean gradient."""
    distinct = sorted(set(ids))
    means = torch.stack([examples[[k for k, e in enumerate(ids) if e == one]].mean(0) for one in distinct])
    losses = means.mean((1, 2))
    as_ids = torch.tensor(distinct) if all(isinstance(e, int) for e in distinct) else tuple(distinct)
    found = Collected(as_ids, losses, sizes=tuple(ids.count(one) for one in distinct))
    sums = {}
    for name in names:
        sums[name] = RunningSums(PARAMETER, needs)
        sums[name].add(means.clone())
    found.sums = sums
    found.paths = dict.fromkeys(names, "layer")
    found.parameters = dict.fromkeys(names, PARAMETER)
    found.outside = {OUTSIDE: means.sum((0, 1))[:2]}
    return found


def assert_equal(found, expected):
    assert (found.ids, found.sizes) == (expected.ids, expected.sizes) if isinstance(found.ids, tuple) else True
    assert list(found.ids) == list(expected.ids)
    torch.testing.assert_close(found.losses, expected.losses, rtol=1e-14, atol=1e-15)
    assert found.sums.keys() == expected.sums.keys()
    for name, sums in found.sums.items():
        one, other = sums.statistics(), expected.sums[name].statistics()
        assert one.environments == other.environments
        assert torch.equal(one.sign, other.sign)
        for a, b in zip(one[1:], other[1:], strict=True):
            torch.testing.assert_close(a, b, rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(found.outside[OUTSIDE], expected.outside[OUTSIDE], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    "calls",
    [
        [[1], [1, 1]],
        [[1, 1, 1], [1], [1, 1]],
        [[1, 2], [3], [3, 3], [4, 5, 5]],
        [[1], [2], [2, 2], [2], [3], [3]],
        [[7, 7], [7], [3, 2, 2]],
        [["Ulm"], ["Ulm", "Ulm"], ["Bonn", "Kiel"], ["Aalen"]],
        [[1, 2], [3, 4, 4], [5]],
    ],
)
def test_calls_in_a_row_of_one_environment_are_one_environment(calls):
    examples = draw(sum(map(len, calls)), seed=0)
    parts = examples.split([len(ids) for ids in calls])
    found = call(parts[0], calls[0])
    for part, ids in zip(parts[1:], calls[1:], strict=True):
        found.join(call(part, ids))
    in_order = list(dict.fromkeys(e for ids in calls for e in sorted(ids)))
    expected = call(examples, [in_order.index(e) for ids in calls for e in ids])
    expected.ids = torch.tensor(in_order) if isinstance(in_order[0], int) else tuple(in_order)
    assert found.sizes == expected.sizes
    assert_equal(found, expected)


@pytest.mark.parametrize(
    "calls", [[[1, 2], [2]], [[1], [2], [1]], [[1], [1, 2]], [["a", "b"], ["a"]], [[1, 2], [3], [2, 4]], [[5], ["x"], [5]]]
)
def test_an_id_that_was_complete_is_refused(calls):
    found = call(draw(len(calls[0]), 0), calls[0])
    for ids in calls[1:-1]:
        found.join(call(draw(len(ids), 1), ids))
    ids, sizes = found.ids, found.sizes
    with pytest.raises(ValueError, match=r"should come in one call.*Found environment .* in an earlier call.*ids of their own"):
        found.join(call(draw(len(calls[-1]), 2), calls[-1]))
    with pytest.raises(ValueError, match="in an earlier call"):
        found.check(AndMask(), call(draw(len(calls[-1]), 2), calls[-1]).ids)
    assert found.ids is ids
    assert found.sizes is sizes
    assert found.sums["weight"].environments == len(ids)


def test_an_environment_is_closed_when_its_sums_are_read():
    found = call(draw(2, 0), [1, 2])
    found.join(call(draw(2, 1), [3, 3]))
    assert found.statistics()["weight"].environments == 3
    assert found.statistics().ids.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="Found environment 3 in an earlier call"):
        found.join(call(draw(2, 1), [3, 3]))


@pytest.mark.parametrize("order", [(("a",), ("a", "b")), (("a", "b"), ("b",))])
def test_parameters_that_a_part_of_an_environment_does_not_reach(order):
    """The part that does not reach it has gradient 0 there, and weighs what its examples weigh."""
    one, other = draw(1, 0), draw(3, 1)
    found = call(draw(2, 2), [1, 2], names=("a", "b"))
    found.join(call(one, [3], names=order[0]))
    found.join(call(other, [3, 3, 3], names=order[1]))
    for name in ("a", "b"):
        parts = [rows if name in names else torch.zeros_like(rows) for rows, names in zip((one, other), order, strict=True)]
        gradient = torch.cat(parts).mean(0)
        expected = call(draw(2, 2), [1, 2]).sums["weight"]
        expected.add(gradient[None].clone())
        torch.testing.assert_close(found.sums[name].statistics(), expected.statistics(), rtol=1e-13, atol=1e-14)


def test_another_rule_finds_out_what_it_lacks():
    found = call(draw(2, 0), [1, 2], needs=frozenset({"sign"}))
    found.check(AndMask())
    found.check(Mean())
    with pytest.raises(ValueError, match=r"SandMask.*reads sums of square.*Set the rule before"):
        found.check(SandMask())
    found.join(call(draw(2, 1), [3, 4], needs=frozenset({"sign", "square"})))
    with pytest.raises(ValueError, match="reads sums of square"):
        found.check(SandMask())

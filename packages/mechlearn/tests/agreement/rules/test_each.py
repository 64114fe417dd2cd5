"""A rule of one's own that reads every environment's gradient."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from mechlearn.agreement import Agreement, Combined, Statistics, combine
from mechlearn.testing import check_rule


@dataclass(frozen=True)
class CoordinateMedian:
    """Each component's median, of an even number the middle of both."""

    needs: ClassVar[frozenset[str]] = frozenset({"each"})

    def __call__(self, statistics: Statistics) -> Combined:
        assert statistics.each is not None
        median = statistics.each.quantile(0.5, 0)
        return Combined(median, torch.ones_like(median))


def test_it_can_be_tried_and_checked():
    gradients = torch.tensor([[1.0, 5.0], [3.0, -1.0], [2.0, 0.0]])
    assert combine(CoordinateMedian(), gradients).gradient.tolist() == [2.0, 0.0]
    check_rule(CoordinateMedian())


def test_it_is_not_mixed_with_sums():
    rule = CoordinateMedian()
    object.__setattr__(rule, "needs", frozenset({"each", "sign"}))
    with pytest.raises(AssertionError, match="or of 'each' alone"):
        check_rule(rule)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_backward_is_the_rule_on_each_environments_gradient(dtype):
    generator = torch.Generator().manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).to(dtype)
    x, y = (torch.randn(24, width, generator=generator, dtype=dtype) for width in (3, 1))
    sites = torch.randint(4, (24,), generator=generator)

    def losses():
        return mse_loss(model(x), y, reduction="none")[:, 0]

    each = [torch.autograd.grad(losses()[sites == site].mean(), list(model.parameters())) for site in range(4)]
    Agreement(model, CoordinateMedian()).backward(losses(), sites)
    for parameter, *stacked in zip(model.parameters(), *each, strict=True):
        wanted = combine(CoordinateMedian(), torch.stack(stacked)).gradient
        torch.testing.assert_close(parameter.grad, wanted)

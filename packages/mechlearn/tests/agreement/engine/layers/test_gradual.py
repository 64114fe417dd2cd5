"""Recurrent layers, whose steps are put together an environment at a time, against one backward pass an environment."""

import pytest
import torch
from torch import nn

from cpu_alone import cpu_alone
from mechlearn.agreement import Agreement, AndMask, GeometricMean, combine
from mechlearn.agreement.engine.layers.gradual import Pieces, Spread
from mechlearn.agreement.engine.layers.products import Products
from mechlearn.agreement.engine.layers.terms import Span


def test_pieces_and_spread_are_the_products_of_all_rows():
    torch.manual_seed(0)
    left, right = torch.randn(9, 6, 4, dtype=torch.float64), torch.randn(9, 6, 5, dtype=torch.float64)  # 3 environments of 2
    cut = (slice(0, 2), slice(2, 4), slice(4, 6))
    expected = torch.stack([torch.einsum("tno,tni->oi", left[:, s], right[:, s]) for s in cut])
    for term in (Pieces([Products(a, b, (2, 2, 2)) for a, b in zip(left, right, strict=True)]), Spread(left, right, 3)):
        torch.testing.assert_close(term.gradients(Span(0, 3)), expected)
        torch.testing.assert_close(term.gradients(Span(1, 2)), expected[1:])
    torch.testing.assert_close(Spread(left, right, 3).swapped().gradients(Span(0, 3)), expected.mT)


@cpu_alone("a GRU of one node a step; cuDNN's is one node, which takes one backward pass for each environment")
@pytest.mark.parametrize("rule", [AndMask(0.6), GeometricMean(0.6)])
@pytest.mark.parametrize(("count", "each"), [(3, 2), (4, 1)])
def test_a_gru_of_many_steps(rule, count, each):
    """A weight of 200 hidden units is large enough to be formed one environment after another."""
    torch.manual_seed(0)
    layer, head = nn.GRU(24, 200, batch_first=True).double(), nn.Linear(200, 1).double()
    model = nn.ModuleList([layer, head])
    ids = torch.arange(count).repeat_interleave(each)
    x = torch.randn(len(ids), 40, 24, dtype=torch.float64)
    losses = head(layer(x)[0][:, -1])[:, 0].square()
    names = dict(model.named_parameters())
    rows = [torch.autograd.grad(losses[ids == e].mean(), list(names.values()), retain_graph=True) for e in range(count)]
    record = Agreement(model, rule).backward(losses, ids)
    assert set(record.paths.values()) == {"layer"}
    for parameter, gradients in zip(names.values(), zip(*rows, strict=True), strict=True):
        expected = combine(rule, torch.stack(gradients)).gradient
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-8, atol=1e-12)

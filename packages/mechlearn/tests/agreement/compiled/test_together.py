"""Several products and sums in one call of the engine's operation: fewer calls, and the same gradients."""

import pytest
import torch
from torch import nn

from compiled_oracles import assert_step
from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.compiled import operation, rewriting
from mechlearn.agreement.compiled.plan import Output, Plan, Rows, Step, parts

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


def small():
    torch.manual_seed(0)
    layers = nn.Linear(3, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 1)
    return nn.Sequential(*layers).double()


@pytest.mark.parametrize(("elements", "calls"), [(2**20, 1), (0, 7)])  # apart: three layers, four sums of layer norms
def test_calls_and_gradients(elements, calls, monkeypatch):
    monkeypatch.setattr(rewriting, "WAITING", elements)
    seen = []
    monkeypatch.setattr(operation, "body", lambda plan, body=operation.body: seen.append(plan) or body(plan))
    model = small()

    def losses_of(x):
        return model(x)[:, 0].square()

    step = Agreement(model, AndMask(0.6)).compile(losses_of, backend="aot_eager")
    batch, ids = (torch.randn(12, 3, dtype=torch.float64),), [0, 2, 1] * 4
    assert_step(step, model, losses_of, batch, ids)
    assert len(seen) == calls


def test_parts_of_a_plan():
    turn = Step("aten.permute.default", [{"value": 0}, [1, 0]], {})
    products = [Step("aten.mm.default", [{"value": 3}, {"value": k}], {}) for k in (1, 2)]
    rows = [Rows(0, 0)] * 3
    of_two = Plan(rows, [turn, *products], [Output(4, [2, 2], "float32"), Output(5, [2, 2], "float32")], ["sign"])
    assert [(one.operands, one.outputs, len(one.plan.steps)) for one in parts(of_two)] == [([0, 1], [0], 2), ([0, 2], [1], 2)]
    both = Step("aten.add.Tensor", [{"value": 4}, {"value": 5}], {})
    of_one = Plan(rows, [turn, *products, both], [Output(6, [2, 2], "float32"), Output(4, [2, 2], "float32")], ["sign"])
    assert parts(of_one) == [(of_one, [0, 1, 2], [0, 1])]

"""What no graph shows is found by comparing one environment with the definition, every so many calls."""

import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, Qualitative
from mechlearn.agreement.engine.verification import SpotChecks
from one_layer import PAIRED, B, Doubled, noise

IDS = torch.tensor(PAIRED)


class Hooked(nn.Module):
    """A hook on a tensor inside, as those that clip or normalise gradients within a network."""

    def __init__(self, hook, dtype=torch.float64):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.hook = nn.Linear(5, 6), nn.Linear(6, 1), hook
        self.to(dtype)

    def forward(self, x):
        h = self.first(x)
        if self.hook is not None:
            h.register_hook(self.hook)
        return self.second(torch.tanh(h))[:, 0]


ROW_BY_ROW = {"none": None, "clamps": lambda g: g.clamp(-0.01, 0.01), "by row": lambda g: g / (1 + g.norm(dim=1, keepdim=True))}
NOT_BY_ROW = {
    "by the batch's norm": lambda g: g / g.norm(),
    "largest ones": lambda g: g * (g.abs() > g.abs().median()),
    "others' rows": lambda g: g.flip(0),
}
CALLS = {
    "signs": (AndMask(0.5), {}),
    "other statistics": (GeometricMean(0.5), {}),
    "how examples vary": (Qualitative(0.5), {}),
    "units": (AndMask(0.5), {"normalise": "tensor"}),
    "the model's norm": (Mean(), {"normalise": "model"}),
}


def losses_of(model, dtype=torch.float64):
    return (model(noise(B, 5).to(dtype)) - 1) ** 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("hook", ROW_BY_ROW)
def test_hooks_that_act_row_by_row_pass(hook, call, dtype):
    if hook != "none" and call == "the model's norm":
        return  # refused for another reason
    rule, settings = CALLS[call]
    model = Hooked(ROW_BY_ROW[hook], dtype)
    agreement = Agreement(model, rule, verify=1, **settings)
    for _ in range(3):
        assert agreement.backward(losses_of(model, dtype), IDS).proved == "checked"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("hook", NOT_BY_ROW)
def test_hooks_that_do_not_are_found_before_a_gradient_is_touched(hook, call, dtype):
    rule, settings = CALLS[call]
    model = Hooked(NOT_BY_ROW[hook], dtype)
    with pytest.raises(ValueError, match=r"Found another one of 'first\.(weight|bias)' in environment 0"):
        Agreement(model, rule, verify=1, **settings).backward(losses_of(model, dtype), IDS)
    assert all(p.grad is None for p in model.parameters())


class Reversed(torch.autograd.Function):
    """Not row by row: every row meets another one."""

    @staticmethod
    def forward(ctx, x):
        return x + x.flip(0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient + gradient.flip(0)


def test_a_word_that_is_not_true_is_found_and_one_that_is_becomes_checked():
    model, x = Hooked(None), noise(B, 5)
    agreement = Agreement(model, AndMask(0.5), rows="independent", verify=2)
    with pytest.raises(ValueError, match=r"Found another one of 'first\.weight' in environment 0"):
        agreement.backward((model.second(torch.tanh(Reversed.apply(model.first(x))))[:, 0] - 1) ** 2, IDS)
    for proved in ("declared", "checked", "declared"):
        h = Doubled.apply(model.first(x))
        assert agreement.backward((model.second(h)[:, 0] - 1) ** 2, IDS).proved == proved


def test_every_so_many_calls_and_another_environment_each_time():
    checks = SpotChecks(3)
    assert [checks.environment(4) for _ in range(16)] == [
        0, None, None, 1, None, None, 2, None, None, 3, None, None, 0, None, None, 1,
    ]  # fmt: skip
    assert SpotChecks(None).environment(4) is None


@pytest.mark.parametrize("verify", [0, -1, True, 1.5])
def test_what_is_no_number_of_calls(verify):
    with pytest.raises((TypeError, ValueError), match="verify"):
        Agreement(Hooked(None), AndMask(), verify=verify)


def test_accumulated_calls_are_as_sure_as_the_least_of_them():
    model = Hooked(None)
    agreement = Agreement(model, AndMask(0.5), verify=2)
    agreement.accumulate(losses_of(model), IDS)
    assert agreement.backward(losses_of(model), IDS + 4).proved == "proved"


def test_it_costs_one_backward_pass_and_leaves_the_result():
    models = [Hooked(None), Hooked(None)]
    for model, verify in zip(models, (None, 1), strict=True):
        Agreement(model, AndMask(0.5), verify=verify).backward(losses_of(model), IDS)
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one.grad, other.grad)

import inspect

import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import Target, TimeMixture, UnitsTeacher
from mechlearn.testing import check_teacher

PRIVILEGED = models.randn(0, 5, 4)
HIDDEN = {"read": models.randn(1, 5, 3)}
LAYERS = {"0": models.randn(1, 5, 3), "2": models.randn(2, 5, 2, 2)}


class Plain(nn.Module):
    """A good one, to be broken in one way at a time."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3).double()

    def forward(self, privileged):
        return self.linear(privileged)


class Noisy(Plain):
    def forward(self, privileged):
        return nn.functional.dropout(super().forward(privileged), 0.5)


class WithDropout(Plain):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)


class OwnNumbers(Plain):
    """Counts its calls where nobody looks."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, privileged):
        self.calls += 1
        return super().forward(privileged) * self.calls


class InPlace(Plain):
    def forward(self, privileged):
        found = super().forward(privileged)
        privileged.clamp_(min=0)
        privileged.zero_()
        return found


class Wide(Plain):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 7).double()


class Gated(Plain):
    def forward(self, privileged):
        h = super().forward(privileged)
        return Target(h, h[:, :2])


class OtherLayer(Plain):
    def forward(self, privileged):
        return {"write": super().forward(privileged)}


class Logarithm(Plain):
    def forward(self, privileged):
        return super().forward(privileged).log()


class Idle(Plain):
    def __init__(self):
        super().__init__()
        self.idle = nn.Parameter(torch.ones(2).double())


class Detached(Plain):
    def forward(self, privileged):
        return super().forward(privileged).detach()


class Rounded(Plain):
    def forward(self, privileged):
        return super().forward(privileged).round()


class Leaking(Plain):
    def forward(self, privileged):
        return super().forward(privileged - privileged.mean(0))


class Unregistered(Plain):
    def __init__(self):
        super().__init__()
        self.shift = torch.randn(3).double()

    def forward(self, privileged):
        return super().forward(privileged) + self.shift


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Noisy, "should not draw random numbers.*two passes over the same batch differ"),
        (WithDropout, r"should not draw random numbers.*'dropout' \(Dropout\) in train mode"),
        (OwnNumbers, "should not draw random numbers.*two passes over the same batch differ"),
        (InPlace, "leave its inputs as they are.*changed in place"),
        (Wide, r"shape of that layer's output\. Found \(5, 7\) for 'read', whose output has \(5, 3\)"),
        (Gated, r"gates for a layer.*Found \(5, 2\)"),
        (OtherLayer, r"layers \['read'\]\. Found \['write'\]"),
        (Logarithm, "finite floating-point numbers.*that are not finite"),
        (Idle, "gradient should reach every parameter.*for idle"),
        (Detached, "gradient should reach every parameter.*for linear.weight, linear.bias"),
        (Rounded, "gradient should reach every parameter.*rounding"),
        (Leaking, "the same targets alone and in a batch. Found others for example 0 of 5"),
        (Unregistered, "state dictionary should hold all"),
        (lambda: Plain().requires_grad_(False), "at least one parameter that requires a gradient"),
    ],
)
def test_each_broken_rule_has_its_sentence(broken, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_teacher(broken, PRIVILEGED.clone(), HIDDEN)


def flat(outputs, gated=False):
    network = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, outputs)).double()
    return UnitsTeacher(network, {"0": 3, "2": (2, 2)}, gated=gated)


@pytest.mark.parametrize(
    ("make", "privileged", "hidden"),
    [
        (Plain, PRIVILEGED, HIDDEN),
        (lambda: flat(7), PRIVILEGED, LAYERS),
        (lambda: flat(14, gated=True), PRIVILEGED, LAYERS),
        (
            lambda: TimeMixture(3, {"conv": 2}, scale=0.5, generator=models.generator()).double(),
            models.randn(0, 5, 3, 4, 4),
            {"conv": models.randn(1, 5, 2, 4, 4)},
        ),
    ],
)
def test_ours_keep_all_rules(make, privileged, hidden):
    before, given = torch.get_rng_state(), privileged.clone()
    check_teacher(make, privileged, hidden)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(privileged, given)


def test_a_single_example_is_too_few():
    with pytest.raises(ValueError, match=r"at least two examples\. Found 1"):
        check_teacher(Plain, PRIVILEGED[:1], HIDDEN)


def test_a_teacher_in_the_place_of_its_class_is_refused():
    with pytest.raises(TypeError, match=r"a new teacher each time it is called\. Found a teacher, Plain\. Give its class"):
        inspect.unwrap(check_teacher)(Plain(), PRIVILEGED, HIDDEN)  # without its annotations' checks, which only tests have


class Numbered(Plain):
    """It holds a parameter of whole numbers, which nothing can train."""

    def __init__(self):
        super().__init__()
        self.order = nn.Parameter(torch.arange(3), requires_grad=False)


def test_a_parameter_of_whole_numbers_is_left_alone():
    check_teacher(Numbered, PRIVILEGED, HIDDEN)

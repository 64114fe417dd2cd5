import numpy as np
import pytest
import torch
from torch import nn

import distill_models as models
import distill_oracles as oracles
from mechlearn.distill import SGD, Target, TimeMixture, UnitsTeacher, meta_gradient
from mechlearn.distill.teachers.hoisting import Hoisting, Teaching

UNITS = {"a": (3,), "b": (2, 2)}


@pytest.mark.parametrize("gated", [False, True])
def test_units_are_dealt_out_in_order(gated):
    network = nn.Identity()
    teacher = UnitsTeacher(network, UNITS, gated=gated)
    assert teacher.outputs == 7 * (1 + gated)
    flat = models.randn(0, 5, teacher.outputs)
    found, expected = teacher(flat), oracles.Copies(network, UNITS, gated)(flat)
    for name in UNITS:
        value, gate = expected[name] if gated else (expected[name], None)
        assert torch.equal(found[name].value, value)
        assert gate is None if found[name].gate is None else torch.equal(found[name].gate, gate)


def test_a_network_of_another_width_is_refused():
    with pytest.raises(ValueError, match=r"14 outputs an example, 2 for each unit.*Found outputs of shape \(5, 7\)"):
        UnitsTeacher(nn.Linear(4, 7).double(), UNITS, gated=True)(models.randn(0, 5, 4))


def test_the_mixture_is_the_texts_formula():
    teacher = TimeMixture(3, {"0": 2, "3": 4}, scale=0.7, generator=models.generator()).double()
    frames = models.randn(1, 5, 3, 6, 7)
    found = teacher(frames)
    expected = oracles.mixture(teacher.phi.detach(), frames)
    torch.testing.assert_close(torch.cat([found["0"].value, found["3"].value], 1), expected)
    plain = TimeMixture(3, {"0": 2}, scale=0.0, generator=models.generator()).double()(frames)["0"].value
    torch.testing.assert_close(plain[:, 1], frames.mean(1))


def test_the_mixture_goes_through_the_engine():
    teacher = TimeMixture(3, {"0": 2}, scale=0.7, generator=models.generator()).double()
    frames = models.randn(1, 4, 5, 3, 6, 7)
    teaching = Teaching(teacher, ["0"], Hoisting())
    (signal,) = teaching.hoist(frames).signals
    assert signal.shape == (4, 5, 2, 6, 7)
    assert torch.equal(signal[2], teacher(frames[2])["0"].value)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(("units", "kind"), [("8", TypeError), (0, ValueError), ((2.0, 4), TypeError), (None, TypeError)])
def test_units_that_are_none_are_refused(units, kind):
    with pytest.raises(kind, match=r"`units\['read'\]` should be"):
        UnitsTeacher(nn.Linear(3, 8), {"read": units})


@pytest.mark.usefixtures("as_installed")
def test_units_of_numpy_and_boards_of_whole_numbers_are_taken():
    assert UnitsTeacher(nn.Linear(3, 8), {"read": np.int64(8)}).outputs == 8
    teacher = TimeMixture(3, {"0": 2}, scale=1.0, generator=models.generator())
    boards = models.labels(0, 5, 3, 4, 6) > 0
    expected = teacher(boards.float())["0"].value
    for given in (boards, boards.to(torch.uint8)):
        assert torch.equal(teacher(given)["0"].value, expected)


class Saying(nn.Module):
    """A teacher that returns something made of its targets."""

    def __init__(self, make):
        super().__init__()
        self.linear, self.make = models.filled(nn.Linear(4, 5), 1), make

    def forward(self, privileged):
        return self.make(self.linear(privileged))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda o: o.round().long(), r"floating numbers.*Found torch\.int64 for '0'"),
        (lambda o: o > 0, r"floating numbers.*Found torch\.bool"),
        (lambda o: {"0": None}, "should be tensors. Found an object of type NoneType for '0'"),
        (lambda o: {"0": o.detach().numpy()}, "should be tensors. Found an object of type ndarray"),
        (lambda o: {"0": {"value": o}}, "should be tensors. Found an object of type dict"),
        (lambda o: Target(o, o > 0), r"The teacher's gates.*Found torch\.bool"),
        (lambda o: o.to(torch.complex128), r"a squared error should be of real numbers.*complex128"),
    ],
)
def test_what_is_no_target_is_said(make, sentence):
    lesson = models.lesson(models.student("mlp"), Saying(make), ["0"])
    with pytest.raises(TypeError, match=rf"(?i){sentence}"):
        meta_gradient(lesson, *models.data(), SGD(0.1))


def test_a_student_of_complex_parameters_is_refused():
    student = models.student("mlp")
    student.register_parameter("turn", nn.Parameter(torch.ones(2, dtype=torch.complex128)))
    with pytest.raises(TypeError, match=r"real parameters\. Found 'turn' of torch\.complex128"):
        meta_gradient(models.lesson(student, models.teacher({"0": (5,)}), ["0"]), *models.data(), SGD(0.1))

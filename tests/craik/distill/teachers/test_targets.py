import pytest
import torch
from torch import nn

import distill_models as models
import distill_oracles as oracles
from craik.distill import TimeMixture, UnitsTeacher
from craik.distill.teachers.hoisting import Hoisting, Teaching

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

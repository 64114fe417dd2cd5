import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import GatedSquaredError, Ragged, Target, TimeMixture, read_teacher
from mechlearn.trajectories import Trajectories


class Frames(nn.Module):
    """Two layers' targets and gates of three frames of two numbers, nonlinear in them; BatchNorm where asked for."""

    def __init__(self, norm=False):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4), nn.Linear(4, 10)
        self.norm = nn.BatchNorm1d(4) if norm else nn.Identity()

    def forward(self, privileged):
        flat = self.leave(torch.tanh(self.norm(self.enter(privileged.flatten(1)))))
        return {"0": Target(flat[:, :3], flat[:, 3:6]), "2": Target(flat[:, 6:8], flat[:, 8:])}


def lesson(teacher, loss=None):
    student = nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    return models.lesson(student, teacher, ["0", "2"], teaching_loss=loss or GatedSquaredError(0.7, 0.2))


def literal(teacher, privileged, gated):
    """By the whole Jacobian, unit by unit, example by example."""
    found = {"0": torch.zeros(5, 3).double(), "2": torch.zeros(5, 3).double()}
    openings = {}
    for name, rows in found.items():
        value, gate = teacher(privileged)[name]
        opening = 1 / (1 + torch.exp(-(0.7 * gate + 0.2))) if gated else torch.ones_like(gate)
        openings[name] = opening.mean()
        jacobian = torch.autograd.functional.jacobian(lambda p, name=name: teacher(p)[name].value, privileged)
        for b in range(5):
            for u in range(value.shape[1]):
                for c in range(5):
                    for t in range(3):
                        rows[c, t] += opening[b, u].detach() * (jacobian[b, u, c, t] ** 2).sum()
    return torch.stack([rows.mean(0) for rows in found.values()]), torch.stack(list(openings.values()))


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("gated", [False, True])
def test_the_mass_of_the_jacobian_frame_by_frame(norm, gated):
    teacher, privileged = models.filled(Frames(norm), 1), models.randn(2, 5, 3, 2)
    given = lesson(teacher, None if gated else lambda h, t: (h["0"] - t["0"].value).square().sum(1))
    found = read_teacher(given, privileged)
    used, gates = literal(teacher, privileged, gated)
    torch.testing.assert_close(found.used, used)
    torch.testing.assert_close(found.gates, gates)
    torch.testing.assert_close(found.shares, used / used.sum(1, keepdim=True))
    torch.testing.assert_close(found.by_time(), used.sum(0) / used.sum())
    assert found.frames.tolist() == used.argmax(1).tolist()
    assert found.layers == ("0", "2")
    assert not privileged.requires_grad
    assert all(p.grad is None for p in teacher.parameters())


def test_random_signs_have_that_mean():
    teacher, privileged = models.filled(Frames(), 1), models.randn(2, 5, 3, 2)
    exact = read_teacher(lesson(teacher), privileged).used
    signs = read_teacher(lesson(teacher), privileged, probes=2000, generator=models.generator()).used
    torch.testing.assert_close(signs, exact, rtol=0.05, atol=0.0)


def test_a_mixture_is_read_by_its_weights():
    teacher = TimeMixture(3, {"0": 3, "2": 2}, scale=1.0, generator=models.generator(3)).double()
    found = read_teacher(lesson(teacher, lambda h, t: h["0"][:, 0]), models.randn(0, 5, 3, 4))
    weights = teacher.phi.softmax(0).square()
    expected = torch.stack([weights[:, :3].sum(1), weights[:, 3:].sum(1)]) * 4
    torch.testing.assert_close(found.used, expected)
    assert found.gates.tolist() == [1.0, 1.0]


def test_what_lies_behind_a_trajectory_s_end_is_not_counted():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))

        def forward(self, privileged):
            total = (privileged.frames * privileged.mask * self.weight).sum(1, keepdim=True)
            return {"0": total.expand(-1, 3), "2": total.expand(-1, 2)}

    data = Trajectories(models.randn(0, 4, 3), torch.tensor([1, 1, 2, 3]))
    for given in (data, Ragged.of(data)):
        found = read_teacher(lesson(Last(), lambda h, t: h["0"][:, 0]), given)
        torch.testing.assert_close(found.used, torch.tensor([[3.0, 12.0, 27.0], [2.0, 8.0, 18.0]]).double())


class Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Parameter(torch.zeros(5, dtype=torch.float64))

    def forward(self, privileged):
        rows = self.value.expand(len(privileged), 5)
        return {"0": rows[:, :3], "2": rows[:, 3:]}


@pytest.mark.parametrize(
    ("teacher", "given", "kind", "sentence"),
    [
        (Frames(), models.randn(0, 5), ValueError, r"frames along its second dimension.*Found \(5,\)"),
        (Frames(), torch.ones(5, 3, 2, dtype=torch.int64), TypeError, r"trajectories of floats.*Found torch\.int64"),
        (Frames(), {"a": models.randn(0, 5, 3)}, TypeError, "trajectories of floats.*type dict"),
        (Frames(), [1.0], TypeError, "`privileged` should be a tensor, .*Found a list"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_read(teacher, given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        read_teacher(lesson(models.filled(teacher, 0)), given)


@pytest.mark.usefixtures("as_installed")
def test_targets_apart_from_the_data_and_probes_without_a_generator():
    class Apart(Frames):
        def forward(self, privileged):
            return super().forward(privileged.detach())

    found = read_teacher(lesson(Constant(), lambda h, t: h["0"][:, 0]), models.randn(0, 5, 3, 2))
    assert not found.used.any()
    assert found.shares.tolist() == [[1 / 3] * 3] * 2
    assert found.by_time().tolist() == [1 / 3] * 3
    teacher = models.filled(Apart(), 0)
    assert not read_teacher(lesson(teacher), models.randn(0, 5, 3, 2)).used.any()
    teacher.requires_grad_(False)
    with pytest.raises(ValueError, match="at least one parameter"):
        lesson(teacher)
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        read_teacher(lesson(models.filled(Frames(), 0)), models.randn(0, 5, 3, 2), probes=4)


class Halving(nn.Module):
    """Halves its frames, in place or not, and reads the first."""

    def __init__(self, in_place):
        super().__init__()
        self.scale, self.in_place = nn.Parameter(torch.ones(5, dtype=torch.float64)), in_place

    def forward(self, x):
        x = x.mul_(0.5) if self.in_place else x * 0.5
        return x[:, 0, :1] * self.scale


def test_a_teacher_that_works_in_place_is_read_and_leaves_the_frames():
    frames = models.randn(0, 3, 2, 4)
    found = [
        read_teacher(models.lesson(models.student("mlp"), Halving(in_place), ["0"]), frames).used for in_place in (False, True)
    ]
    assert torch.equal(*found)
    assert torch.equal(frames, models.randn(0, 3, 2, 4))

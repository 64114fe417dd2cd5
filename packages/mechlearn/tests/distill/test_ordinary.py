import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

import distill_models as models
from mechlearn.distill import Examples, Split, Unrolling, teach
from mechlearn.distill.examples.streams import Stream
from mechlearn.distill.ordinary import ordinary_steps
from mechlearn.distill.step import Distillation


def examples(count=40):
    return Examples(models.randn(0, count, 6), models.randn(1, count, 4), models.labels(2, count))


def lesson(seed=0, **changed):
    return models.lesson(models.student("batch norm", seed), models.teacher({"1": (5,)}), ["1"], **changed)


def taught(given, **changed):
    optimizer = torch.optim.Adam(given.student.parameters(), 0.01)
    settings = {"steps": 70, "batch_size": 6, "generator": models.generator(4)}
    return teach(given, examples(), optimizer, **{**settings, **changed})


def test_a_fresh_student_under_a_trained_teacher_is_one_call():
    """The same as the steps of a `Distillation` whose teacher is never trained, to the bit; the teacher stays."""
    trained = lesson()
    fresh = replace(trained, student=models.student("batch norm", seed=7))
    other = replace(trained, student=models.student("batch norm", seed=7))
    before = {name: tensor.clone() for name, tensor in trained.teacher.state_dict().items()}
    record = taught(fresh)
    distillation = Distillation(
        other,
        examples(),
        Split(torch.arange(40), torch.arange(0)),
        Unrolling("student", 1, 6),
        torch.optim.Adam(other.student.parameters(), 0.01),
        torch.optim.Adam(other.teacher.parameters(), 0.01),
        models.generator(4),
    )
    records = [distillation.student_steps(64), distillation.student_steps(6)]
    for name, tensor in fresh.student.state_dict().items():
        assert torch.equal(tensor, other.student.state_dict()[name])
    assert all(torch.equal(tensor, before[name]) for name, tensor in trained.teacher.state_dict().items())
    mean = (64 * records[0].label_loss + 6 * records[1].label_loss) / 70
    assert record.label_loss == pytest.approx(mean, rel=1e-12)


def test_a_student_is_as_it_was_where_that_fails():
    given, generator = lesson(), models.generator(4)
    bad = examples()
    bad.x[5] = float("nan")
    before = {name: tensor.clone() for name, tensor in given.student.state_dict().items()}
    optimizer = torch.optim.Adam(given.student.parameters(), 0.01)
    with pytest.raises(FloatingPointError, match=r"at step [1-7]\. The cause is in the data: the inputs x"):
        teach(given, bad, optimizer, steps=70, batch_size=6, generator=generator)
    assert all(torch.equal(tensor, before[name]) for name, tensor in given.student.state_dict().items())
    assert not optimizer.state
    assert torch.equal(generator.get_state(), models.generator(4).get_state())


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [({"steps": 0}, "`steps` should be at least 1"), ({"batch_size": 41}, "batch_size=41 with 40 training rows")],
)
def test_bad_settings_are_refused(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        taught(lesson(), **changed)


@pytest.mark.parametrize("relative_to", ["loss", "gradient"])
def test_a_relative_alpha_is_measured_once_a_call(relative_to):
    fresh, other = lesson(3, alpha_relative_to=relative_to), lesson(3, alpha_relative_to=relative_to)
    taught(fresh)
    stream = Stream(torch.arange(40), 6, models.generator(4))
    optimizer = torch.optim.Adam(other.student.parameters(), 0.01)
    ordinary_steps(other, examples().rows(stream.take(70)), optimizer)
    for name, tensor in fresh.student.state_dict().items():
        assert torch.equal(tensor, other.student.state_dict()[name])


class Noisy(nn.Module):
    """A teacher with dropout that no mode turns off, or noise from elsewhere than torch."""

    def __init__(self, elsewhere):
        super().__init__()
        self.layer = nn.Linear(4, 5).double()
        self.noise = np.random.default_rng(0) if elsewhere else None

    def forward(self, x):
        h = self.layer(x)
        return dropout(h, 0.5) if self.noise is None else h + float(self.noise.normal())


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_teacher_that_draws_is_refused(elsewhere):
    given = models.lesson(models.student("batch norm"), Noisy(elsewhere), ["1"])
    before, student = torch.get_rng_state(), copy.deepcopy(given.student.state_dict())
    with pytest.raises(ValueError, match=r"The teacher's forward pass should not draw random numbers"):
        taught(given)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(tensor, student[name]) for name, tensor in given.student.state_dict().items())


def test_steps_under_an_outer_autocast_read_the_weights_as_they_are():
    """As many calls within blocks of their own, whose caches end with them, or with no cache."""
    found = []
    for cached in (True, False):
        student, teacher = models.student("batch norm").float(), models.teacher({"1": (5,)}).float()
        data = Examples(*(tensor.float() if tensor.is_floating_point() else tensor for tensor in examples()))
        optimizer = torch.optim.SGD(student.parameters(), 0.5)
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=cached):
            teach(models.lesson(student, teacher, ["1"]), data, optimizer, steps=5, batch_size=6, generator=models.generator(4))
        found.append(student.state_dict())
    assert all(torch.equal(tensor, found[1][name]) for name, tensor in found[0].items())


def test_steps_want_graphs():
    with torch.inference_mode(), pytest.raises(RuntimeError, match=r"Ordinary steps should be taken outside torch.inference_"):
        taught(lesson())
    with torch.no_grad():
        taught(lesson(), steps=2)


def test_a_gradient_that_is_not_finite_is_refused_and_nothing_has_changed():
    """A finite loss whose derivative is none: the last step wrote it into the student."""

    class Rooted(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.scale = models.filled(nn.Linear(6, 3), 0), nn.Parameter(torch.zeros(3, dtype=torch.float64))

        def forward(self, x):
            return self.first(x) + self.scale.sqrt()

    student = Rooted()
    lesson = models.lesson(student, models.teacher({"first": (3,)}), ["first"])
    rows = Examples(models.randn(0, 9, 6), models.randn(1, 9, 4), models.labels(2, 9))
    before = {name: tensor.clone() for name, tensor in student.state_dict().items()}
    optimizer = torch.optim.Adam(student.parameters())
    with pytest.raises(
        FloatingPointError, match=r"Every gradient should be finite.*that of 'scale', of a finite loss at step 1"
    ):
        teach(lesson, rows, optimizer, steps=1, batch_size=3, generator=models.generator())
    assert all(torch.equal(before[name], tensor) for name, tensor in student.state_dict().items())
    assert optimizer.state_dict()["state"] == {}

from dataclasses import replace

import pytest
import torch

import distill_models as models
from craik.distill import Examples, Split, Unrolling, teach
from craik.distill.step import Distillation


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
    [
        ({"steps": 0}, "`steps` should be at least 1"),
        ({"batch_size": 41}, "batch_size=41 with 40 training rows"),
    ],
)
def test_bad_settings_are_refused(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        taught(lesson(), **changed)

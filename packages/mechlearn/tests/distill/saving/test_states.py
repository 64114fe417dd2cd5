import copy

import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import SGD, Distillation, Examples, Unrolling, split_rows


def make(count=40, student=None, optimizer=torch.optim.Adam):
    student, teacher = student or models.student("mlp"), models.teacher({"0": (5,)})
    return Distillation(
        models.lesson(student, teacher, ["0"], alpha=0.8),
        Examples(models.randn(0, count, 6), models.randn(1, count, 4), models.labels(2, count)),
        split_rows(count, 0.3, models.generator(1)),
        Unrolling(SGD(0.1, 0.5), steps=2, batch_size=6),
        optimizer(student.parameters(), lr=0.01),
        torch.optim.Adam(teacher.parameters(), 0.01),
        models.generator(),
    )


def state(count=40, **changed):
    distillation = make(count, **changed)
    distillation.step(2)
    return copy.deepcopy(distillation.state_dict())


def wider():
    return models.filled(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)), 0)


def reversed_rows(found):
    found["student_rows"]["rows"] = found["student_rows"]["rows"].flip(0)
    return found


def swapped(found):
    return {**found, "student_optimizer": found["meta_optimizer"], "meta_optimizer": found["student_optimizer"]}


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        (lambda: state(400), ValueError, "among the 40 examples"),
        (lambda: state(30), ValueError, r"as many rows on either side\. Found .*21.* beside .*28"),
        (lambda: {**state(), "inner_rows": {"rows": torch.arange(28), "order": torch.arange(3)}}, ValueError, "inner_rows"),
        (lambda: reversed_rows(state()), ValueError, "student_rows should be the rows"),
        (lambda: {**state(), "generator": torch.zeros(3, dtype=torch.uint8)}, RuntimeError, "RNG state"),
        (lambda: {key: part for key, part in state().items() if key != "teacher"}, KeyError, "found no teacher"),
        (lambda: state(student=wider()), RuntimeError, "loading state_dict"),
        (lambda: None, TypeError, r"`state` should be a state of Distillation\. Found None"),
        (lambda: {**state(), "split": {"training": torch.arange(28)}}, KeyError, "found no validation"),
        (lambda: {**state(), "generator": 5}, TypeError, r"`state\['generator'\]` should be a tensor\. Found 5"),
        (lambda: {**state(), "teacher": None}, TypeError, r"`state\['teacher'\]` should be a dictionary\. Found None"),
        (lambda: {**state(), "inner_rows": {"rows": [1], "order": [2]}}, TypeError, r"`state\['inner_rows'\]\['rows'\]` sho"),
        (lambda: swapped(state()), ValueError, r"state of `student_optimizer` should be of its parameters\. Found 'exp_avg'"),
        (lambda: {**state(), "meta_optimizer": {}}, KeyError, "found no param_groups, state"),
        (lambda: state(optimizer=torch.optim.SGD), ValueError, "state of `student_optimizer` should be that of a Adam"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_a_state_of_something_else_is_refused_and_changes_nothing(given, kind, sentence):
    distillation, twin = make(), make()
    found = given()
    with pytest.raises(kind, match=sentence):
        distillation.load_state_dict(found)
    for one in (distillation, twin):
        one.step(2)
    assert str(distillation.state_dict()) == str(twin.state_dict())
    for one, other in ((distillation.lesson.student, twin.lesson.student), (distillation.lesson.teacher, twin.lesson.teacher)):
        assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_state_that_was_moved_to_another_device_is_read():
    def moved(part):
        return {key: moved(value) if isinstance(value, dict) else value.cuda() for key, value in part.items()}

    found = state()
    rows = {name: moved(found[name]) for name in ("split", "inner_rows", "student_rows")}
    distillation = make()
    distillation.load_state_dict({**found, **rows, "generator": found["generator"].cuda()})
    distillation.step(2)
    assert distillation.split.training.device.type == "cpu"

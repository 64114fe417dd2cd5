"""An inner optimiser of torch's over a part of the student unrolls that part; the rest is constant."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn import distill
from mechlearn.distill import SGD, Adam, Adjoint, Checkpoint, Implicit, Truncated, Unroll

STRATEGIES = [Unroll(), Checkpoint(2), Adjoint(), Truncated(2), Implicit(), Adjoint(compile=True, backend="eager")]
OPTIMIZERS = {
    "sgd": (lambda p: torch.optim.SGD(p, 0.5, momentum=0.5), SGD(0.5, 0.5)),
    "adam": (lambda p: torch.optim.Adam(p, 0.1, eps=0.1), Adam(0.1, eps=0.1)),
}


def make(frozen=()):
    student = models.student("mlp")
    for name in frozen:
        student.get_parameter(name).requires_grad_(False)
    return models.lesson(student, models.teacher({"0": (5,)}), ["0"])


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_part_unrolls_as_if_the_rest_were_frozen(kind, strategy):
    optimizer, rule = OPTIMIZERS[kind]
    lesson = make()
    rest = [name for name, _ in lesson.student.named_parameters() if not name.startswith("0.")]
    found = distill.meta_gradient(lesson, *models.data(), optimizer(lesson.student[0].parameters()), strategy)
    wanted = distill.meta_gradient(make(rest), *models.data(), rule, strategy)
    assert all(torch.equal(found.gradients[name], gradient) for name, gradient in wanted.gradients.items())
    assert torch.equal(found.validation_loss, wanted.validation_loss)
    whole = distill.meta_gradient(lesson, *models.data(), optimizer(lesson.student.parameters()), strategy)
    assert models.largest_error(whole.gradients, wanted.gradients) > 0.01  # and is no unroll of the whole
    own = dict(lesson.student.named_parameters())
    assert list(found.student) == list(own)
    assert all(torch.equal(found.student[name], own[name]) == (name in rest) for name in own)


def test_compiled_steps_of_a_part_follow_the_rest():
    lesson, strategy = make(), Adjoint(compile=True, backend="eager")
    inner = torch.optim.SGD(lesson.student[0].parameters(), 0.5)
    distill.meta_gradient(lesson, *models.data(), inner, strategy)
    with torch.no_grad():
        lesson.student[4].weight.mul_(-2)
    found, wanted = (distill.meta_gradient(lesson, *models.data(), inner, one) for one in (strategy, Adjoint()))
    assert models.largest_error(found.gradients, wanted.gradients) < 1e-12


def test_an_optimiser_of_the_whole_is_its_counterpart_to_the_bit():
    lesson = make()
    given = torch.optim.SGD([{"params": [parameter]} for parameter in reversed(list(lesson.student.parameters()))], 0.5)
    found, wanted = (distill.meta_gradient(lesson, *models.data(), inner) for inner in (given, SGD(0.5)))
    assert all(torch.equal(found.gradients[name], gradient) for name, gradient in wanted.gradients.items())


def test_moments_of_the_whole_serve_a_part():
    lesson = make()
    optimizer = torch.optim.SGD(lesson.student.parameters(), 0.1, momentum=0.9)
    for parameter in lesson.student.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    start = distill.state_from(optimizer, lesson.student, SGD(0.1, 0.9))
    part = torch.optim.SGD(lesson.student[0].parameters(), 0.1, momentum=0.9)
    found = distill.meta_gradient(lesson, *models.data(), part, start=start)
    alone = copy.deepcopy(lesson)
    alone.student[2].requires_grad_(False)
    alone.student[4].requires_grad_(False)
    kept = {moment: {n: t for n, t in one.items() if n.startswith("0.")} for moment, one in start.moments.items()}
    wanted = distill.meta_gradient(alone, *models.data(), SGD(0.1, 0.9), start=start._replace(moments=kept))
    assert models.largest_error(found.gradients, wanted.gradients) == 0


def test_a_distillation_s_meta_step_unrolls_the_part():
    def gradients(inner, frozen=()):
        lesson = make(frozen)
        rows = distill.Examples(models.randn(0, 40, 6), models.randn(1, 40, 4), models.labels(2, 40))
        unrolling = distill.Unrolling(inner(lesson.student), steps=3, batch_size=6)
        optimizer = torch.optim.Adam(lesson.student.parameters(), 0.01)
        meta = torch.optim.SGD(lesson.teacher.parameters(), 1.0)
        split = distill.split_rows(40, 0.3, models.generator(1))
        distill.Distillation(lesson, rows, split, unrolling, optimizer, meta, models.generator()).meta_step()
        return [parameter.detach() for parameter in lesson.teacher.parameters()]

    part = gradients(lambda student: torch.optim.SGD(student[0].parameters(), 0.5))
    wanted = gradients(lambda student: SGD(0.5), ["2.weight", "2.bias", "4.weight", "4.bias"])
    assert all(torch.equal(one, other) for one, other in zip(part, wanted, strict=True))


def test_the_forecast_is_of_the_part():
    lesson = make()
    part, whole = (
        distill.forecast_memory(lesson, *models.data(), torch.optim.Adam(module.parameters(), 0.1), Adjoint())
        for module in (lesson.student[0], lesson.student)
    )
    assert part.student < whole.student


@pytest.mark.parametrize("door", [distill.meta_gradient, distill.forecast_memory])
def test_an_optimiser_of_another_module_is_refused(door):
    other = torch.optim.SGD(nn.Linear(2, 2).parameters(), 0.1)
    with pytest.raises(ValueError, match=r"`inner` should hold parameters of the student.*Found SGD of others\. Make it from"):
        door(make(), *models.data(), other)


@pytest.mark.parametrize("stacked", [True, False])
def test_a_population_refuses_a_part_of_one_student(stacked):
    students = [models.student("mlp", seed) for seed in (10, 11)]
    lesson = replace(make(), student=students[0])
    rows = distill.Examples(models.randn(0, 40, 6), models.randn(1, 40, 4), models.labels(2, 40))
    with pytest.raises(ValueError, match=r"`inner` should step all parameters.*without '2.weight' of student 1"):
        distill.PopulationDistillation(
            lesson,
            distill.Population(students, stacked=stacked),
            rows,
            distill.split_rows(40, 0.3, models.generator(1)),
            distill.Unrolling(torch.optim.SGD(students[1][0].parameters(), 0.1), steps=3, batch_size=6),
            student_optimizer=lambda parameters: torch.optim.SGD(parameters, 0.1),
            meta_optimizer=torch.optim.SGD(lesson.teacher.parameters(), 0.1),
            generator=models.generator(),
        )

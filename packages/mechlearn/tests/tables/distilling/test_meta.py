"""LDT on a table: many lessons as one, each as it would be alone."""

import numpy as np
import pytest
import torch

from mechlearn.distill import Distillation, Examples, Lesson, Unrolling, split_rows
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.tables.distilling import meta
from mechlearn.tables.distilling.meta import Form, Members, ldt, members
from mechlearn.tables.distilling.students import Lessons
from mechlearn.tables.fitting import Training


def lessons(task="classification", rows=36):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 4))
    known = x @ rng.normal(size=(4, 2)) + 0.1 * rng.normal(size=(rows, 2))
    y = np.eye(2)[(known[:, 0] > 0).astype(int)] if task == "classification" else known.sum(1, keepdims=True)
    return Lessons(x, y, known, task, Training(hidden=5, steps=12, patience=None))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_coefficients_side_by_side_are_coefficients_one_by_one(monkeypatch, task):
    many = ldt(lessons(task))
    chosen = float(many.chosen.removeprefix("alpha "))
    alpha = min(meta.ALPHAS, key=lambda one: abs(one - chosen))
    monkeypatch.setattr(meta, "ALPHAS", (alpha,))
    one = ldt(lessons(task))
    for name, values in many.layers.items():
        np.testing.assert_allclose(values, one.layers[name], atol=2e-4)


def test_one_member_is_mechlearns_own_distillation():
    """A plain student and teacher of torch's layers, and `mechlearn.distill` as its page writes it."""
    rng, rows = torch.Generator().manual_seed(3), 20
    x, known = torch.randn(rows, 4, generator=rng), torch.randn(rows, 2, generator=rng)
    y = torch.nn.functional.one_hot((x[:, 0] > 0).long(), 2).float()

    def trained(stacked):
        generator = torch.Generator().manual_seed(0)
        made = [members(4, 5, 2, 1, generator), members(2, 5, 5, 1, generator)]
        if not stacked:
            generator = torch.Generator().manual_seed(0)
            made = [relu_mlp((4, 5, 2), generator), relu_mlp((2, 5, 5), generator)]
        student, teacher = made
        parts = [part.unsqueeze(1) if stacked else part for part in (x, known, y)]

        def label(prediction, target):
            return -(prediction.log_softmax(-1) * target).sum(-1).reshape(len(target))

        def asked(hidden, targets):
            return 7.0 * (hidden["0"] - targets["0"].value).square().mean(-1).reshape(len(hidden["0"]))

        distillation = Distillation(
            Lesson(student, teacher, ["0"], label, alpha=1.0, teaching_loss=asked),
            Examples(*parts),
            split_rows(rows, 0.5, generator, splitting="redrawn"),
            Unrolling("student", steps=3, batch_size=4),
            torch.optim.Adam(student.parameters(), 0.01),
            torch.optim.Adam(teacher.parameters(), 0.01),
            generator,
        )
        for _ in range(4):
            distillation.step(student_steps=3)
        return [parameter.detach().squeeze(0) for parameter in student.parameters()]

    for ours, plain in zip(trained(stacked=True), trained(stacked=False), strict=True):
        torch.testing.assert_close(ours, plain, atol=2e-5, rtol=1e-4)


FORMS = [Form(weighed=True), Form(warm=5), Form(again=True), Form(weighed=True, warm=5, again=True)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_other_forms_have_members_that_do_not_notice_each_other(monkeypatch, form, task):
    many = ldt(lessons(task), form)
    chosen = float(many.chosen.removeprefix("alpha "))
    alpha = min(meta.ALPHAS, key=lambda one: abs(one - chosen))
    monkeypatch.setattr(meta, "ALPHAS", (alpha,))
    one = ldt(lessons(task), form)
    for name, values in many.layers.items():
        np.testing.assert_allclose(values, one.layers[name], atol=5e-4)


def test_each_form_does_something():
    layers = [ldt(lessons(), form).layers["0.weight"] for form in (Form(), *FORMS)]
    for at, one in enumerate(layers):
        assert all(not np.allclose(one, other, atol=1e-4) for other in layers[:at])


def test_the_factor_starts_as_none():
    network = members(2, 5, 5, 3, torch.Generator().manual_seed(0))
    known = torch.randn(7, 3, 2, generator=torch.Generator().manual_seed(1))
    plain, weighed = (meta.Teacher(network, 3, weighed)(known) for weighed in (False, True))
    assert plain.gate is None
    hidden = torch.zeros(7, 3, 5)
    asked = meta._asked(torch.tensor([1.0, 2.0, 3.0]))
    torch.testing.assert_close(asked({"0": hidden}, {"0": weighed}), asked({"0": hidden}, {"0": plain}))


def test_a_warm_teacher_knows_the_label(monkeypatch):
    monkeypatch.setattr(meta, "EVERY", 1)
    some = lessons(rows=60)
    cold, warm = (ldt(some, form).history[0] for form in (Form(), Form(warm=100)))
    assert warm != cold
    parts, generator = meta._examples(some, torch.Generator().manual_seed(0)), torch.Generator().manual_seed(0)
    count = parts.x.shape[1]
    student = members(4, 5, 2, count, generator)
    teacher = meta.Teacher(members(2, 5, 5, count, generator), count, weighed=False)
    meta._warm(teacher, student, parts, some, 200)
    said = student[2](student[1](teacher.network(parts.privileged))).argmax(-1)
    assert float((said == parts.y.argmax(-1)).double().mean()) > 0.95


def test_members_are_layers():
    layer = Members(torch.ones(3, 2, 4), torch.zeros(3, 2))
    assert layer(torch.ones(7, 3, 4)).shape == (7, 3, 2)


def test_folds_of_different_sizes():
    assert ldt(lessons(rows=20)).outside.shape == (20, 2)

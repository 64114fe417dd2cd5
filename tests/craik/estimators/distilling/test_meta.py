"""LDT on a table: many lessons as one, each as it would be alone."""

import numpy as np
import pytest
import torch

from craik.distill import Distillation, Examples, Lesson, Unrolling, split_rows
from craik.estimators.distilling import meta
from craik.estimators.distilling.meta import Members, ldt, members
from craik.estimators.distilling.students import Lessons
from craik.estimators.fitting import Training
from craik.nn.perceptrons import relu_mlp


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


def test_one_member_is_craiks_own_distillation():
    """A plain student and teacher of torch's layers, and `craik.distill` as its page writes it."""
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


def test_members_are_layers():
    layer = Members(torch.ones(3, 2, 4), torch.zeros(3, 2))
    assert layer(torch.ones(7, 3, 4)).shape == (7, 3, 2)


def test_folds_of_different_sizes():
    assert ldt(lessons(rows=20)).outside.shape == (20, 2)

"""A lesson and a distillation of small made-up networks, with what a test changes of them."""

import torch

import distill_models as models
from mechlearn.distill import SGD, Adjoint, Checkpoint, Distillation, Examples, Unroll, Unrolling, meta_gradient, split_rows

EXACT = (Unroll(), Checkpoint(), Adjoint())


def lesson(**changed):
    student, teacher = changed.pop("student", None), changed.pop("teacher", None)
    arguments = {"layers": ["0"], **changed}
    return models.lesson(student or models.student("mlp"), teacher or models.teacher({"0": (5,)}), **arguments)


def derivative(given=None, data=None, inner=None, strategy=EXACT[0], **others):
    return meta_gradient(given or lesson(), *(data or models.data()), inner or SGD(0.1), strategy, **others)


def examples(count=40):
    return Examples(models.randn(0, count, 6), models.randn(1, count, 4), models.labels(2, count))


def make(given=None, **changed):
    given = given or lesson()
    settings = {
        "examples": examples(),
        "split": split_rows(40, 0.3, models.generator(1)),
        "unrolling": Unrolling(SGD(0.1, 0.5), 5, 6),
        "student_optimizer": torch.optim.Adam(given.student.parameters(), 0.01),
        "meta_optimizer": torch.optim.Adam(given.teacher.parameters(), 0.01),
        "generator": models.generator(),
    }
    return Distillation(given, **{**settings, **changed})

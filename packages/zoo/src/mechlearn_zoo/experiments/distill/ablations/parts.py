"""LDT with one of its parts done otherwise (thesis appendix C.2.2.2): gate, normalisation, clipping, what the teacher sees."""

from dataclasses import replace

import torch
from torch import nn

from mechlearn.distill import Distillation, GatedSquaredError, HiddenSquaredError
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.bodies import Printed, Training
from mechlearn_zoo.tasks.bodies.quantiles import BINS
from mechlearn_zoo.tasks.privileged import Part
from mechlearn_zoo.tasks.streams import same_stream


def make_student(training: Training, inputs: int, variant: str) -> nn.Sequential:
    """Return the student, without weight norm where the variant is that."""
    if variant != "no-weight-norm":
        return bodies.make_student(training, inputs)
    generator = same_stream(training.seed)
    return relu_mlp((inputs, *training.student_widths, BINS), generator)


def make_distillation(training: Training, student: nn.Sequential, data: Part, printed: Printed, variant: str) -> Distillation:
    """Return LDT's step object with another gate, teacher or clip; the split and all seeds are LDT's."""
    plain = bodies.make_distillation(training, student, data, printed)
    lesson, unrolling = plain.lesson, plain.unrolling
    if variant == "plain-gate":
        lesson = replace(lesson, teaching_loss=GatedSquaredError(scale=1.0, shift=0.0))
    if variant == "no-gate":
        lesson = replace(lesson, teaching_loss=HiddenSquaredError())
    if variant == "no-batch-norm":
        lesson = replace(lesson, teacher=without_batch_norm(lesson.teacher))
    if variant == "no-clip":
        unrolling = replace(unrolling, clip=None)
    meta = torch.optim.Adam(lesson.teacher.parameters(), training.meta_lr, betas=(printed.meta_beta1, 0.999))
    return Distillation(lesson, plain.examples, plain.split, unrolling, plain.student_optimizer, meta, plain.generator)


def with_actions(data: Part) -> Part:
    """Return the examples of a body with each step's action beside the state that it led to, (n, 16, s + 1 + a).

    The actions are those of ``x``, a state and sixteen actions in order, as `mechlearn_zoo.tasks.bodies.mujoco` has it.
    """
    count, steps, features = data.privileged.shape
    actions = data.x[:, features - 1 :].reshape(count, steps, -1)
    return data._replace(privileged=torch.cat([data.privileged, actions], dim=2))


def without_batch_norm(module: nn.Module) -> nn.Module:
    """Put the identity in the place of every BatchNorm, in place, and return the module."""
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm1d):
            setattr(module, name, nn.Identity())
        else:
            without_batch_norm(child)
    return module

"""Random numbers in an unroll are found, and a refusal changes nothing: not a parameter, nor a generator."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import split_rows
from small_lessons import EXACT, derivative, lesson, make


def jittered(hidden, targets):
    return (hidden["0"] - targets["0"].value + torch.randn(())).square().mean(1)


class OwnJitter:
    """A teaching loss with a generator of its own."""

    def __init__(self):
        self.generator = models.generator(3)

    def __call__(self, hidden, targets):
        noise = torch.randn((), generator=self.generator, dtype=torch.float64)
        return (hidden["0"] - targets["0"].value + noise).square().mean(1)


def closed_over(generator):
    def loss(hidden, targets):
        noise = torch.randn((), generator=generator, dtype=torch.float64)
        return (hidden["0"] - targets["0"].value + noise).square().mean(1)

    return loss


@pytest.mark.parametrize("strategy", EXACT)
def test_a_teaching_loss_that_draws_random_numbers_is_found(strategy):
    own, closed = OwnJitter(), models.generator(3)
    lessons = [lesson(teaching_loss=loss) for loss in (jittered, own, closed_over(closed))]
    before = torch.get_rng_state()
    for given in lessons:
        with pytest.raises(ValueError, match=r"The teaching loss should not draw random numbers"):
            derivative(given, strategy=strategy)
    assert torch.equal(torch.get_rng_state(), before)
    for generator in (own.generator, closed):
        assert torch.equal(generator.get_state(), models.generator(3).get_state())


def test_a_label_loss_that_draws_random_numbers_is_found():
    with pytest.raises(ValueError, match=r"The label loss should not draw random numbers"):
        derivative(lesson(label_loss=lambda p, y: models.label_loss(p, y) * torch.rand(())))


class Late(nn.Module):
    """Draws random numbers from a call on."""

    def __init__(self, first, draw):
        super().__init__()
        self.linear, self.calls, self.first, self.draw = models.filled(nn.Linear(6, 3), 0), 0, first, draw

    def forward(self, x):
        self.calls += 1
        return self.linear(x) * (1 + self.draw() if self.calls >= self.first else 1)


@pytest.mark.parametrize("strategy", EXACT)
def test_a_student_that_begins_to_draw_later_is_found(strategy):
    given = lesson(student=Late(5, lambda: torch.rand(())), teacher=models.teacher({"": (3,)}), layers=[""])
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match=r"An inner step should not draw random numbers"):
        derivative(given, strategy=strategy)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("strategy", EXACT[1:])
def test_where_steps_are_run_again_noise_of_any_origin_is_found(strategy):
    """Such noise as no generator of torch's shows: the second run has another loss."""
    numbers = np.random.default_rng(0)
    student = Late(5, lambda: float(numbers.uniform()))
    with pytest.raises(ValueError, match=r"An inner step should not.*step \d had another loss"):
        derivative(lesson(student=student, teacher=models.teacher({"": (3,)}), layers=[""]), strategy=strategy)


def everything(distillation):
    return copy.deepcopy(
        (distillation.state_dict(), [p.grad for p in distillation.lesson.student.parameters()], torch.get_rng_state())
    )


@pytest.mark.parametrize("bad_row", [0, None])
@pytest.mark.parametrize("splitting", ["fixed", "redrawn"])
def test_a_refusal_changes_nothing(bad_row, splitting):
    """Neither parameters, buffers, moments and gradients nor the place in the data, whichever step it is that fails."""
    given = lesson(student=models.student("batch norm"), teacher=models.teacher({"1": (5,)}), layers=["1"])
    distillation = make(given, split=split_rows(40, 0.3, models.generator(1), splitting))
    distillation.step(3)
    for parameter in given.student.parameters():
        parameter.grad = torch.ones_like(parameter)
    row = distillation._student_rows.order[-1] if bad_row is None else distillation._student_rows.order[0]
    distillation.examples.x[row] = float("nan")
    before = everything(distillation)
    with pytest.raises(FloatingPointError, match="the data: the inputs x"):
        distillation.student_steps(4)
    assert str(everything(distillation)) == str(before)
    distillation.examples.x[:] = float("nan")
    with pytest.raises(FloatingPointError, match="the data: the inputs x"):
        distillation.meta_step()
    assert str(everything(distillation)) == str(before)


def test_after_a_refusal_a_run_goes_on_as_if_nothing_had_been():
    distillation, twin = make(), make()
    value = distillation.examples.x[3].clone()
    for one in (distillation, twin):
        one.step(3)
    distillation.examples.x[:] = float("inf")
    with pytest.raises(FloatingPointError):
        distillation.student_steps(2)
    distillation.examples.x.copy_(twin.examples.x)
    assert torch.equal(distillation.examples.x[3], value)
    assert distillation.step(3).student == twin.step(3).student

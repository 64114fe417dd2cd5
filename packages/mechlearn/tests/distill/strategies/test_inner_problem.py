import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import SGD, Adam, Adjoint, Checkpoint, HiddenSquaredError, Target, Unroll, meta_gradient


class Switch(nn.Module):
    """A student whose read-out is one of two, by the sign of its first input."""

    def __init__(self):
        super().__init__()
        self.read = nn.Linear(6, 5)
        self.heads = nn.ModuleList([nn.Linear(5, 3), nn.Linear(5, 3)])

    def forward(self, x):
        return self.heads[int(x[0, 0] > 0)](torch.tanh(self.read(x)))


RULES = [
    (SGD(0.1, weight_decay=0.2), lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.2)),
    (SGD(0.1, 0.75), lambda p: torch.optim.SGD(p, 0.1, momentum=0.75)),
    (Adam(0.1), lambda p: torch.optim.Adam(p, 0.1)),
]


@pytest.mark.parametrize(("rule", "make"), RULES)
def test_a_parameter_that_a_batch_does_not_use_stays_where_it_is(rule, make):
    student, teacher = models.filled(Switch(), 0), models.teacher({"read": (5,)}, norm=False)
    batches, validation = models.data(4)
    batches.x[:2, 0, 0], batches.x[2:, 0, 0] = 1.0, -1.0
    lesson = models.lesson(student, teacher, ["read"])
    found = meta_gradient(lesson, batches, validation, rule)
    for strategy in (Checkpoint(), Adjoint()):
        other = meta_gradient(lesson, batches, validation, rule, strategy)
        assert models.largest_error(other.gradients, found.gradients) < 1e-12
        assert models.largest_error(other.student, found.student) == 0
    assert all(found.student[name].data_ptr() != parameter.data_ptr() for name, parameter in student.named_parameters())
    optimizer, teaching = make(student.parameters()), HiddenSquaredError()
    for x, privileged, y in zip(*batches, strict=True):
        optimizer.zero_grad()
        wanted = Target(teacher(privileged)["read"].value.detach())
        label_loss = models.label_loss(student(x), y).mean()
        (label_loss + lesson.alpha * teaching({"read": student.read(x)}, {"read": wanted}).mean()).backward()
        optimizer.step()
    for name, parameter in student.named_parameters():
        # Adam's correction counts all steps, torch's a parameter's own: until one is passed over the two are equal.
        if "heads.1" in name or isinstance(rule, SGD):
            tolerance = 1e-5 if isinstance(rule, Adam) else 1e-9
            torch.testing.assert_close(found.student[name], parameter.detach(), rtol=1e-6, atol=tolerance)


def test_the_meta_gradient_through_such_a_parameter_is_the_slope():
    student, teacher = models.filled(Switch(), 0), models.teacher({"read": (5,)}, norm=False)
    batches, validation = models.data(4)
    batches.x[::2, 0, 0], batches.x[1::2, 0, 0] = 1.0, -1.0
    lesson = models.lesson(student, teacher, ["read"])
    parameter, losses = teacher.network[0].weight, []
    slope = meta_gradient(lesson, batches, validation, SGD(0.1, 0.75, 0.2), Unroll()).gradients["network.0.weight"][0, 0]
    for side in (1e-5, -2e-5):
        with torch.no_grad():
            parameter[0, 0] += side
        losses.append(meta_gradient(lesson, batches, validation, SGD(0.1, 0.75, 0.2)).validation_loss)
    assert float((losses[0] - losses[1]) / 2e-5) == pytest.approx(float(slope), rel=1e-4)

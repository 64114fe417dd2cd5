from dataclasses import replace

import pytest
import torch
from torch import nn

import distill_calls_oracles as literal
import distill_models as models
import distill_oracles as oracles
from mechlearn import distill
from mechlearn.distill.forward.students import student_function
from mechlearn.params import parameters_of


class Recurrent(nn.Module):
    """A cell that is called three times in a pass."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.Linear(7, 5), nn.Linear(5, 3)

    def forward(self, x):
        state = x.new_zeros(*x.shape[:-1], 5)
        for part in x.split(2, dim=-1):
            state = torch.tanh(self.cell(torch.cat([part, state], -1)))
        return self.head(state)


class Stacked(nn.Module):
    """A block stacked three times: what it gives out goes in again."""

    def __init__(self, storeys=3):
        super().__init__()
        self.block, self.head = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 6)), nn.Linear(6, 3)
        self.storeys = storeys

    def forward(self, x):
        for _ in range(self.storeys):
            x = self.block(x)
        return self.head(x)


KINDS = {
    "recurrent": (Recurrent, literal.recurrent, dict.fromkeys(distill.calls("cell", 3), (5,))),
    "stacked": (Stacked, literal.stacked, {"block.0@1": (5,), **dict.fromkeys(distill.calls("block", 3), (6,))}),
    "some calls": (Stacked, literal.stacked, {"block@2": (6,), "block.0@0": (5,)}),
}
ALPHA = 0.3


def set_up(kind):
    make, forward, units = KINDS[kind]
    student, teacher = models.filled(make(), 0), models.teacher(units, norm=False)
    lesson = models.lesson(student, teacher, list(units), ALPHA, teaching_loss=distill.HiddenSquaredError("sum"))
    batches, validation = models.data()
    copies = oracles.Copies(teacher.network, units, gated=False)
    args = (forward, list(units), parameters_of(student), copies, list(zip(*batches, strict=True)), validation)
    return lesson, batches, validation, args


def error(found, expected):
    scale = max(float(tensor.abs().max()) for tensor in expected)
    assert len(found) == len(expected)
    return max(float((a - b).abs().max()) for a, b in zip(found.values(), expected, strict=True)) / scale


@pytest.mark.parametrize("kind", KINDS)
def test_every_strategy_is_the_literal_loop(kind):
    lesson, batches, validation, args = set_up(kind)
    rule = distill.SGD(0.05, 0.5)
    expected, loss = literal.unrolled(*args, 0.05, 0.5, ALPHA)
    for strategy in (distill.Unroll(), distill.Checkpoint(), distill.Checkpoint(3), distill.Adjoint(), distill.Truncated(100)):
        for chunk in (None, 2):
            given = replace(lesson, hoisting=distill.Hoisting(chunk=chunk))
            found = distill.meta_gradient(given, batches, validation, rule, strategy)
            assert error(found.gradients, expected) < 1e-11
            torch.testing.assert_close(found.validation_loss, loss, rtol=1e-12, atol=0)
    found = distill.meta_gradient(lesson, batches, validation, rule, distill.Truncated(2))
    assert error(found.gradients, literal.unrolled(*args, 0.05, 0.5, ALPHA, last=2)[0]) < 1e-11
    found = distill.meta_gradient(lesson, batches, validation, distill.SGD(0.05), distill.Implicit("cg", terms=60, damping=5.0))
    assert error(found.gradients, literal.implicit(*args, 0.05, 5.0, ALPHA)) < 1e-8


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.compile imports what torch itself deprecates
def test_a_compiled_adjoint_takes_them_too():
    lesson, batches, validation, args = set_up("stacked")
    found = distill.meta_gradient(
        lesson, batches, validation, distill.SGD(0.05, 0.5), distill.Adjoint(compile=True, backend="eager")
    )
    assert error(found.gradients, literal.unrolled(*args, 0.05, 0.5, ALPHA)[0]) < 1e-11


def test_each_call_has_its_activation():
    student, x = models.filled(Stacked(), 0), models.randn(1, 4, 6)
    with student_function(student, ["block@2", "block.0@0", ""]) as function:
        for _ in range(2):  # a pass begins anew
            prediction, hidden = function(parameters_of(student), x)
    expected, made = literal.stacked(parameters_of(student), x)
    torch.testing.assert_close(prediction, expected)
    assert list(hidden) == ["block@2", "block.0@0", ""]
    for name in ("block@2", "block.0@0"):
        torch.testing.assert_close(hidden[name], made[name])


def test_one_call_is_the_layer_to_the_bit():
    results = []
    for name in ("0", "0@0"):
        lesson = models.lesson(models.student("mlp"), models.teacher({name: (5,)}), [name])
        results.append(distill.meta_gradient(lesson, *models.data(), distill.SGD(0.1)).gradients)
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])


def rounds(lesson, population=None):
    batches, _ = models.data(n=4, b=10)
    examples = distill.Examples(*(part.flatten(0, 1) for part in batches))
    generator = models.generator(3)
    given = (examples, distill.split_rows(40, 0.4, generator), distill.Unrolling(distill.SGD(0.05), 3, 5))
    meta = torch.optim.SGD(lesson.teacher.parameters(), 0.1)
    if population is None:
        loop = distill.Distillation(lesson, *given, torch.optim.Adam(lesson.student.parameters(), 1e-2), meta, generator)
    else:
        loop = distill.PopulationDistillation(lesson, population, *given, lambda p: torch.optim.Adam(p, 1e-2), meta, generator)
    return [loop.step(2) for _ in range(2)]


def test_rounds_of_a_recurrent_student_and_of_several():
    taught = rounds(set_up("recurrent")[0])
    assert all(round_.student.teaching_loss > 0 for round_ in taught)
    found = []
    for stacked in (True, False):
        lesson = set_up("recurrent")[0]
        students = [lesson.student, models.filled(Recurrent(), 8)]
        found.append([round_.meta.validation_loss for round_ in rounds(lesson, distill.Population(students, stacked=stacked))])
    assert found[0] == pytest.approx(found[1], rel=1e-10)


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        (["cell"], r"Found a second call of 'cell'\. Name its calls, 'cell@0', 'cell@1', ...: .*calls\('cell', count\)"),
        (["cell@3"], r"Found 'cell@3', and 3 calls of 'cell'\. Calls are counted from 0"),
        (["cells@0"], r"Found 'cells@0', which is none; did you mean 'cell'"),
        (["cell@-1"], r"Found 'cell@-1', which is none"),
        (["cell@0", "cell@0"], "named once, or each of its calls once"),
        (["cell", "cell@0"], "named once, or each of its calls once"),
    ],
)
def test_names_that_no_call_has(layers, sentence):
    student = models.filled(Recurrent(), 0)
    with pytest.raises(ValueError, match=sentence):
        rounds(models.lesson(student, models.teacher(dict.fromkeys(layers, (5,))), layers))


def test_a_module_of_such_a_name_keeps_it():
    student = models.filled(nn.ModuleDict({"a@1": nn.Linear(6, 3)}), 0)
    student.forward = lambda x: student["a@1"](x)  # noqa: PLW0108  # by a call, so that hooks run
    with student_function(student, ["a@1"]) as function:
        prediction, hidden = function(parameters_of(student), models.randn(0, 2, 6))
    assert torch.equal(hidden["a@1"], prediction)


def test_numbers_of_calls_are_checked():
    assert distill.calls("cell", 2) == ["cell@0", "cell@1"]
    with pytest.raises(ValueError, match=r"`count` should be at least 1\. Found 0"):
        distill.calls("cell", 0)

import copy
import inspect
import io
import math
from dataclasses import fields, replace

import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import (
    SGD,
    Adam,
    Adjoint,
    Batches,
    Checkpoint,
    Distillation,
    Examples,
    HiddenSquaredError,
    Lesson,
    Split,
    Truncated,
    Unroll,
    Unrolling,
    meta_gradient,
    split_rows,
)
from mechlearn.distill.step import validation_batch
from mechlearn.params import parameters_of


def examples(count=40):
    return Examples(models.randn(0, count, 6), models.randn(1, count, 4), models.labels(2, count))


LESSON = {field.name for field in fields(Lesson)}
UNROLLING = {field.name for field in fields(Unrolling)}


def make(kind="batch norm", seed=0, student=None, teacher=None, **changed):
    """A distillation of small modules, with other fields of its bundles or arguments of its own where they are given."""
    student, layer = student or models.student(kind), next(iter(models.STUDENTS[kind][1].items()))
    teacher = teacher or models.teacher(dict([layer]))
    lesson = {"layers": [layer[0]], "alpha": 0.8, **{name: changed.pop(name) for name in LESSON & changed.keys()}}
    unrolling = {"inner": SGD(0.1, 0.5), "steps": 5, "batch_size": 6}
    unrolling |= {name: changed.pop(name) for name in UNROLLING & changed.keys()}
    arguments = {
        "examples": examples(),
        "split": split_rows(40, 0.3, models.generator(1)),
        "student_optimizer": torch.optim.Adam(student.parameters(), 0.01),
        "meta_optimizer": torch.optim.Adam(teacher.parameters(), 0.01),
        "generator": models.generator(seed),
    }
    if "student_optimizer" in changed:
        changed["student_optimizer"] = changed["student_optimizer"](student.parameters())
    arguments |= changed
    return Distillation(models.lesson(student, teacher, **lesson), unrolling=Unrolling(**unrolling), **arguments)


def redrawn():
    return split_rows(40, 0.3, models.generator(1), "redrawn")


def test_a_meta_step_moves_the_teacher_and_nothing_else():
    distillation = make()
    student, optimizer = copy.deepcopy(distillation.lesson.student), copy.deepcopy(distillation.student_optimizer.state_dict())
    teacher = copy.deepcopy(distillation.lesson.teacher)
    record = distillation.meta_step()
    assert str(distillation.lesson.student.state_dict()) == str(student.state_dict())
    assert distillation.student_optimizer.state_dict() == optimizer
    assert models.largest_error(parameters_of(distillation.lesson.teacher), parameters_of(teacher)) > 1e-4
    assert record.training_losses.shape == (5,)
    assert (record.nonfinite, record.clipped, record.skipped) == (0, 0, False)
    assert record.norm > 0


def test_a_meta_step_is_one_step_along_the_meta_gradient():
    whole = torch.arange(12)
    distillation = make(
        "mlp", examples=examples(18), split=Split(whole, torch.arange(12, 18)), batch_size=12, steps=3, inner="student"
    )
    teacher = copy.deepcopy(distillation.lesson.teacher)
    distillation.meta_optimizer = torch.optim.SGD(distillation.lesson.teacher.parameters(), 0.5)
    # Every batch is the whole training part; its order matters to rounding alone.
    rows = Batches(*distillation.examples.rows(whole.expand(3, 12)))
    validation = validation_batch(distillation.examples, distillation.split, distillation.unrolling, distillation.generator)
    found = meta_gradient(replace(distillation.lesson, teacher=teacher), rows, validation, Adam(0.01))
    record = distillation.meta_step()
    moved = {name: p - 0.5 * found.gradients[name] for name, p in parameters_of(teacher).items()}
    assert models.largest_error(parameters_of(distillation.lesson.teacher), moved) < 1e-10
    assert record.validation_loss == pytest.approx(float(found.validation_loss), rel=1e-10)


def test_student_steps_are_an_ordinary_loop():
    distillation = make("mlp")
    student = copy.deepcopy(distillation.lesson.student)
    optimizer = torch.optim.Adam(student.parameters(), 0.01)
    rows = copy.deepcopy(distillation._student_rows).take(3)
    teacher = copy.deepcopy(distillation.lesson.teacher)
    record = distillation.student_steps(3)
    label, teaching = [], []
    for batch in rows:
        x, privileged, y = distillation.examples.rows(batch)
        h = student[0](x)
        label.append(models.label_loss(student[1:](h), y).mean())
        teaching.append(HiddenSquaredError()({"0": h}, teacher(privileged)).mean())
        optimizer.zero_grad()
        (label[-1] + 0.8 * teaching[-1]).backward()
        optimizer.step()
    for name, tensor in student.state_dict().items():
        torch.testing.assert_close(distillation.lesson.student.state_dict()[name], tensor, rtol=1e-10, atol=1e-12)
    assert record.label_loss == pytest.approx(sum(loss.item() for loss in label) / 3)
    assert record.teaching_loss == pytest.approx(sum(loss.item() for loss in teaching) / 3)
    assert not any(module._forward_hooks for module in distillation.lesson.student.modules())


def test_a_student_s_running_averages_move_in_its_own_steps_alone():
    distillation = make("batch norm")
    distillation.meta_step()
    assert distillation.lesson.student[1].num_batches_tracked == 0
    distillation.student_steps(3)
    assert distillation.lesson.student[1].num_batches_tracked == 3


@pytest.mark.parametrize("splitting", ["fixed", "redrawn"])
@pytest.mark.parametrize("moments", ["fresh", "student"])
def test_a_killed_run_resumes_to_the_bit(splitting, moments):
    split = split_rows(40, 0.3, models.generator(1), splitting)
    changed = {"split": split, "moments": moments, "inner": Adam(0.05), "validation_size": 5}
    through = make(**changed)
    through.step(3)
    saved = io.BytesIO()
    torch.save(through.state_dict(), saved)
    records = [through.step(3) for _ in range(3)]

    saved.seek(0)
    resumed = make(seed=99, **changed)
    resumed.load_state_dict(torch.load(saved, weights_only=True))
    again = [resumed.step(3) for _ in range(3)]
    for one, other in zip(records, again, strict=True):
        assert one.student == other.student
        assert one.meta.validation_loss == other.meta.validation_loss
        assert torch.equal(one.meta.training_losses, other.meta.training_losses)
    for one, other in ((through.lesson.student, resumed.lesson.student), (through.lesson.teacher, resumed.lesson.teacher)):
        assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def test_a_split_is_fixed_or_redrawn():
    fixed, other = make(), make(split=redrawn())
    before = fixed.split
    for distillation in (fixed, other):
        distillation.step(3)
    assert fixed.split is before
    assert not torch.equal(other.split.validation, before.validation)
    assert sorted(torch.cat([*other.split.rows().values()]).tolist()) == list(range(40))
    assert [len(rows) for rows in other.split.rows().values()] == [len(rows) for rows in before.rows().values()]
    drawn = other._student_rows.take(4).flatten()
    assert set(drawn.tolist()) <= set(other.split.training.tolist())


def test_inner_moments_are_the_student_s_where_asked():
    warm, fresh = make(inner="student", moments="student"), make(inner="student")
    for distillation in (warm, fresh):
        distillation.student_steps(6)
    assert warm.meta_step().validation_loss != fresh.meta_step().validation_loss


class Explosive(nn.Module):
    def __init__(self):
        super().__init__()
        self.root = nn.Parameter(torch.tensor([0.0, 1.0, 1.0, 1.0, 1.0], dtype=torch.float64))

    def forward(self, privileged):
        return privileged[:, :1] + self.root.sqrt()


def explosive(nonfinite):
    teacher = Explosive()
    return make("mlp", teacher=teacher, nonfinite=nonfinite, meta_optimizer=torch.optim.SGD(teacher.parameters(), 0.1))


def test_components_that_are_not_finite_are_never_passed_over():
    with pytest.raises(FloatingPointError, match="Found 1 that are not"):
        explosive("raise").meta_step()
    skipping = explosive("skip")
    record = skipping.meta_step()
    assert (record.nonfinite, record.skipped) == (1, True)
    assert skipping.lesson.teacher.root.tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]
    zero = explosive("zero")
    record = zero.meta_step()
    assert (record.nonfinite, record.skipped) == (1, False)
    assert zero.lesson.teacher.root[0] == 0
    assert (zero.lesson.teacher.root[1:] != 1).all()


def diverging(nonfinite, **changed):
    teacher = models.teacher({"0": (5,)}, norm=False)
    return make("mlp", teacher=teacher, inner=SGD(1e200), nonfinite=nonfinite, **changed)


@pytest.mark.parametrize("strategy", [Unroll(), Checkpoint(2), Adjoint(), Truncated(2)])
def test_an_unroll_that_diverges_is_refused_or_skipped_or_taken_for_a_gradient_of_zero(strategy):
    raising = diverging("raise", strategy=strategy)
    before = copy.deepcopy(raising.state_dict())
    with pytest.raises(FloatingPointError, match=r"at inner step 2 of 5\. Lower the inner learning rate or alpha\."):
        raising.meta_step()
    assert str(raising.state_dict()) == str(before)
    components = sum(p.numel() for p in raising.lesson.teacher.parameters())
    for nonfinite in ("skip", "zero"):
        distillation = diverging(nonfinite, strategy=strategy)
        distillation.unrolling = replace(distillation.unrolling, inner=SGD(0.1))
        distillation.meta_step()  # moments of the meta-optimiser
        distillation.unrolling = diverging(nonfinite, strategy=strategy).unrolling
        teacher, optimizer = copy.deepcopy(distillation.lesson.teacher), copy.deepcopy(distillation.meta_optimizer.state_dict())
        literal = copy.deepcopy(teacher)
        record = distillation.meta_step()
        assert (record.nonfinite, record.clipped, record.skipped) == (components, 0, nonfinite == "skip")
        assert not math.isfinite(record.validation_loss)
        assert not bool(record.training_losses.isfinite().all())
        if nonfinite == "zero":  # the published code: Adam steps along zeros
            adam = torch.optim.Adam(literal.parameters(), 0.01)
            adam.load_state_dict(optimizer)
            for parameter in literal.parameters():
                parameter.grad = torch.zeros_like(parameter)
            adam.step()
        for found, wanted in zip(distillation.lesson.teacher.parameters(), literal.parameters(), strict=True):
            assert torch.equal(found, wanted)
        distillation.student_steps(2)


def test_a_validation_loss_that_overflows_behind_the_unroll_is_a_divergence():
    squares = {"label_loss": lambda p, y: (p - y[:, None]).square().mean(1)}
    distillation = diverging("zero", steps=1, **squares)
    record = distillation.meta_step()
    assert bool(record.training_losses.isfinite().all())
    assert (math.isfinite(record.validation_loss), record.skipped) == (False, False)
    assert record.nonfinite == sum(p.numel() for p in distillation.lesson.teacher.parameters())


def test_what_is_no_number_where_the_unroll_begins_is_no_divergence():
    teacher = models.teacher({"0": (5,)}, norm=False)
    overflowing = make("mlp", teacher=teacher, nonfinite="zero", teaching_loss=HiddenSquaredError(), alpha=1e308)
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.mul_(1e5)
    with pytest.raises(FloatingPointError, match="at inner step 1 of 5"):
        overflowing.meta_step()


@pytest.mark.parametrize("nonfinite", ["skip", "zero"])
def test_data_that_are_no_numbers_are_refused_however_unrolls_that_diverge_are_met(nonfinite):
    distillation = make("mlp", teacher=models.teacher({"0": (5,)}, norm=False), nonfinite=nonfinite)
    distillation.examples.privileged[:] = float("nan")
    with pytest.raises(FloatingPointError, match="The cause is in the data: the privileged"):
        distillation.meta_step()


def test_a_student_s_loss_that_is_no_number_is_refused_before_its_step():
    distillation = make()
    distillation.examples.x[:] = float("nan")
    before = copy.deepcopy(distillation.lesson.student.state_dict())
    with pytest.raises(FloatingPointError, match="step 1"):
        distillation.student_steps(3)
    with pytest.raises(FloatingPointError, match="inner step 1 of 5"):
        distillation.meta_step()
    for name, parameter in distillation.lesson.student.named_parameters():
        assert torch.equal(parameter, before[name])


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"split": Split(torch.arange(30), torch.arange(25, 40))}, "apart.*Found 5 rows in both, such as 25"),
        ({"split": Split(torch.arange(30) // 2, torch.arange(30, 40))}, "each row once.*Found 15 training rows among 30"),
        ({"split": Split(torch.ones(40, dtype=torch.bool), torch.arange(30, 40))}, r"rows.*integers.*training.*torch\.bool"),
        ({"split": Split(torch.arange(30), torch.arange(30.0, 40.0))}, r"rows.*integers.*validation.*torch\.float32"),
        ({"split": Split(torch.arange(30).view(5, 6), torch.arange(30, 40))}, r"one dimension.*training.*shape \(5, 6\)"),
        (
            {"split": split_rows(40, 0.3, models.generator(1))._replace(splitting="redraw")},
            '`splitting` should be "fixed" or "redrawn"',
        ),
        ({"clip": -1.0}, r"`clip` should be positive and finite\. Found -1\.0"),
        ({"inner": SGD(0.1, 0.5), "moments": "student"}, "warm start.*Found no 'momentum_buffer' in Adam"),
        ({"examples": examples()._replace(privileged=models.randn(1, 39, 4))}, "one row for each example.*39"),
        ({"split": Split(torch.arange(0), torch.arange(40))}, "Found no training rows of 40"),
        ({"split": Split(torch.arange(30), torch.arange(30, 41))}, "validation rows from 30 to 40"),
        ({"batch_size": 29}, "batch_size=29 with 28 training rows"),
        ({"steps": 0}, "`steps` should be at least 1. Found 0"),
        ({"validation_size": 0}, "`validation_size` should be at least 1. Found 0"),
        ({"moments": "warm"}, '`moments` should be "fresh" or "student"'),
        ({"nonfinite": "ignore"}, '`nonfinite` should be "raise", "skip" or "zero"'),
        ({"inner": "adam"}, "`inner` should be an inner optimiser or 'student'"),
        ({"layers": ["4x"]}, "did you mean '3'|did you mean"),
        ({"meta_optimizer": torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1)}, "`meta_optimizer` should hold all trainable"),
    ],
)
def test_bad_settings_are_refused(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(**changed)


def test_moments_that_the_student_s_optimiser_keeps_are_taken():
    make(moments="student", student_optimizer=lambda p: torch.optim.SGD(p, 0.1, momentum=0.5)).step(3)
    with pytest.raises(ValueError, match="Found no 'momentum_buffer' in SGD"):
        make(moments="student", student_optimizer=lambda p: torch.optim.SGD(p, 0.1))


def test_a_teacher_that_is_never_trained_needs_no_validation():
    distillation = make(split=Split(torch.arange(40), torch.arange(0)))
    distillation.student_steps(3)
    before = copy.deepcopy(distillation.state_dict())
    with pytest.raises(ValueError, match=r"A meta-step should have validation rows\. Found a split with none"):
        distillation.step(3)
    assert torch.equal(distillation.state_dict()["generator"], before["generator"])
    assert torch.equal(distillation.state_dict()["student_rows"]["order"], before["student_rows"]["order"])


class Skipping(nn.Module):
    """Calls one of its two layers."""

    def __init__(self):
        super().__init__()
        self.used, self.skipped = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x):
        return self.used(x)


def with_modules(student, units, **changed):
    student = models.filled(student, 0)
    teacher = models.teacher(units)
    settings = {
        "student_optimizer": lambda _: torch.optim.SGD(student.parameters(), 0.1),
        "meta_optimizer": torch.optim.SGD(teacher.parameters(), 0.1),
        "layers": list(units),
    }
    return make(student=student, teacher=teacher, **settings, **changed)


@pytest.mark.parametrize(
    ("student", "units", "changed", "sentence"),
    [
        (models.mlp(), {"0": (1,)}, {}, r"targets for a layer.*Found \(6, 1\) for '0', whose output has \(6, 5\)"),
        (Skipping(), {"used": (3,), "skipped": (3,)}, {}, "called in a forward pass.*'skipped' was not"),
        (
            models.mlp(),
            {"0": (5,)},
            {"label_loss": lambda p, y: models.label_loss(p, y).mean()},
            "label loss should be unreduced",
        ),
        (models.mlp(), {"0": (5,)}, {"teaching_loss": lambda h, t: h["0"].sum()}, "teaching loss should be unreduced"),
    ],
)
def test_student_steps_refuse_what_the_meta_gradient_refuses(student, units, changed, sentence):
    distillation = with_modules(student, units, **changed)
    before = copy.deepcopy(distillation.lesson.student.state_dict())
    with pytest.raises(ValueError, match=sentence):
        distillation.student_steps(3)
    assert all(torch.equal(tensor, before[name]) for name, tensor in distillation.lesson.student.state_dict().items())
    assert not any(module._forward_hooks for module in distillation.lesson.student.modules())


def test_no_student_steps_are_refused():
    with pytest.raises(ValueError, match=r"`count` should be at least 1. Found 0"):
        make().student_steps(0)
    distillation = make()
    before = copy.deepcopy(distillation.lesson.teacher.state_dict())
    with pytest.raises(ValueError, match=r"`student_steps` should be at least 1. Found 0"):
        distillation.step(0)
    assert str(distillation.lesson.teacher.state_dict()) == str(before)


def test_an_optimiser_without_a_counterpart_is_refused_where_it_would_unroll():
    with pytest.raises(TypeError, match="Found RMSprop"):
        make(student_optimizer=torch.optim.RMSprop, inner="student")
    make(student_optimizer=torch.optim.RMSprop).step(3)


def test_what_is_passed_on_has_the_defaults_of_the_meta_gradient():
    own, passed = Unrolling(SGD(0.1), 1, 1), inspect.signature(meta_gradient).parameters
    both = UNROLLING & passed.keys()
    assert both == {"inner", "strategy", "clip"}
    assert {name: getattr(own, name) for name in both - {"inner"}} == {name: passed[name].default for name in both - {"inner"}}


class Failing(torch.optim.SGD):
    """Fails when it has moved a half."""

    def step(self, closure=None):
        del closure
        with torch.no_grad():
            self.param_groups[0]["params"][0].add_(1.0)
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [False, True])
def test_a_teacher_is_not_half_moved_where_its_optimiser_fails(after):
    def fail(*_):
        raise KeyboardInterrupt

    teacher = models.teacher({"1": (5,)})
    optimizer = (torch.optim.Adam if after else Failing)(teacher.parameters(), 0.1)
    if after:
        optimizer.register_step_post_hook(fail)
    distillation = make(teacher=teacher, meta_optimizer=optimizer)
    before = str(copy.deepcopy(distillation.state_dict()))
    with pytest.raises(KeyboardInterrupt):
        distillation.meta_step()
    assert str(distillation.state_dict()) == before
    assert all(parameter.grad is None for parameter in teacher.parameters())

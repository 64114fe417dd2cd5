"""Populations: one student is `Distillation` to the bit, a stack is its students one by one, the rule is the caller's."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

import distill_models as models
from mechlearn.agreement import AndMask, combine
from mechlearn.distill import (
    SGD,
    Adam,
    Adjoint,
    Batches,
    Checkpoint,
    Distillation,
    Every,
    Examples,
    GatedSquaredError,
    HiddenSquaredError,
    Hoisting,
    Implicit,
    Population,
    PopulationDistillation,
    Truncated,
    Unroll,
    Unrolling,
    WhenSolved,
    meta_gradient,
    split_rows,
)
from mechlearn.distill.populations.members import OneByOne, Stacked
from mechlearn.nn.perceptrons import relu_mlp


def make_students(count, kind="mlp"):
    return [models.student(kind, seed=10 + p) for p in range(count)]


def examples(count=40):
    return Examples(models.randn(0, count, 6), models.randn(1, count, 4), models.labels(2, count))


def adam(parameters):
    return torch.optim.Adam(parameters, 0.01)


def make(count=3, kind="mlp", *, student_optimizer=adam, lesson=None, population=None, **unrolling):
    students = make_students(count, kind)
    units = models.STUDENTS[kind][1]
    layer = next(iter(units))
    teacher = models.teacher({layer: units[layer]}, gated=True)
    settings = {"inner": SGD(0.1, 0.5), "steps": 5, "batch_size": 6, **unrolling}
    return PopulationDistillation(
        models.lesson(students[0], teacher, [layer], **{"teaching_loss": GatedSquaredError(), **(lesson or {})}),
        Population(students, **{"renew": renew, **(population or {})}),
        examples(),
        split_rows(40, 0.3, models.generator(1)),
        Unrolling(**settings),
        student_optimizer,
        torch.optim.Adam(teacher.parameters(), 0.01),
        models.generator(3),
    )


def renew(p, generator):
    del p
    return models.filled(models.mlp(), int(torch.randint(1000, (), generator=generator)))


def state(population):
    students = [student.state_dict() for student in population.population.students]
    return copy.deepcopy([population.lesson.teacher.state_dict(), *students])


def largest(found, expected):
    return max(models.largest_error(a, b) for a, b in zip(found, expected, strict=True))


def plain(lesson, population):
    """Rounds of three steps of gradient descent, with a teacher's Adam."""
    return PopulationDistillation(
        lesson,
        population,
        examples(),
        split_rows(40, 0.3, models.generator(1)),
        Unrolling(SGD(0.1), 3, 6),
        adam,
        torch.optim.Adam(lesson.teacher.parameters(), 0.01),
        models.generator(3),
    )


@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("moments", ["fresh", "student"])
def test_one_student_is_distillation_to_the_bit(stacked, moments):
    population = make(1, inner="student", moments=moments, validation_size=5, population={"stacked": stacked})
    (student,) = make_students(1)
    teacher = models.teacher({"0": (5,)}, gated=True)
    alone = Distillation(
        models.lesson(student, teacher, ["0"], teaching_loss=GatedSquaredError()),
        examples(),
        split_rows(40, 0.3, models.generator(1)),
        Unrolling("student", 5, 6, moments, 5),
        adam(student.parameters()),
        torch.optim.Adam(teacher.parameters(), 0.01),
        models.generator(3),
    )
    for _ in range(2):
        found, expected = population.step(4), alone.step(4)
        assert found.student == expected.student
        assert found.meta.norm == expected.meta.norm
    for one, other in ((population.lesson.student, student), (population.lesson.teacher, teacher)):
        assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


RULES = {
    "mean": None,
    "and-mask": lambda gradient: combine(AndMask(0.6), gradient).gradient,
    "first": lambda gradient: gradient[0],
}
SETTINGS = [
    {},
    {"strategy": Adjoint(), "inner": "student"},
    {
        "strategy": Checkpoint(),
        "student_optimizer": lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
        "inner": Adam(0.02),
    },
    {"strategy": Truncated(2), "student_optimizer": lambda p: torch.optim.SGD(p, 0.05, momentum=0.5)},
    {"lesson": {"hoisting": Hoisting(chunk=2)}, "kind": "convolution", "population": {"renew": None}},
    {"lesson": {"alpha_relative_to": "loss"}},
    {"lesson": {"alpha_relative_to": "gradient"}, "kind": "residual", "population": {"renew": None}},
]


@pytest.mark.parametrize(
    ("rule", "changed"), [("mean", changed) for changed in SETTINGS] + [("and-mask", SETTINGS[0]), ("first", SETTINGS[4])]
)
def test_a_stack_is_its_students_one_by_one(rule, changed):
    changed = dict(changed)
    others = {"reset": Every(3), "combine": RULES[rule], **changed.pop("population", {})}
    others["reset"] = others["reset"] if others.get("renew", renew) else None
    stacked, alone = (make(population={**others, "stacked": flag}, **changed) for flag in (True, False))
    for _ in range(2):
        found, expected = stacked.step(2), alone.step(2)
        torch.testing.assert_close(found.validation_losses, expected.validation_losses, rtol=1e-10, atol=1e-12)
        assert found.meta.norm == pytest.approx(expected.meta.norm, rel=1e-9)
        assert found.student.label_loss == pytest.approx(expected.student.label_loss, rel=1e-10)
        assert torch.equal(found.ages, expected.ages)
        assert torch.equal(found.renewed, expected.renewed)
    assert largest(state(stacked), state(alone)) < 1e-10


@pytest.mark.parametrize(
    ("members", "strategy"), [(Stacked, Unroll()), (Stacked, Checkpoint()), (Stacked, Adjoint()), (OneByOne, Unroll())]
)
def test_a_stack_s_meta_gradient_is_the_mean_of_its_students(members, strategy):
    students, teacher = make_students(3), models.teacher({"0": (5,)})
    validation = models.data()[1]
    batches = [models.data(seed=20 + p)[0] for p in range(3)]
    given = [models.lesson(student, teacher, ["0"]) for student in students]
    expected = [meta_gradient(one, b, validation, SGD(0.1, 0.5)) for one, b in zip(given, batches, strict=True)]
    population = members(given[0], tuple(students), adam)
    together = Batches(*(torch.stack(parts, 1) for parts in zip(*batches, strict=True)))
    found = population.meta_gradient(together, validation, Unrolling(SGD(0.1, 0.5), 4, 5, strategy=strategy), None)
    mean = {name: torch.stack([one.gradients[name] for one in expected]).mean(0) for name in expected[0].gradients}
    assert models.largest_error(found.meta.gradients, mean) < 1e-10
    torch.testing.assert_close(found.validation_losses, torch.stack([one.validation_loss for one in expected]))


def test_equal_students_with_equal_batches_have_the_meta_gradient_of_one():
    student, teacher = models.student("mlp"), models.teacher({"0": (5,)})
    batches, validation = models.data()
    lone = meta_gradient(models.lesson(student, teacher, ["0"]), batches, validation, Adam(0.05, eps=0.1))
    copies = (student, *(copy.deepcopy(student) for _ in range(3)))
    together = Batches(*(torch.stack([part] * 4, 1) for part in batches))
    for rule in (None, *list(RULES.values())[1:]):
        stack = Stacked(models.lesson(copies[0], teacher, ["0"]), tuple(copy.deepcopy(copies)), adam)
        found = stack.meta_gradient(together, validation, Unrolling(Adam(0.05, eps=0.1), 4, 5), rule)
        assert models.largest_error(found.meta.gradients, lone.gradients) < 1e-10


def test_students_start_anew_at_staggered_times():
    population = make(3, steps=1, population={"reset": Every(6)})
    renewed = [population.step(1).renewed.tolist() for _ in range(12)]
    assert [rows.index(True) if any(rows) else None for rows in renewed] == [None, 0, None, 1, None, 2] * 2
    assert population.ages.tolist() == [4, 2, 0]


def test_a_fresh_student_has_fresh_weights_and_no_moments():
    for stacked in (True, False):
        population = make(2, population={"reset": Every(2), "stacked": stacked})
        population.step(4)
        taken = population.population.students[0].state_dict()
        fresh = renew(0, _before_renewal(stacked))
        assert all(torch.equal(tensor, taken[name]) for name, tensor in fresh.state_dict().items())


def _before_renewal(stacked):
    """The generator as it is when the first student of the same run is renewed."""
    population = make(2, population={"stacked": stacked})
    population.step(4)
    return population.generator


def test_students_start_anew_when_they_have_solved_it():
    reset = WhenSolved(loss=100.0, least=2)
    population = make(2, population={"reset": reset})
    assert [population.step(1).renewed.tolist() for _ in range(4)] == [[False] * 2, [True] * 2] * 2
    never = make(2, population={"reset": WhenSolved(loss=-1.0)})
    assert not any(never.step(1).renewed.any() for _ in range(3))


def test_students_of_other_widths_are_taught_one_by_one():
    teacher = models.teacher({"0": (5,)})
    students = [relu_mlp((6, 5, width, 3), models.generator(width)).double() for width in (4, 7)]
    population = plain(models.lesson(students[0], teacher, ["0"]), Population(students, stacked=False))
    assert population.step(2).validation_losses.shape == (2,)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("stacked", [True, False])
def test_a_killed_run_resumes_to_the_bit(count, stacked):
    settings = {"population": {"stacked": stacked, "reset": Every(3)}, "validation_size": 5}
    through = make(count, **settings)
    for _ in range(2):
        through.step(2)
    saved = io.BytesIO()
    torch.save(through.state_dict(), saved)
    saved.seek(0)
    resumed = make(count, **settings)
    resumed.load_state_dict(torch.load(saved, weights_only=True))
    for _ in range(3):
        one, other = through.step(2), resumed.step(2)
        assert one.student == other.student
        assert torch.equal(one.ages, other.ages)
    for a, b in zip(state(through), state(resumed), strict=True):
        assert all(torch.equal(tensor, b[name]) for name, tensor in a.items())


@pytest.mark.parametrize("nonfinite", ["raise", "zero"])
@pytest.mark.parametrize("stacked", [True, False])
def test_an_unroll_that_diverges_is_refused(stacked, nonfinite):
    population = make(3, population={"stacked": stacked}, inner=SGD(1e200), nonfinite=nonfinite)
    before = state(population)
    with pytest.raises(FloatingPointError, match=r"of 5\. Lower the inner learning rate or alpha\."):
        population.meta_step()
    assert largest(state(population), before) == 0
    population = make(3, population={"stacked": stacked}, nonfinite=nonfinite)
    population.examples.privileged[:] = float("nan")
    with pytest.raises(FloatingPointError, match="The cause is in the data: the privileged"):
        population.meta_step()


@pytest.mark.parametrize("stacked", [True, False])
def test_nobody_is_moved_where_a_step_fails(stacked):
    population = make(3, population={"stacked": stacked})
    population.step(1)
    row = population._student_rows.order[2, 7]  # the third student meets it in its second step
    population.examples.x[row] = float("nan")
    before = copy.deepcopy(population.state_dict())
    with pytest.raises(FloatingPointError, match="the data: the inputs x"):
        population.student_steps(2)
    population.examples.x[:] = float("nan")
    with pytest.raises(FloatingPointError, match="the data: the inputs x"):
        population.meta_step()
    assert str(population.state_dict()) == str(before)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: Population([]), ValueError, r"at least one student, and each once\. Found 0"),
        (lambda: Population([models.student("mlp")] * 2), ValueError, "Found 2, 1 of them different"),
        (lambda: Population([nn.Linear]), TypeError, r"`students\[0\]` should be a torch\.nn\.Module"),
        (lambda: Population(models.student("tied")), TypeError, "`students` should be a list of modules"),
        (lambda: Population(make_students(2), reset=Every(2)), ValueError, "Found renew=None"),
        (lambda: Population(make_students(2), reset=3), TypeError, "`reset` should be Every"),
        (lambda: Population(make_students(2), combine=AndMask), TypeError, "`combine` should be a function"),
        (lambda: Every(0), ValueError, "`rounds` should be at least 1"),
        (lambda: WhenSolved("0.1"), TypeError, "`loss` should be a number"),
        (lambda: make(2, kind="tied"), ValueError, "train all of their parameters. Found 'first.weight' of student 0 frozen"),
        (lambda: make(2, kind="batch norm"), ValueError, "Found the buffer"),
        (lambda: make(2, moments="student", inner="student"), ValueError, r"fresh moments.*stacked=False"),
        (lambda: make(2, strategy=Implicit()), ValueError, "without a solver or compiler"),
        (lambda: make(2, lesson={"hoisting": Hoisting("pooled")}), ValueError, "each by itself"),
        (lambda: make(2, student_optimizer=torch.optim.RMSprop), TypeError, "Found RMSprop"),
        (lambda: make(2, student_optimizer=adam(models.student("mlp").parameters())), TypeError, "a function from parameters"),
        (lambda: make(2, population={"combine": lambda g: g}).step(1), ValueError, r"`combine` should make one gradient"),
        (
            lambda: make(2, population={"renew": lambda p, g: nn.Linear(6, 3), "reset": Every(1)}).step(1),
            ValueError,
            "the architecture of the one before",
        ),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_is_refused(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


def test_a_lesson_of_another_student_is_refused():
    students, teacher = make_students(2), models.teacher({"0": (5,)})
    with pytest.raises(ValueError, match="should be the population's first"):
        plain(models.lesson(models.student("mlp"), teacher, ["0"], teaching_loss=HiddenSquaredError()), Population(students))


class Noisy(nn.Module):
    """A teacher with dropout that no mode turns off."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 5).double()

    def forward(self, x):
        return dropout(self.layer(x), 0.5)


def given_to(teacher, **others):
    students = make_students(2)
    return plain(models.lesson(students[0], teacher, ["0"]), Population(students, **others))


def test_a_stack_refuses_a_teacher_that_draws():
    for call in ("meta_step", "student_steps"):
        for combine_rule in (None, RULES["first"]):
            population = given_to(Noisy(), combine=combine_rule)
            before = torch.get_rng_state()
            with pytest.raises(ValueError, match=r"The teacher's forward pass should not draw random numbers"):
                getattr(population, call)(*[2] * (call == "student_steps"))
            assert torch.equal(torch.get_rng_state(), before)
    teacher = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5)).double().eval()
    population = given_to(teacher)
    teacher.train()
    with pytest.raises(ValueError, match=r"The teacher should not draw random numbers.*Dropout"):
        population.meta_step()


def test_a_stack_refuses_targets_that_would_be_broadcast():
    population = given_to(models.filled(nn.Linear(4, 1), 0))
    with pytest.raises(ValueError, match=r"shape of that layer's output. Found \(6, 1\) for '0', whose output has \(6, 5\)"):
        population.student_steps(2)


def test_a_stack_wants_graphs():
    population = make(2)
    for call, sentence in ((population.meta_step, "A meta-gradient"), (lambda: population.student_steps(1), "Ordinary steps")):
        with (
            torch.inference_mode(),
            pytest.raises(RuntimeError, match=rf"{sentence} should be .* outside torch.inference_mode"),
        ):
            call()


@pytest.mark.parametrize("optimizer", [adam, lambda p: torch.optim.SGD(p, 0.1, momentum=0.5)])
def test_a_stack_follows_a_scheduler_and_resumes(optimizer):
    found = []
    for stacked in (True, False):
        made = []
        population = make(
            2,
            population={"stacked": stacked},
            inner="student",
            student_optimizer=lambda p, made=made: made.append(optimizer(p)) or made[-1],
        )
        population.step(2)
        for one in made:
            one.param_groups[0]["lr"] = 0.003
        saved = copy.deepcopy(population.state_dict())
        population.step(2)
        found.append(state(population))
        resumed = make(2, population={"stacked": stacked}, inner="student", student_optimizer=optimizer)
        resumed.load_state_dict(saved)
        resumed.step(2)
        assert largest(state(resumed), found[-1]) == 0
    assert largest(*found) < 1e-10


def test_students_that_share_a_parameter_are_no_stack():
    students = make_students(2)
    students[1][2] = students[0][2]
    with pytest.raises(ValueError, match=r"parameters of their own\. Found '2\.weight' of student 1 in student 0, too"):
        plain(models.lesson(students[0], models.teacher({"0": (5,)}), ["0"]), Population(students))


def test_a_copy_of_a_stack_goes_on_as_the_stack():
    population = make(2, population={"reset": Every(2)})
    population.step(2)
    other = copy.deepcopy(population)
    for _ in range(2):
        population.step(2)
        other.step(2)
    assert largest(state(other), state(population)) == 0
    for name, values in other._members.stack.stacked().items():
        for p, student in enumerate(other.population.students):
            assert student.get_parameter(name).data_ptr() == values[p].data_ptr()


def test_layers_after_which_a_stack_works_in_place_teach_what_they_return():
    found = []
    for in_place in (False, True):
        torch.manual_seed(0)
        students = [models.filled(nn.Sequential(nn.Linear(6, 5), nn.ReLU(in_place), nn.Linear(5, 3)), 10 + p) for p in range(2)]
        population = plain(models.lesson(students[0], models.teacher({"0": (5,)}), ["0"]), Population(students))
        population.step(2)
        found.append(state(population))
    assert largest(*found) == 0


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("stacked", [True, False])
def test_a_state_of_something_else_is_refused_and_changes_nothing(count, stacked):
    population = make(count, population={"stacked": stacked})
    other = make(count, population={"stacked": stacked})
    other.step(2)
    found = copy.deepcopy(other.state_dict())
    before = str(copy.deepcopy(population.state_dict()))
    for key in found:
        with pytest.raises(KeyError, match=f"found no {key}"):
            population.load_state_dict({name: part for name, part in found.items() if name != key})
        assert str(population.state_dict()) == before
    rows = {"training": torch.arange(200, 228), "validation": torch.arange(12)}
    for bad in ({"split": rows}, {"ages": torch.zeros(5, dtype=torch.int64)}, {"rounds": -1}):
        with pytest.raises(
            ValueError, match=r"among the 40 examples|`ages` should have the shape|`rounds` should be at least 0"
        ):
            population.load_state_dict({**found, **bad})
        assert str(population.state_dict()) == before
    population.load_state_dict(found)
    assert largest(state(population), state(other)) == 0


@pytest.mark.parametrize("stacked", [True, False])
def test_a_renewal_that_fails_is_not_counted(stacked):
    def failing(p, generator):
        if p == 1:
            raise KeyError
        return renew(p, generator)

    population = make(2, population={"stacked": stacked, "reset": WhenSolved(100.0), "renew": failing})
    twin = make(2, population={"stacked": stacked})
    with pytest.raises(KeyError):
        population.step(2)
    twin.step(2)
    assert population.rounds == 0
    assert population.ages.tolist() == [0, 0]
    assert largest(state(population), state(twin)) == 0
    assert torch.equal(population.generator.get_state(), twin.generator.get_state())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda students: students[1][2].requires_grad_(False), r"Found '2\.weight' of student 1 frozen"),
        (lambda students: students[1].__setitem__(1, nn.ReLU()), "Members should have one architecture. Found at 1"),
        (lambda students: [one.float() for one in students], r"stay as they were stacked.*'0\.weight' of student 0 .*float32"),
        (lambda students: [one.append(nn.Linear(3, 3).double()) for one in students], r"'5\.\w+' of student 0 .*, and none"),
    ],
)
def test_a_stack_notices_students_that_were_changed_since(change, sentence):
    population = make(2)
    change(population.population.students)
    for call in (lambda: population.student_steps(1), population.meta_step):
        with pytest.raises(ValueError, match=sentence):
            call()


@pytest.mark.parametrize("assigned", [True, False])
def test_new_values_of_a_student_are_its_stack_s_whatever_they_lie_in(assigned):
    population, other = make(2), make(2)
    values = models.student("mlp", 5).state_dict()
    population.population.students[1].load_state_dict(values, assign=assigned)
    other.population.students[1].load_state_dict(values)
    population.population.students[0].load_state_dict(population.population.students[0].state_dict(), assign=assigned)
    if assigned:
        population.student_steps(1)
        other.student_steps(1)
    population.step(1)
    other.step(1)
    assert largest(state(population), state(other)) == 0


def test_students_one_by_one_have_their_optimisers_looked_at():
    population = make(2, population={"stacked": False})
    population._members.optimizers[1].param_groups[0]["lr"] = -1.0
    with pytest.raises(ValueError, match="learning rate` should be finite and at least 0"):
        population.student_steps(1)
    population = make(2, population={"stacked": False})
    population.population.students[1].load_state_dict(models.student("mlp", 5).state_dict(), assign=True)
    with pytest.raises(ValueError, match="should hold all trainable parameters of its module"):
        population.student_steps(1)

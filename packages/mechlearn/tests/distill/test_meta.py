import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import distill_models as models
import distill_oracles as oracles
from mechlearn.distill import (
    SGD,
    Adam,
    Adjoint,
    Batches,
    Checkpoint,
    GatedSquaredError,
    HiddenSquaredError,
    Hoisting,
    Implicit,
    InnerState,
    KullbackLeibler,
    Labelled,
    TimeMixture,
    Truncated,
    Unroll,
    finite_differences,
    meta_gradient,
)
from mechlearn.distill.meta import finished
from mechlearn.distill.strategies import compiled
from mechlearn.distill.strategies.compiled import _compile
from mechlearn.distill.strategies.inner_problem import Solved

RULES = {
    "sgd": (SGD(0.1), lambda *a: oracles.sgd(*a, lr=0.1)),
    "momentum": (SGD(0.05, 0.75, 0.01), lambda *a: oracles.sgd(*a, lr=0.05, momentum=0.75, weight_decay=0.01)),
    "nesterov": (SGD(0.05, 0.7, 0.0, True), lambda *a: oracles.sgd(*a, lr=0.05, momentum=0.7, nesterov=True)),
    # Where eps is small Adam's first steps are signs, whose derivative is nothing but rounding.
    "adam": (Adam(0.05, eps=0.1, weight_decay=0.1), lambda *a: oracles.adam(*a, lr=0.05, eps=0.1, weight_decay=0.1)),
    "adamw": (
        Adam(0.02, (0.5, 0.9), 0.05, 0.1, True),
        lambda *a: oracles.adam(*a, lr=0.02, betas=(0.5, 0.9), eps=0.05, weight_decay=0.1, decoupled=True),
    ),
}
LOSSES = {
    "squared": (HiddenSquaredError("sum"), oracles.squared, False),
    "gated": (GatedSquaredError(reduction="sum"), oracles.gated, True),
    "divergence": (KullbackLeibler(), oracles.kullback_leibler, False),
}
PLAIN = Unroll()
EXACT = (PLAIN, Checkpoint(), Checkpoint(3), Adjoint())


def compute(kind, rule, loss, strategy=PLAIN, chunk=None, seed=0, n=4, b=5, norm=True):
    units = models.STUDENTS[kind][1]
    teacher = models.teacher(units, seed + 1, LOSSES[loss][2], norm)
    student = models.student(kind, seed)
    lesson = models.lesson(student, teacher, list(units), teaching_loss=LOSSES[loss][0], hoisting=Hoisting(chunk=chunk))
    return meta_gradient(lesson, *models.data(n, b, seed + 2), RULES[rule][0], strategy)


def literal(kind, rule, loss, seed=0, n=4, b=5, norm=True):
    units = models.STUDENTS[kind][1]
    ours = models.teacher(units, seed + 1, LOSSES[loss][2], norm)
    teacher = oracles.Copies(ours.network, units, LOSSES[loss][2])
    batches, validation = models.data(n, b, seed + 2)
    rows = list(zip(*batches, strict=True))
    student = models.student(kind, seed)
    return oracles.meta_gradient(
        student, list(units), teacher, rows, validation, RULES[rule][1], 0.7, LOSSES[loss][1], models.label_loss
    )


@given(
    kind=st.sampled_from(sorted(models.STUDENTS)),
    rule=st.sampled_from(sorted(RULES)),
    loss=st.sampled_from(sorted(LOSSES)),
    strategy=st.sampled_from(EXACT),
    chunk=st.sampled_from([None, 1, 3]),
    n=st.integers(1, 5),
    b=st.integers(3, 5),
    seed=st.integers(0, 1000),
)
def test_every_exact_strategy_is_plain_reverse_mode(kind, rule, loss, strategy, chunk, n, b, seed):
    found = compute(kind, rule, loss, strategy, chunk, seed, n, b)
    expected, validation_loss, theta = literal(kind, rule, loss, seed, n, b)
    assert found.gradients.keys() == expected.keys()
    assert models.largest_error(found.gradients, expected) < 1e-10
    assert models.largest_error(found.student, theta) < 1e-10
    torch.testing.assert_close(found.validation_loss, validation_loss, rtol=1e-12, atol=0)
    assert (found.nonfinite, found.clipped, len(found.training_losses)) == (0, 0, n)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_meta_gradient_is_the_slope_of_the_validation_loss(rule, loss):
    units = models.STUDENTS["mlp"][1]
    data = models.data()

    def at(teacher):
        lesson = models.lesson(models.student("mlp"), teacher, list(units), teaching_loss=LOSSES[loss][0])
        return meta_gradient(lesson, *data, RULES[rule][0], Adjoint())

    teacher = models.teacher(units, gated=LOSSES[loss][2])
    found = finite_differences(at, teacher, generator=models.generator(5), directions=2, step=1e-5)
    assert all(difference.relative_error < 1e-6 for difference in found)
    assert all(abs(difference.derivative) > 1e-6 for difference in found)


@pytest.mark.parametrize("strategy", EXACT)
@pytest.mark.parametrize("rule", ["momentum", "adam"])
def test_every_exact_strategy_gives_the_slope(strategy, rule):
    data = models.data()

    def at(teacher):
        lesson = models.lesson(models.student("convolution"), teacher, ["conv"], hoisting=Hoisting(chunk=3))
        return meta_gradient(lesson, *data, RULES[rule][0], strategy)

    teacher = models.teacher({"conv": (2, 2, 3)})
    found = finite_differences(at, teacher, generator=models.generator(6), directions=2, step=1e-5)
    assert all(difference.relative_error < 1e-6 for difference in found)
    assert all(abs(difference.derivative) > 1e-6 for difference in found)


def test_the_mixture_over_time_has_its_slope():
    student = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Softplus(), nn.Flatten(), nn.Linear(27, 3))
    batches = Batches(models.randn(0, 4, 5, 1, 3, 3), models.randn(1, 4, 5, 3, 3, 3), models.labels(2, 4, 5))
    validation = Labelled(models.randn(3, 7, 1, 3, 3), models.labels(4, 7))

    def at(teacher):
        lesson = models.lesson(models.filled(student, 5), teacher, ["0"])
        return meta_gradient(lesson, batches, validation, SGD(0.1, 0.5), Adjoint())

    teacher = TimeMixture(3, {"0": 3}, scale=1.0, generator=models.generator(6)).double()
    found = finite_differences(at, teacher, generator=models.generator(7), directions=2, step=1e-5)
    assert all(difference.relative_error < 1e-6 for difference in found)
    assert all(abs(difference.derivative) > 1e-6 for difference in found)


def test_finite_differences_find_a_wrong_gradient():
    units = models.STUDENTS["mlp"][1]
    teacher, data = models.teacher(units), models.data(n=8)

    def truncated(teacher):
        return meta_gradient(models.lesson(models.student("mlp"), teacher, list(units)), *data, SGD(0.5), Truncated(1))

    found = finite_differences(truncated, teacher, generator=models.generator(), directions=3)
    assert max(difference.relative_error for difference in found) > 0.05
    with pytest.raises(ValueError, match="positive"):
        finite_differences(truncated, teacher, generator=models.generator(), step=0.0)


def test_truncated_sees_the_last_steps_alone():
    units = models.STUDENTS["mlp"][1]
    batches, validation = models.data(n=6)
    lesson, rule = models.lesson(models.student("mlp"), models.teacher(units, norm=False), list(units)), SGD(0.1, 0.5)
    found = meta_gradient(lesson, batches, validation, rule, Truncated(2))

    halfway = meta_gradient(lesson, Batches(*(part[:4] for part in batches)), validation, rule)
    later = models.student("mlp")
    with torch.no_grad():
        for name, parameter in later.named_parameters():
            parameter.copy_(halfway.student[name])
    # The velocity at step 4 follows from theta_3 and theta_4: v_4 = (theta_3 - theta_4) / lr.
    before = meta_gradient(lesson, Batches(*(part[:3] for part in batches)), validation, rule)
    velocity = {name: (before.student[name] - halfway.student[name]) / 0.1 for name in halfway.student}
    start = rule.init(halfway.student)._replace(step=4, moments={"momentum": velocity})
    rest = Batches(*(part[4:] for part in batches))
    last = meta_gradient(replace(lesson, student=later), rest, validation, rule, start=start)
    assert models.largest_error(found.gradients, last.gradients) < 1e-10
    every = meta_gradient(lesson, batches, validation, rule, Truncated(100))
    exact = meta_gradient(lesson, batches, validation, rule)
    assert models.largest_error(every.gradients, exact.gradients) < 1e-12


@pytest.mark.parametrize("solver", [Implicit("cg", terms=3), Implicit("neumann", terms=40, scale=0.1)])
def test_implicit_is_the_limit_of_long_unrolls(solver):
    # Least squares with one batch again and again: the unroll tends to the minimum, its derivative to the implicit one.
    # Orthogonal inputs make the Hessian 2 (1 + alpha) times the identity, so that both converge in a few steps.
    x, target = 12**0.5 * torch.linalg.qr(models.randn(0, 12, 3)).Q, models.randn(1, 12, 2)
    student = models.filled(nn.Linear(3, 2, bias=False), 3)
    teacher = models.filled(nn.Linear(4, 2), 4)
    privileged, n = models.randn(2, 12, 4), 40

    def label_loss(prediction, y):
        return (prediction - y).square().sum(1)

    lesson = models.lesson(student, teacher, [""], alpha=1.5, label_loss=label_loss)
    validation = Labelled(models.randn(5, 7, 3), models.randn(6, 7, 2))
    repeated = Batches(*(part.expand(n, *part.shape) for part in (x, privileged, target)))
    unrolled = meta_gradient(lesson, repeated, validation, SGD(0.1), Adjoint())
    short = Batches(*(part[:1] for part in repeated))
    with torch.no_grad():
        for name, parameter in student.named_parameters():
            parameter.copy_(unrolled.student[name])
    implicit = meta_gradient(lesson, short, validation, SGD(0.1), solver)
    assert models.largest_error(implicit.gradients, unrolled.gradients) < 1e-6


@pytest.mark.parametrize("strategy", [*EXACT, Truncated(), Implicit()])
def test_nothing_of_the_user_s_is_changed(strategy):
    units = models.STUDENTS["batch norm"][1]
    student, teacher = models.student("batch norm"), models.teacher(units)
    student[3].eval()
    for parameter in [*student.parameters(), *teacher.parameters()]:
        parameter.grad = torch.ones_like(parameter)
    before = copy.deepcopy((student, teacher))
    random_state = torch.get_rng_state()
    meta_gradient(models.lesson(student, teacher, ["1"], alpha=1.0), *models.data(), Adam(), strategy)
    assert torch.equal(torch.get_rng_state(), random_state)
    for old, new in zip(before, (student, teacher), strict=True):
        for name, tensor in old.state_dict().items():
            assert torch.equal(tensor, new.state_dict()[name]), name
        assert all(torch.equal(parameter.grad, torch.ones_like(parameter)) for parameter in new.parameters())
        assert [m.training for m in old.modules()] == [m.training for m in new.modules()]
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in new.modules())


def test_a_gradient_of_zero_is_no_trouble_for_adam():
    # The second unit is dead: its gradients are 0 at every step.
    student = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).double()
    with torch.no_grad():
        student[0].bias.copy_(torch.tensor([1.0, -100.0]))
    teacher = models.filled(nn.Linear(4, 1), 3)
    batches = Batches(models.randn(0, 5, 4, 2), models.randn(1, 5, 4, 4), models.randn(2, 5, 4, 1))
    validation = Labelled(models.randn(3, 6, 2), models.randn(4, 6, 1))
    lesson = models.lesson(
        student, teacher, ["2"], alpha=1.0, label_loss=lambda prediction, y: (prediction - y).square().mean(1)
    )
    found = meta_gradient(lesson, batches, validation, Adam())
    assert found.nonfinite == 0
    assert all(torch.isfinite(gradient).all() for gradient in found.gradients.values())
    assert float(found.gradients["weight"].abs().max()) > 0


def test_components_beyond_the_clip_are_clipped_and_counted():
    units = models.STUDENTS["mlp"][1]
    free = compute("mlp", "sgd", "squared")
    flat = torch.cat([gradient.flatten() for gradient in free.gradients.values()]).abs()
    clip = float(flat.median())
    lesson = models.lesson(models.student("mlp"), models.teacher(units), list(units), teaching_loss=HiddenSquaredError("sum"))
    found = meta_gradient(lesson, *models.data(), SGD(0.1), clip=clip)
    assert found.clipped == int((flat > clip).sum()) > 0
    for name, gradient in free.gradients.items():
        torch.testing.assert_close(found.gradients[name], gradient.clamp(-clip, clip))


def test_a_bound_beyond_half_numbers_clips_none_of_them():
    gradients = {"half": torch.tensor([6e4, -2.0], dtype=torch.float16), "wide": torch.tensor([3e9, 1.0])}
    found = finished(Solved((), torch.zeros(()), torch.zeros(1), {}), gradients, clip=1e8)
    assert (found.clipped, found.nonfinite) == (1, 0)
    assert torch.equal(found.gradients["half"], gradients["half"])
    assert found.gradients["wide"].tolist() == [1e8, 1.0]


class Explosive(nn.Module):
    """A teacher whose backward pass is infinite where its parameter is 0, though its output is finite."""

    def __init__(self):
        super().__init__()
        self.root = nn.Parameter(torch.tensor([0.0, 1.0], dtype=torch.float64))

    def forward(self, privileged):
        return privileged[:, :2] + self.root.sqrt()


def test_components_that_are_not_finite_are_counted_and_stay():
    student = models.filled(nn.Linear(6, 2), 0)
    batches, _ = models.data()
    y = models.randn(7, 4, 5, 2)
    batches, validation = batches._replace(y=y), Labelled(models.randn(8, 3, 6), models.randn(9, 3, 2))
    lesson = models.lesson(student, Explosive(), [""], 1.0, label_loss=lambda prediction, y: (prediction - y).square().sum(1))
    found = meta_gradient(lesson, batches, validation, SGD(0.1))
    assert (found.nonfinite, torch.isfinite(found.gradients["root"]).tolist()) == (1, [False, True])


@settings(max_examples=10)
@given(seed=st.integers(0, 100))
def test_pooled_statistics_are_another_gradient_unless_there_is_one_batch(seed):
    units = models.STUDENTS["mlp"][1]

    def both(n):
        lesson = models.lesson(models.student("mlp"), models.teacher(units), list(units))
        lessons = [replace(lesson, hoisting=Hoisting(statistics)) for statistics in ("per-batch", "pooled")]
        return [meta_gradient(lesson, *models.data(n, 5, seed), SGD(0.1)).gradients for lesson in lessons]

    assert models.largest_error(*both(1)) < 1e-12
    assert models.largest_error(*both(4)) > 1e-3


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.compile imports what torch itself deprecates
@pytest.mark.parametrize("rule", [SGD(0.05, 0.75, 0.01), Adam(0.05, eps=0.1)])
def test_a_compiled_adjoint_is_the_same_and_notices_a_changed_student(rule):
    # The backend runs the traced graphs without a compiler, in a second; the benchmark checks the compiled ones.
    strategy_compiled = Adjoint(compile=True, backend="eager")
    student, teacher = models.student("tied"), models.teacher({"a": (5,)})
    student.act = nn.Softplus()
    student.head = nn.Sequential(student.act, student.head)
    lesson = models.lesson(student, teacher, ["a"])

    def error(n):
        found, expected = (meta_gradient(lesson, *models.data(n), rule, strategy) for strategy in (strategy_compiled, Unroll()))
        return models.largest_error(found.gradients, expected.gradients)

    assert error(3) < 1e-10
    with torch.no_grad():
        student.first.weight.mul_(2)  # frozen: a constant, but no constant of the graph
    assert error(5) < 1e-10
    student.act.beta = 7.0  # nothing that a key could hold
    assert error(3) < 1e-10


class Steeper:
    """A label loss whose slope has a factor, and whose value has not; or a teaching loss with a factor."""

    def __init__(self):
        self.factor = 1.0

    def __call__(self, prediction, y):
        losses = models.label_loss(prediction, y)
        return losses + (self.factor - 1) * (losses - losses.detach())

    def teaching(self, hidden, targets):
        return self.factor * HiddenSquaredError()(hidden, targets)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("part", ["label", "teaching"])
def test_a_compiled_adjoint_notices_a_changed_loss_however_small_its_steps_are(part, dtype):
    """Positions would agree within any tolerance: the first step moves them by a ten-thousandth."""
    student, teacher = models.student("mlp").to(dtype), models.teacher({"0": (5,)}).to(dtype)
    batches, validation = models.data()
    batches = Batches(batches.x.to(dtype), batches.privileged.to(dtype), batches.y)
    steeper = Steeper()
    losses = {"label_loss": steeper} if part == "label" else {"teaching_loss": steeper.teaching}
    lesson = models.lesson(student, teacher, ["0"], alpha=1e-3, **losses)
    for factor in (1.0, 6.0, 6.1):
        steeper.factor = factor
        found, expected = (
            meta_gradient(lesson, batches, Labelled(validation.x.to(dtype), validation.y), SGD(1e-4), strategy)
            for strategy in (Adjoint(compile=True, backend="eager"), Unroll())
        )
        assert models.largest_error(found.gradients, expected.gradients) < (1e-10 if dtype == torch.float64 else 1e-4)


class Constant:
    """Gradient descent that keeps beside it what it does not differentiate: the last gradient, or a count of whole numbers."""

    def __init__(self, whole):
        self.whole = whole

    def init(self, params):
        return InnerState(0, {"kept": {name: self._kept(tensor, 0) for name, tensor in params.items()}})

    def update(self, params, gradients, state):
        kept = {name: self._kept(gradient, state.step + 1) for name, gradient in gradients.items()}
        moved = {name: tensor - 0.1 * gradients[name] for name, tensor in params.items()}
        return moved, InnerState(state.step + 1, {"kept": kept})

    def _kept(self, tensor, count):
        return torch.tensor(count) if self.whole else tensor.detach().clone()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("strategy", [Unroll(), Checkpoint(), Adjoint()])
def test_a_rule_may_keep_what_is_not_differentiated(strategy, whole):
    lesson = models.lesson(models.student("mlp"), models.teacher({"0": (5,)}), ["0"])
    expected = meta_gradient(lesson, *models.data(), SGD(0.1))
    found = meta_gradient(lesson, *models.data(), Constant(whole), strategy)
    assert models.largest_error(found.gradients, expected.gradients) < 1e-12


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("rule", "dtype"), [(SGD(0.05, 0.75, 0.01), torch.float32), (RULES["adamw"][0], torch.float64)])
def test_a_compiled_adjoint_is_compiled_once_for_all_learning_rates(rule, dtype, monkeypatch):
    made = []

    def counted(*arguments):
        made.append(arguments)
        return _compile(*arguments)

    monkeypatch.setattr(compiled, "_compile", counted)
    student, teacher = models.student("tied").to(dtype), models.teacher({"a": (5,)}).to(dtype)
    batches, validation = models.data()
    batches = Batches(batches.x.to(dtype), batches.privileged.to(dtype), batches.y)
    validation = Labelled(validation.x.to(dtype), validation.y)
    lesson = models.lesson(student, teacher, ["a"])
    found, expected = (
        [meta_gradient(lesson, batches, validation, replace(rule, lr=lr), strategy) for lr in (0.05, 0.02)]
        for strategy in (Adjoint(compile=True, backend="eager"), Unroll())
    )
    assert len(made) == 1
    for one, other in zip(found, expected, strict=True):
        assert models.largest_error(one.gradients, other.gradients) < (1e-10 if dtype == torch.float64 else 1e-4)
        assert one.training_losses.dtype == other.training_losses.dtype


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_cannot_be_compiled_says_so():
    units = models.STUDENTS["mlp"][1]
    lesson = models.lesson(models.student("mlp"), models.teacher(units), list(units), alpha=1.0)
    with pytest.raises(RuntimeError, match=r"able to compile an inner step\. Found"):
        meta_gradient(lesson, *models.data(), SGD(0.1), Adjoint(compile=True, backend="nonsense"))


class Table(nn.Module):
    """A student that looks its inputs up in Python."""

    def __init__(self):
        super().__init__()
        self.read, self.head = nn.Linear(2, 5), nn.Linear(5, 3)

    def forward(self, x):
        rows = [[1.0, 0.0] if first > 0 else [0.0, 1.0] for first in x[:, 0].tolist()]
        return self.head(torch.tanh(self.read(torch.tensor(rows, dtype=torch.float64))))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_numbers_taken_out_of_the_data_are_not_compiled_in():
    lesson = models.lesson(models.filled(Table(), 0), models.teacher({"read": (5,)}), ["read"])
    for _ in range(2):  # nothing is kept of a refused trace
        with pytest.raises(RuntimeError, match=r"the same operations on tensors.*not what the student does with batch 3"):
            meta_gradient(lesson, *models.data(3), SGD(0.1), Adjoint(compile=True, backend="eager"))

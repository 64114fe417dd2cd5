import numpy as np
import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import (
    SGD,
    Adjoint,
    Batches,
    Examples,
    Hoisting,
    Implicit,
    Labelled,
    Target,
    Truncated,
    Unroll,
    meta_gradient,
)
from mechlearn.distill.forward.students import captured, student_function
from mechlearn.distill.ordinary import ordinary_steps
from mechlearn.params import parameters_of
from small_lessons import EXACT

PLAIN = Unroll()


def run(student=None, teacher=None, batches=None, validation=None, layers=("0",), strategy=PLAIN, **lesson):
    student = models.student("mlp") if student is None else student
    teacher = models.teacher({"0": (5,)}) if teacher is None else teacher
    given, held_out = models.data()
    lesson = models.lesson(student, teacher, layers, **{"alpha": 0.5, **lesson})
    return meta_gradient(lesson, batches or given, validation or held_out, SGD(0.1), strategy)


def test_a_function_of_parameters_is_the_module():
    student = models.student("batch norm")
    other = {name: tensor + 0.1 for name, tensor in parameters_of(student).items()}
    x = models.randn(3, 6, 6)
    with student_function(student, ["1", ""]) as function:
        prediction, hidden = function(other, x)
        assert torch.equal(hidden[""], prediction)
        assert torch.equal(student.get_buffer("1.running_mean"), torch.zeros(5, dtype=torch.float64))
    student.load_state_dict(other, strict=False)
    h = student[1](student[0](x))
    torch.testing.assert_close(hidden["1"], h)
    torch.testing.assert_close(prediction, student[3](student[2](h)))


class Odd(nn.Module):
    """Calls one layer twice, one never, and one that returns a pair."""

    def __init__(self):
        super().__init__()
        self.twice, self.never, self.pair = nn.Linear(6, 6), nn.Linear(6, 6), nn.GRU(6, 3)

    def forward(self, x):
        return self.pair(self.twice(self.twice(x)))[0]


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        ("twice", "second call of 'twice'"),
        ("never", "'never' was not"),
        ("pair", "Found tuple from 'pair'"),
        ("twise", "Found 'twise', which is none; did you mean 'twice'"),
    ],
)
def test_layers_that_cannot_be_supervised(layer, sentence):
    student = Odd().double()
    with pytest.raises(ValueError, match=sentence):
        run(student, models.filled(nn.Linear(4, 6), 1), layers=[layer])
    assert not any(module._forward_hooks for module in student.modules())


def test_layers_must_be_named_and_once():
    with pytest.raises(ValueError, match="at least one layer"):
        run(layers=[])
    with pytest.raises(ValueError, match="named once"):
        run(layers=["0", "0"])


def cut(batches, **parts):
    return batches._replace(**parts)


BATCHES, VALIDATION = models.data()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"batches": cut(BATCHES, privileged=BATCHES.privileged[:, :4])}, r"Found privileged data with \(n, B\) = \(4, 4\)"),
        ({"batches": cut(BATCHES, y=BATCHES.y[:2])}, r"Found labels with \(n, B\) = \(2, 5\)"),
        ({"batches": Batches(*(part[:0] for part in BATCHES))}, r"n >= 1 inner steps\. Found n = 0"),
        ({"batches": Batches(*(part[:, :0] for part in BATCHES))}, "B >= 1"),
        ({"validation": Labelled(VALIDATION.x[:0], VALIDATION.y[:0])}, "Found 0 inputs and 0 labels"),
        ({"validation": Labelled(VALIDATION.x[:3], VALIDATION.y)}, "Found 3 inputs and 7 labels"),
        ({"teacher": models.teacher({"0": (4,)})}, r"targets for a layer.*Found \(5, 4\) for '0', whose output has \(5, 5\)"),
        ({"teacher": models.teacher({"2": (5,)})}, r"layers \['0'\]\. Found \['2'\]"),
        ({"label_loss": lambda p, y: models.label_loss(p, y).mean()}, r"label loss should be unreduced.*Found shape \(\)"),
        ({"teaching_loss": lambda h, t: 1.0}, "teaching loss should be unreduced.*Found float"),
    ],
)
def test_bad_input_is_refused(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        run(**changed)


def test_gates_must_fit_too():
    class Gates(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 5).double()

        def forward(self, privileged):
            h = self.linear(privileged)
            return Target(h, h[:, :3])

    with pytest.raises(ValueError, match=r"gates for a layer.*Found \(5, 3\) for '0'"):
        run(teacher=Gates())


def test_losses_that_are_no_numbers_are_refused_at_their_step():
    bad = BATCHES.x.clone()
    bad[2, 1, 0] = float("nan")
    for strategy in (*EXACT, Truncated(), Implicit()):
        with pytest.raises(FloatingPointError, match="Found nan at inner step 3 of 4"):
            run(batches=cut(BATCHES, x=bad), strategy=strategy)
    with pytest.raises(FloatingPointError, match=r"validation loss after the unroll.*Found nan after 4"):
        run(validation=Labelled(VALIDATION.x * float("nan"), VALIDATION.y))


@pytest.mark.parametrize(
    "layer", [nn.Dropout(0.5), nn.RReLU(), nn.GRU(5, 5, 2, dropout=0.1), nn.MultiheadAttention(4, 2, dropout=0.1)]
)
def test_random_layers_are_refused_in_train_mode(layer):
    student = models.student("mlp")
    student.append(layer)
    with pytest.raises(ValueError, match=r"student should not draw random numbers.*Found '5'"):
        run(student)
    teacher = models.teacher({"0": (5,)})
    teacher.extra = layer
    with pytest.raises(ValueError, match=r"teacher should not draw random numbers.*Found 'extra'"):
        run(teacher=teacher)
    teacher.extra.eval()
    run(teacher=teacher)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.compile imports what torch itself deprecates
def test_modules_without_parameters_and_compiled_ones_are_refused():
    with pytest.raises(ValueError, match="The student should have at least one parameter"):
        run(models.student("mlp").requires_grad_(False))
    with pytest.raises(ValueError, match="The teacher should have at least one parameter"):
        run(teacher=models.teacher({"0": (5,)}).requires_grad_(False))
    student = models.student("mlp")
    student[1].compile()
    with pytest.raises(ValueError, match="Found '1' compiled"):
        run(student)


class Noisy(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = models.filled(nn.Linear(inputs, outputs), 1)

    def forward(self, x):
        return nn.functional.dropout(self.linear(x), 0.5)


def test_functional_noise_is_found_and_the_generator_put_back():
    quiet = models.student("mlp")
    student, linear, teacher = Noisy(6, 3), models.filled(nn.Linear(4, 3), 1), Noisy(4, 5)
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="The student's forward pass should not draw"):
        run(student, linear, layers=[""])
    with pytest.raises(ValueError, match="The teacher's forward pass should not draw"):
        run(quiet, teacher)
    assert torch.equal(torch.get_rng_state(), before)


class OwnNoise(nn.Module):
    """Draws from a generator of its own, which hides in a function where `hidden` is set."""

    def __init__(self, inputs, outputs, hidden=False):
        super().__init__()
        self.linear = models.filled(nn.Linear(inputs, outputs), 1)
        own = models.generator(7)
        self.drawn = (lambda shape: noise(shape, own)) if hidden else None
        self.generator = None if hidden else own

    def forward(self, x):
        h = self.linear(x)
        return h + (self.drawn(h.shape) if self.drawn else noise(h.shape, self.generator))


def noise(shape, generator):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("chunk", [None, 2])
def test_noise_from_a_generator_of_its_own_is_found(hidden, chunk):
    student, teacher = OwnNoise(6, 3, hidden), OwnNoise(4, 5, hidden)
    with pytest.raises(ValueError, match="The student's forward pass should not draw"):
        run(student, models.filled(nn.Linear(4, 3), 1), layers=[""])
    with pytest.raises(ValueError, match="The teacher's forward pass should not draw"):
        run(teacher=teacher, hoisting=Hoisting(chunk=chunk))
    for module in (student, teacher):
        if not hidden:
            assert torch.equal(module.generator.get_state(), models.generator(7).get_state())


def test_other_sources_of_noise_are_found():
    class Numpy(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.generator = models.filled(nn.Linear(4, 5), 1), np.random.default_rng(0)

        def forward(self, privileged):
            return self.linear(privileged) * self.generator.uniform()

    with pytest.raises(ValueError, match="The teacher's forward pass should not draw"):
        run(teacher=Numpy())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_forward_pass_that_repeats_up_to_rounding_is_no_noise(dtype):
    student, teacher = models.student("batch norm").to(dtype), models.teacher({"1": (5,)}).to(dtype)
    batches = Batches(BATCHES.x.to(dtype), BATCHES.privileged.to(dtype), BATCHES.y)
    run(student, teacher, batches, Labelled(VALIDATION.x.to(dtype), VALIDATION.y), layers=["1"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_functional_noise_on_a_gpu_is_found():
    batches, validation = Batches(*(part.cuda() for part in BATCHES)), Labelled(*(part.cuda() for part in VALIDATION))
    student, teacher = models.student("mlp").cuda(), Noisy(4, 5).cuda()  # may be made there, and draw their first weights
    before = torch.cuda.get_rng_state()
    with pytest.raises(ValueError, match="The teacher's forward pass should not draw"):
        run(student, teacher, batches, validation)
    assert torch.equal(torch.cuda.get_rng_state(), before)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"batches": cut(BATCHES, x=BATCHES.x.float())}, r"student's inputs.*Found torch\.float32 beside torch\.float64"),
        ({"batches": cut(BATCHES, privileged=BATCHES.privileged.float())}, r"teacher's inputs.*Found torch\.float32"),
        ({"validation": Labelled(VALIDATION.x.float(), VALIDATION.y)}, r"student's inputs.*Found torch\.float32 beside"),
    ],
)
def test_inputs_in_another_precision_are_refused(changed, sentence):
    with pytest.raises(TypeError, match=sentence):
        run(**changed)


class Casting(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = models.filled(nn.Linear(4, 5), 1)

    def forward(self, privileged):
        return self.linear(privileged.double())


def test_a_module_that_converts_its_inputs_is_fine():
    run(teacher=Casting(), batches=cut(BATCHES, privileged=BATCHES.privileged.float()))


class Behind(nn.Module):
    """A supervised layer, and what comes after it in place or not; inputs are shifted likewise."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place
        self.layer, self.norm, self.head = nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)

    def forward(self, x):
        if self.in_place:
            x -= 0.5
            h = self.layer(x)
            h.view(-1).mul_(2)
            h += 1
        else:
            h = self.layer(x - 0.5) * 2 + 1
        return self.head(torch.tanh(self.norm(h)))


class Shifted(nn.Module):
    """A teacher that shifts its inputs, in place or not."""

    def __init__(self, in_place):
        super().__init__()
        self.layer, self.in_place = nn.Linear(4, 5), in_place

    def forward(self, x):
        if self.in_place:
            x -= 0.5
            return self.layer(x)
        return self.layer(x - 0.5)


@pytest.mark.parametrize(
    "strategy", [*EXACT, Truncated(2), Implicit("cg", 3, damping=1.0), Adjoint(compile=True, backend="eager")]
)
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_works_in_place_changes_neither_targets_nor_data(strategy):
    found = []
    for in_place in (False, True):
        batches, validation = models.data()
        student, teacher = models.filled(Behind(in_place), 0), models.filled(Shifted(in_place), 1)
        found.append(run(student, teacher, batches, validation, ["layer"], strategy, hoisting=Hoisting(chunk=3)))
        assert torch.equal(batches.x, models.data()[0].x)
        assert torch.equal(batches.privileged, models.data()[0].privileged)
        assert torch.equal(validation.x, models.data()[1].x)
    assert all(torch.equal(gradient, found[1].gradients[name]) for name, gradient in found[0].gradients.items())
    assert torch.equal(found[0].training_losses, found[1].training_losses)


def test_ordinary_steps_see_what_a_layer_returned_and_count_a_pass_once():
    found = []
    for in_place in (False, True):
        student, teacher = models.filled(Behind(in_place), 0), models.filled(Shifted(in_place), 1)
        given = models.lesson(student, teacher, ["layer"])
        record = ordinary_steps(given, Examples(*models.data()[0]), torch.optim.SGD(student.parameters(), 0.1))
        found.append((record, student.state_dict()))
    assert found[0][0] == found[1][0]
    assert all(torch.equal(tensor, found[1][1][name]) for name, tensor in found[0][1].items())


def test_outputs_that_nothing_overwrites_are_not_copied():
    with captured(student := models.student("mlp"), ["0"]) as found:
        for _ in range(2):
            found.passed(student, models.randn(0, 2, 6))
            assert found.hidden["0"].grad_fn.name() == "AddmmBackward0"


class Sometimes(Behind):
    def forward(self, x):
        self.in_place = bool(x[0, 0] > 0)
        return super().forward(x)


def test_what_is_overwritten_for_some_batches_only_is_refused():
    student = models.filled(Sometimes(False), 0)
    with captured(student, ["layer"]) as found:
        found.passed(student, -torch.ones(2, 6, dtype=torch.float64))
        with pytest.raises(ValueError, match=r"overwrote what 'layer' returns, and the first did not\. Turn off"):
            found.passed(student, torch.ones(2, 6, dtype=torch.float64))

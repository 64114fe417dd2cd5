"""What would be wrong without a word is refused, by a sentence that names the cause, and nothing is changed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy

import distill_models as models
from cpu_alone import cpu_alone
from mechlearn.distill import (
    SGD,
    Adam,
    Batches,
    Distillation,
    GatedSquaredError,
    Hoisting,
    KullbackLeibler,
    Labelled,
    Split,
    Target,
    TimeMixture,
    Truncated,
    UnitsTeacher,
    Unrolling,
    finite_differences,
    forecast_memory,
    inner_from,
    split_rows,
    state_from,
    teach,
)
from mechlearn.losses import BinaryCrossEntropy
from small_lessons import EXACT, derivative, examples, lesson, make


@pytest.mark.parametrize("strategy", [*EXACT, Truncated()])
@pytest.mark.parametrize(("part", "name"), [("x", "the inputs x"), ("privileged", r"the privileged x\*")])
def test_data_that_are_no_numbers_are_named(strategy, part, name):
    batches, validation = models.data()
    getattr(batches, part)[2, 1, 0] = float("nan")
    with pytest.raises(
        FloatingPointError, match=rf"at inner step 3 of 4\. The cause is in the data: {name}, where 1 of"
    ) as caught:
        derivative(lesson(teacher=models.teacher({"0": (5,)}, norm=False)), (batches, validation), strategy=strategy)
    assert "rate" not in str(caught.value)


def test_validation_data_labels_and_students_that_are_no_numbers_are_named():
    batches, validation = models.data()
    with pytest.raises(FloatingPointError, match=r"validation loss.*The cause is in the data: the inputs x, where 42 of"):
        derivative(data=(batches, Labelled(validation.x * float("nan"), validation.y)))
    squares = {"label_loss": lambda p, y: (p[:, 0] - y).square()}
    y = models.randn(0, 4, 5)
    y[1, 2] = float("inf")
    with pytest.raises(FloatingPointError, match=r"step 2 of 4.*the labels y, where 1 of"):
        derivative(lesson(**squares), (batches._replace(y=y), validation._replace(y=models.randn(1, 7))))
    student = models.student("mlp")
    with torch.no_grad():
        student[0].bias[0] = float("nan")
    with pytest.raises(FloatingPointError, match="the student's parameters before the step, where 1 of"):
        derivative(lesson(student=student))
    with pytest.raises(FloatingPointError, match=r"Lower the inner learning rate or alpha\."):
        derivative(lesson(teacher=models.teacher({"0": (5,)}, norm=False)), inner=SGD(1e200))


@cpu_alone("a loss of probabilities that refuses logits; a GPU's asserts it, after which no test of the process works")
@pytest.mark.parametrize("strategy", EXACT)
def test_logits_given_to_a_loss_of_probabilities_are_named(strategy):
    student = models.filled(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)), 0, scale=3.0)
    batches, validation = models.data()
    data = batches._replace(y=(batches.y > 0).double()), validation._replace(y=(validation.y > 0).double())
    with pytest.raises(ValueError, match=r"in \[0, 1\]\. Found predictions from -.* to .*Put a sigmoid"):
        derivative(lesson(student=student, label_loss=lambda p, y: binary_cross_entropy(p[:, 0], y, reduction="none")), data)
    ours = BinaryCrossEntropy()
    with pytest.raises(FloatingPointError, match=r"The cause is in the label loss.*Are they logits\?"):
        derivative(lesson(student=student, label_loss=lambda p, y: ours(p, y[:, None])), data, strategy=strategy)


class Detaching(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = models.filled(nn.Linear(4, 5), 1)

    def forward(self, privileged):
        return self.linear(privileged).detach()


class Shut(nn.Module):
    """A student whose supervised layer is out of the optimiser's reach."""

    def __init__(self):
        super().__init__()
        self.read, self.head = models.filled(nn.Linear(6, 5), 0), models.filled(nn.Linear(5, 3), 1)

    def forward(self, x):
        with torch.no_grad():
            h = self.read(x)
        return self.head(h)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"teacher": Detaching()}, "The teacher's targets should depend on its trainable parameters"),
        ({"teacher": Detaching(), "hoisting": Hoisting(chunk=2)}, "The teacher's targets should depend on its trainable"),
        ({"label_loss": lambda p, y: models.label_loss(p, y).detach()}, "The label loss should depend on the student's"),
        ({"label_loss": lambda p, y: (p.argmax(1) != y).double()}, "The label loss should depend on the student's"),
        ({"teaching_loss": lambda h, t: (h["0"].detach() - t["0"].value).square().mean(1)}, "on the student's activations"),
        ({"teaching_loss": lambda h, t: (h["0"] - t["0"].value.detach()).square().mean(1)}, "on the teacher's targets"),
        (
            {"student": Shut(), "teacher": models.teacher({"read": (5,)}), "layers": ["read"]},
            r"A supervised layer should depend.*none of \['read'\] does",
        ),
    ],
)
def test_a_meta_gradient_of_zero_is_refused(changed, sentence):
    for strategy in EXACT:
        with pytest.raises(ValueError, match=sentence):
            derivative(lesson(**changed), strategy=strategy)


def test_the_callers_grad_mode_is_no_trouble():
    expected = derivative().gradients
    with torch.no_grad():
        assert models.largest_error(derivative().gradients, expected) == 0
        make().step(2)
    with torch.inference_mode(), pytest.raises(RuntimeError, match=r"outside torch\.inference_mode"):
        derivative()


def test_an_optimiser_of_another_model_is_refused():
    other = models.student("mlp")
    optimizer = torch.optim.Adam(other.parameters(), 0.01)
    with pytest.raises(ValueError, match=r"`student_optimizer` should hold all trainable parameters"):
        make(student_optimizer=optimizer)
    with pytest.raises(ValueError, match=r"`optimizer` should hold all trainable parameters"):
        state_from(optimizer, models.student("mlp"), Adam())
    with pytest.raises(ValueError, match=r"`optimizer` should hold all trainable parameters"):
        teach(lesson(), examples(), optimizer, steps=2, batch_size=5, generator=models.generator())
    distillation = make()
    distillation.student_optimizer = distillation.meta_optimizer = optimizer
    for call in (lambda: distillation.student_steps(1), distillation.meta_step):
        with pytest.raises(ValueError, match=r"_optimizer` should hold all trainable parameters"):
            call()


@pytest.mark.parametrize("rate", [float("nan"), -0.1])
def test_rates_that_were_changed_since_are_looked_at(rate):
    distillation = make()
    distillation.student_optimizer.param_groups[0]["lr"] = rate
    with pytest.raises(ValueError, match=r"`student_optimizer's learning rate` should be finite and at least 0"):
        distillation.student_steps(1)
    distillation.meta_optimizer.param_groups[0]["lr"] = rate
    with pytest.raises(ValueError, match=r"`meta_optimizer's learning rate` should be finite and at least 0"):
        distillation.meta_step()


BATCHES, VALIDATION = models.data()


def sharing():
    shared = nn.Linear(4, 5)
    student = nn.Sequential(shared, nn.Linear(5, 3))
    return models.lesson(student, UnitsTeacher(nn.Sequential(shared, nn.Linear(5, 5)), {"0": 5}), ["0"])


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: lesson(alpha=0.0), ValueError, r"`alpha` should be positive and finite.*Found 0\.0"),
        (lambda: lesson(alpha=-1.0), ValueError, r"`alpha` should be positive and finite.*Found -1\.0"),
        (lambda: lesson(alpha=float("nan")), ValueError, r"`alpha` should be positive and finite.*Found nan"),
        (lambda: lesson(alpha=torch.tensor(-1.0)), ValueError, r"`alpha` should be finite and at least 0.*Found -1\.0"),
        (lambda: lesson(alpha=torch.tensor(float("nan"))), ValueError, r"`alpha` should be finite and at least 0.*Found nan"),
        (lambda: lesson(alpha="1"), TypeError, r"`alpha` should be a number.*Found '1' of type str"),
        (lambda: lesson(alpha=None), TypeError, r"`alpha` should be a number"),
        (lambda: lesson(alpha=torch.tensor([1.0, 2.0])), ValueError, r"`alpha` should have the shape \(\)\. Found \(2,\)"),
        (lambda: lesson(alpha=torch.tensor([2.0])), ValueError, r"`alpha` should have the shape \(\)\. Found \(1,\)"),
        (lambda: lesson(alpha_relative_to="labels"), ValueError, '`alpha_relative_to` should be None, "loss" or "gradient"'),
        (lambda: models.lesson(nn.Linear, models.teacher({"0": (5,)}), ["0"]), TypeError, "`student` should be a torch.nn.Mod"),
        (lambda: models.lesson(models.student("mlp"), None, ["0"]), TypeError, "`teacher` should be a torch.nn.Module"),
        (lambda: lesson(student=nn.Sequential(nn.LazyLinear(3))), ValueError, r"should have their shapes\. Found '0.weight'"),
        (sharing, ValueError, r"the teacher's 'network\.0\.weight', which is the student's '0\.weight'"),
        (lambda: lesson(layers="0"), TypeError, r"a list of names.*Found '0' of type str\. Write \['0'\]"),
        (lambda: lesson(layers=[0]), TypeError, r"a list of names"),
        (lambda: lesson(teaching_loss=GatedSquaredError), TypeError, "`teaching_loss` should be a function.*an instance"),
        (lambda: lesson(label_loss="mse"), TypeError, "`label_loss` should be a function"),
        (lambda: lesson(hoisting=4), TypeError, "`hoisting` should be a mechlearn.distill.Hoisting"),
        (lambda: make(generator=None), TypeError, r"`generator` should be a torch.Generator\. Found None"),
        (lambda: split_rows(40, 0.3, None), TypeError, r"`generator` should be a torch.Generator\. Found None"),
        (lambda: split_rows(40, "0.3", models.generator()), TypeError, r"`validation` should be a number"),
        (lambda: split_rows(40.5, 0.3, models.generator()), TypeError, r"`count` should be a whole number"),
        (lambda: TimeMixture(3, {"0": 2}, scale=0.0, generator=None), TypeError, "`generator` should be a torch.Generator"),
        (lambda: TimeMixture(3, {"0": 2.5}, scale=0.0, generator=models.generator()), TypeError, "should be a whole number"),
        (lambda: UnitsTeacher(nn.Linear, {"0": 2}), TypeError, "`network` should be a torch.nn.Module"),
        (lambda: make(unrolling=Unrolling(SGD(0.1), 2, 6, validation_size=13)), ValueError, "Found 13 of 12"),
        (lambda: make(unrolling=SGD(0.1)), TypeError, "`unrolling` should be a mechlearn.distill.Unrolling"),
        (lambda: make(split=0.3), TypeError, "`split` should be a mechlearn.distill.Split.*split_rows"),
        (lambda: make(split=Split(list(range(30)), list(range(30, 40)))), TypeError, "`split.training` should be a tensor"),
        (lambda: make(student_optimizer=0.01), TypeError, "`student_optimizer` should be a torch optimiser"),
        (
            lambda: make(meta_optimizer=torch.optim.Adam),
            TypeError,
            "`meta_optimizer` should be a torch optimiser.*the class Ad",
        ),
        (lambda: make(examples=tuple(examples())), TypeError, "`examples` should be mechlearn.distill.Examples.*type tuple"),
        (lambda: make(examples=None), TypeError, "`examples` should be mechlearn.distill.Examples.*Found None"),
        (
            lambda: make(examples=examples()._replace(x=np.zeros((40, 6)))),
            TypeError,
            "`examples.x` should be a tensor.*ndarray",
        ),
        (lambda: make(examples=examples()._replace(x={"a": 1})), TypeError, r"`examples.x\['a'\]` should be.*type int"),
        (lambda: Distillation("lesson", *[None] * 6), TypeError, "`lesson` should be a mechlearn.distill.Lesson"),
        (lambda: make().student_steps(2.5), TypeError, "`count` should be a whole number. Found 2.5"),
        (lambda: make().step(2.5), TypeError, "`student_steps` should be a whole number. Found 2.5"),
        (lambda: Unrolling(SGD(0.1), 2.5, 6), TypeError, "`steps` should be a whole number. Found 2.5"),
        (lambda: Hoisting(chunk=2.5), TypeError, "`chunk` should be a whole number.*Found 2.5"),
        (lambda: Hoisting(autocast="bfloat16"), TypeError, r"`autocast` should be a torch\.dtype"),
        (lambda: GatedSquaredError(reduction="average"), ValueError, '`reduction` should be "mean" or "sum"'),
        (lambda: KullbackLeibler(temperature=0.0), ValueError, "`temperature` should be positive"),
        (lambda: KullbackLeibler(direction="reverse"), ValueError, "`direction` should be"),
        (
            lambda: derivative(data=(tuple(BATCHES), VALIDATION)),
            TypeError,
            r"`batches` should be mechlearn.distill.Batches\(x, pr",
        ),
        (
            lambda: derivative(data=(BATCHES, tuple(VALIDATION))),
            TypeError,
            r"`validation` should be mechlearn.distill.Labelled",
        ),
        (lambda: derivative(data=(Batches, VALIDATION)), TypeError, r"`batches` should be.*the class Batches itself"),
        (
            lambda: derivative(data=(Batches(*map(np.asarray, BATCHES)), VALIDATION)),
            TypeError,
            "`batches.x` should be a tensor",
        ),
        (lambda: derivative(data=(BATCHES, Labelled(VALIDATION.x, torch.tensor(1)))), ValueError, "validation.y.*a scalar"),
        (lambda: derivative(given="lesson"), TypeError, "`lesson` should be a mechlearn.distill.Lesson"),
        (lambda: derivative(start=3), TypeError, "`start` should be a mechlearn.distill.InnerState"),
        (lambda: derivative(start=Adam().init({})), ValueError, r"`start` should hold the moments \[\] of the inner"),
        (lambda: derivative(inner=torch.optim.Adam), TypeError, "`inner` should be an inner optimiser"),
        (lambda: forecast_memory(lesson(), tuple(BATCHES), VALIDATION, SGD(0.1)), TypeError, "`batches` should be"),
        (lambda: inner_from(SGD(0.1)), TypeError, "`optimizer` should be an optimiser of torch.optim"),
        (lambda: state_from(SGD(0.1), models.student("mlp"), SGD(0.1)), TypeError, "`optimizer` should be a torch optimiser"),
        (
            lambda: finite_differences(None, models.teacher({"0": (5,)}), generator=models.generator()),
            TypeError,
            "`compute` should be a function",
        ),
        (
            lambda: finite_differences(abs, models.teacher({"0": (5,)}), generator=models.generator(), directions=1.5),
            TypeError,
            "`directions` should be a whole number",
        ),
        (
            lambda: teach(lesson(), examples(), None, steps=2, batch_size=5, generator=models.generator()),
            TypeError,
            "`optimizer` should be a torch optimiser",
        ),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_is_none_is_said_in_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


@pytest.mark.usefixtures("as_installed")
def test_a_module_s_optimiser_that_wants_a_function_is_refused():
    given = lesson()
    with pytest.raises(TypeError, match="Found LBFGS"):
        make(given, meta_optimizer=torch.optim.LBFGS(given.teacher.parameters()))


def test_trajectories_of_another_length_are_refused():
    with pytest.raises(ValueError, match="trajectories of 3 frames"):
        TimeMixture(3, {"0": 2}, scale=0.0, generator=models.generator()).double()(models.randn(0, 5, 4, 6))


def test_a_divergence_of_one_logit_is_refused():
    with pytest.raises(ValueError, match=r"at least two logits.*shape \(5,\)"):
        KullbackLeibler()({"a": models.randn(0, 5)}, {"a": Target(models.randn(1, 5))})


def test_a_coefficient_that_is_learned_or_scheduled_is_taken():
    alpha = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    given = lesson(alpha=alpha)
    assert given.alpha is alpha
    for one in (torch.tensor(0.0), torch.tensor(1), torch.ones((), device="meta")):
        assert lesson(alpha=one).alpha is one
    assert torch.func.vmap(lambda one: replace(given, alpha=one).alpha * 2)(torch.ones(2)).tolist() == [2, 2]

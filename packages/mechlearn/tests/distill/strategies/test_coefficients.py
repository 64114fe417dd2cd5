"""alpha relative to the label loss: whatever the two losses are multiplied by, the student learns the same."""

from dataclasses import replace

import pytest
import torch

import distill_models as models
from mechlearn.distill import SGD, Adjoint, Checkpoint, Examples, HiddenSquaredError, Truncated, Unroll, meta_gradient, teach
from mechlearn.distill.populations.stacked import coefficients
from mechlearn.distill.strategies.coefficients import coefficient as measured


def lesson(relative_to, label=1.0, teaching=1.0, alpha=0.7):
    def label_loss(prediction, y):
        return label * models.label_loss(prediction, y)

    def teaching_loss(hidden, targets):
        return teaching * HiddenSquaredError("sum")(hidden, targets)

    return models.lesson(
        models.student("mlp"), models.teacher({"0": (5,), "2": (4,)}), ["0", "2"], alpha=alpha, label_loss=label_loss,
        teaching_loss=teaching_loss, alpha_relative_to=relative_to,
    )  # fmt: skip


@pytest.mark.parametrize("strategy", [Unroll(), Checkpoint(), Adjoint(), Truncated(2)])
@pytest.mark.parametrize("relative_to", ["loss", "gradient"])
def test_factors_of_the_losses_change_nothing(relative_to, strategy):
    plain = meta_gradient(lesson(relative_to), *models.data(), SGD(0.1, 0.5), strategy)
    scaled = meta_gradient(lesson(relative_to, 8.0, 0.25), *models.data(), SGD(0.1 / 8, 0.5), strategy)
    assert models.largest_error(scaled.student, plain.student) < 1e-10
    assert models.largest_error({k: g / 8 for k, g in scaled.gradients.items()}, plain.gradients) < 1e-10


def coefficient(relative_to, alpha=0.7):
    """As the definition says, with plain autograd on the first batch."""
    given, batches = lesson(None), models.data()[0]
    h = given.student[0](batches.x[0])
    k = given.student[2](given.student[1](h))
    label = models.label_loss(given.student[3:](k), batches.y[0]).mean()
    targets = given.teacher(batches.privileged[0])
    teaching = sum((a - targets[n].value.detach()).square().sum(1) for n, a in (("0", h), ("2", k))).mean()
    if relative_to == "loss":
        return alpha * float((label / teaching).detach())
    parameters = list(given.student.parameters())
    norms = [
        torch.cat(
            [g.flatten() for g in torch.autograd.grad(loss, parameters, retain_graph=True, materialize_grads=True)]
        ).norm()
        for loss in (label, teaching)
    ]
    return alpha * float((norms[0] / norms[1]).detach())


@pytest.mark.parametrize("relative_to", ["loss", "gradient"])
def test_it_is_the_coefficient_that_the_first_batch_gives(relative_to):
    found = meta_gradient(lesson(relative_to), *models.data(), SGD(0.1))
    printed = meta_gradient(lesson(None, alpha=coefficient(relative_to)), *models.data(), SGD(0.1))
    assert models.largest_error(found.gradients, printed.gradients) < 1e-10


@pytest.mark.parametrize("relative_to", ["loss", "gradient"])
def test_ordinary_steps_measure_it_on_their_first_batch(relative_to):
    students = []
    for label in (1.0, 8.0):
        given = lesson(relative_to, label, 3.0)
        examples = Examples(models.randn(0, 40, 6), models.randn(1, 40, 4), models.labels(2, 40))
        optimizer = torch.optim.SGD(given.student.parameters(), 0.1 / label)
        teach(given, examples, optimizer, steps=5, batch_size=6, generator=models.generator(3))
        students.append({name: p.detach() for name, p in given.student.named_parameters()})
    assert models.largest_error(*students) < 1e-10


def test_the_compiled_steps_are_kept_while_the_coefficient_moves(monkeypatch):
    from mechlearn.distill.strategies import compiled

    made = []
    make = compiled._compile
    monkeypatch.setattr(compiled, "_compile", lambda *a: made.append(1) or make(*a))
    given = lesson("loss")
    strategy = Adjoint(compile=True, backend="eager")
    for seed in (2, 9):
        found = meta_gradient(given, *models.data(seed=seed), SGD(0.1), strategy)
        exact = meta_gradient(given, *models.data(seed=seed), SGD(0.1))
        assert models.largest_error(found.gradients, exact.gradients) < 1e-10
    assert len(made) == 1


def test_a_teacher_that_is_content_gives_nothing_to_measure_by():
    given = lesson("loss", teaching=0.0)
    with pytest.raises(FloatingPointError, match=r"Found 1\.\d+ for the label loss and 0 for the teaching loss"):
        meta_gradient(given, *models.data(), SGD(0.1))
    assert replace(given, alpha_relative_to=None).alpha == 0.7


def test_norms_of_half_gradients_are_added_in_float32():
    given = lesson("gradient", alpha=2.0)
    p = torch.ones(2, 3, dtype=torch.float16, requires_grad=True)
    found = measured(given, (300 * p).sum(), p.sum(), [p])  # 300^2 is beyond a half number
    assert float(found) == pytest.approx(600)
    found = coefficients(given, (300 * p).sum(1), p.sum(1), {"p": p})
    assert found.tolist() == pytest.approx([600, 600])

import pytest
import torch
from torch.nn.functional import cross_entropy

import privileged_oracles as oracles
from mechlearn_zoo.methods.privileged import generalised_distillation_loss


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


Y = torch.tensor([0, 2, 1, 1, 0])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("imitation", [0.0, 0.3, 1.0])
def test_labels_and_softened_predictions(temperature, imitation):
    prediction, teacher = draw(0, 5, 3), 3 * draw(1, 5, 3)
    found = generalised_distillation_loss(prediction, Y, teacher, temperature=temperature, imitation=imitation)
    assert found.tolist() == pytest.approx(oracles.generalised(prediction, Y, teacher, temperature, imitation))


def test_the_teacher_is_a_constant_and_without_imitation_there_is_none():
    prediction, teacher = draw(0, 5, 3).requires_grad_(), draw(1, 5, 3).requires_grad_()
    generalised_distillation_loss(prediction, Y, teacher, temperature=2.0, imitation=0.5).sum().backward()
    assert teacher.grad is None
    assert prediction.grad.any()
    plain = generalised_distillation_loss(prediction, Y, teacher, temperature=2.0, imitation=0.0)
    torch.testing.assert_close(plain, cross_entropy(prediction, Y, reduction="none"))


@pytest.mark.parametrize(
    ("changed", "kind", "sentence"),
    [
        ({"temperature": 0.0}, ValueError, "`temperature` should be positive"),
        ({"imitation": 1.5}, ValueError, r"`imitation` should lie in \[0, 1\]"),
        ({"teacher": draw(1, 5, 2)}, ValueError, r"logits \(B, C\).*Found \(5, 3\), \(5, 2\) and \(5,\)"),
        ({"y": Y[:4]}, ValueError, "Give both the same classes"),
        ({"y": Y.double()}, TypeError, r"`y` should hold whole numbers\. Found torch\.float64\. Pass the classes' numbers"),
        ({"teacher": None}, TypeError, "`teacher` should be a tensor"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_does_not_fit(changed, kind, sentence):
    given = {"prediction": draw(0, 5, 3), "y": Y, "teacher": draw(1, 5, 3), "temperature": 1.0, "imitation": 0.5, **changed}
    with pytest.raises(kind, match=sentence):
        generalised_distillation_loss(**given)


def test_labels_of_any_whole_type_and_an_empty_batch():
    given = {"temperature": 1.0, "imitation": 0.5}
    prediction, teacher = draw(0, 5, 3), draw(1, 5, 3)
    found = generalised_distillation_loss(prediction, Y, teacher, **given)
    assert torch.equal(generalised_distillation_loss(prediction, Y.int(), teacher, **given), found)
    assert generalised_distillation_loss(prediction[:0], Y[:0], teacher[:0], **given).shape == (0,)


@pytest.mark.parametrize("y", [[-100, 0], [0, 2]])
@pytest.mark.usefixtures("as_installed")
def test_a_label_of_no_class_costs_something_to_nobody(y):
    zeros = torch.zeros(2, 2)
    with pytest.raises(ValueError, match=r"`y` should be numbers from 0 to 1.*Pass the classes' numbers"):
        generalised_distillation_loss(zeros, torch.tensor(y), zeros, temperature=1.0, imitation=0.5)


@pytest.mark.parametrize("imitation", [0.0, 0.5, 1.0])
def test_a_class_that_both_exclude_costs_nothing(imitation):
    out = torch.tensor([[-torch.inf, 0.0, 0.0]])
    given = {"temperature": 2.0, "imitation": imitation}
    prediction = (draw(0, 1, 3) + out).requires_grad_()
    found = generalised_distillation_loss(prediction, torch.tensor([1]), draw(1, 1, 3) + out, **given)
    wanted = generalised_distillation_loss(prediction[:, 1:], torch.tensor([0]), draw(1, 1, 3)[:, 1:], **given)
    torch.testing.assert_close(found, wanted)
    (gradient,) = torch.autograd.grad(found.sum(), prediction)
    assert gradient.isfinite().all()
    # A label that the student excludes costs what it does where labels count, and nothing where they do not.
    found = generalised_distillation_loss(prediction, torch.tensor([0]), draw(1, 1, 3) + out, **given)
    assert bool(found.isinf()) == (imitation < 1)


def test_the_least_temperatures_leave_the_greatest():
    prediction, y = draw(0, 1, 3).float(), torch.tensor([0])
    found = generalised_distillation_loss(prediction, y, torch.tensor([[1.0, 3.0, 2.0]]), temperature=1e-39, imitation=1.0)
    torch.testing.assert_close(found, -prediction.log_softmax(1)[:, 1])

"""Students with attention: its fast kernels have no second derivative, so that their formula is taken."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import distill_models as models
import distill_oracles as oracles
from mechlearn.distill import SGD, Adjoint, Batches, Checkpoint, HiddenSquaredError, Implicit, Truncated, Unroll, meta_gradient


class Attending(nn.Module):
    """Six numbers as three tokens of two, which attend to each other by torch's own function."""

    def __init__(self):
        super().__init__()
        self.enter, self.mix, self.head = nn.Linear(2, 12), nn.Linear(4, 4), nn.Linear(12, 3)

    def forward(self, x):
        q, k, v = (part[:, None] for part in self.enter(x.view(-1, 3, 2)).chunk(3, -1))
        return self.head(self.mix(scaled_dot_product_attention(q, k, v)[:, 0]).flatten(1))


class Encoding(nn.Module):
    """The same by torch's encoder layer."""

    def __init__(self):
        super().__init__()
        self.enter, self.head = nn.Linear(2, 4), nn.Linear(12, 3)
        self.mix = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, activation="gelu")

    def forward(self, x):
        return self.head(self.mix(self.enter(x.view(-1, 3, 2))).flatten(1))


def literal(student, teacher, batches, validation):
    """The oracle's, under the formula's kernel."""
    copies = oracles.Copies(teacher.network, {"mix": (3, 4)}, gated=False)
    rows = list(zip(*batches, strict=True))

    def by_name(h, targets):
        return sum((h[name] - targets[name]).square().flatten(1).sum(1) for name in h)

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return oracles.meta_gradient(
            student, ["mix"], copies, rows, validation, lambda *a: oracles.sgd(*a, lr=0.1), 0.7, by_name, models.label_loss
        )[0]


@pytest.mark.parametrize("kind", [Attending, Encoding])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_student_with_attention_is_plain_reverse_mode_in_every_strategy(kind, mode):
    student = getattr(models.filled(kind(), 0, scale=0.7), mode)()
    teacher = models.teacher({"mix": (3, 4)})
    batches, validation = models.data()
    lesson = models.lesson(student, teacher, ["mix"], teaching_loss=HiddenSquaredError("sum"))
    expected = literal(student, teacher, batches, validation)
    for strategy in (Unroll(), Checkpoint(), Adjoint(), Truncated(last=4)):
        found = meta_gradient(lesson, batches, validation, SGD(0.1), strategy)
        assert models.largest_error(found.gradients, expected) < 1e-10
    assert meta_gradient(lesson, batches, validation, SGD(0.1), Implicit()).nonfinite == 0


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.compile imports what torch itself deprecates
def test_a_student_with_attention_can_be_traced():
    student, teacher = models.filled(Attending(), 0, scale=0.7), models.teacher({"mix": (3, 4)})
    lesson = models.lesson(student, teacher, ["mix"])
    plain = meta_gradient(lesson, *models.data(), SGD(0.1))
    traced = meta_gradient(lesson, *models.data(), SGD(0.1), Adjoint(compile=True, backend="eager"))
    assert models.largest_error(traced.gradients, plain.gradients) < 1e-10


def test_single_precision_works_too():
    student, teacher = models.filled(Encoding(), 0, scale=0.7).float(), models.teacher({"mix": (3, 4)}).float()
    batches, validation = models.data()
    batches = Batches(batches.x.float(), batches.privileged.float(), batches.y)
    validation = validation._replace(x=validation.x.float())
    assert meta_gradient(models.lesson(student, teacher, ["mix"]), batches, validation, SGD(0.1)).nonfinite == 0

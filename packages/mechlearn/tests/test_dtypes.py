"""Every type of number at every door that computes with a user's: the definition's value, or a sentence.

Values are small multiples of 1/4, which every real type here holds; the definition is computed of them in float64.
"""

import re
from itertools import pairwise

import pytest
import torch
from torch import nn

import distill_oracles
import oracles
from definition_oracles import stacks_of
from mechlearn import distill, skips, surfaces
from mechlearn.agreement import AdamForm, Agreement, AndMask, TemporalAndMaskAdam, combine
from mechlearn.losses import SquaredError
from mechlearn.trajectories import Trajectories
from temporal_oracles import Literal1, temporal_and_mask_adam

NEAR = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 6e-2}
"""The floats that torch computes in, and how near a value is to the definition's, beside the largest."""

DTYPES = [
    *NEAR, torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz,
    torch.complex32, torch.complex64, torch.complex128, torch.bool,
    torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
]  # fmt: skip

IDS = torch.tensor([0, 0, 1, 1, 2, 2])


def quarters(seed, *shape):
    return torch.randint(-6, 7, shape, generator=torch.Generator().manual_seed(seed)).double() / 4


def linear(dtype, inputs=3, outputs=2, seed=0):
    """A layer of a type, or of float32 where torch computes in none such."""
    layer = nn.Linear(inputs, outputs).double()
    with torch.no_grad():
        layer.weight.copy_(quarters(seed, outputs, inputs))
        layer.bias.copy_(quarters(seed + 1, outputs))
    return layer.to(dtype if dtype in NEAR or dtype in (torch.complex64, torch.complex128) else torch.float32)


def losses_of(output):
    return (output - 1).abs().square().mean(1)


def agreement(dtype):
    """Of a model of the type; where torch has none such, of losses of the type."""
    model, x = linear(dtype), quarters(2, 6, 3)
    losses = losses_of(model(x.to(model.weight.dtype)))
    if model.weight.dtype == torch.float32:
        losses = losses.to(dtype)
    Agreement(model, AndMask(0.6)).backward(losses, IDS)
    wide = linear(torch.float64)
    stacks = stacks_of(losses_of(wide(x)), IDS, list(wide.parameters()))
    return [p.grad for p in model.parameters()], [oracles.combine("and-mask", stack, "0.6")[0] for stack in stacks]


def stacked(dtype):
    """Of environments' gradients side by side."""
    gradients = quarters(3, 3, 4, 2)
    return [combine(AndMask(0.6), gradients.to(dtype)).gradient], [oracles.combine("and-mask", gradients, "0.6")[0]]


def temporal(dtype):
    """Of a parameter and its gradients."""
    options = {"lr": 0.25, "betas": (0.5, 0.5, 0.5), "threshold": 0.2, "weight_decay": 0.0}
    form = {"eps": 0.25, "bias_correction": "none", "eps_inside_root": False}
    floats = dtype.is_floating_point or dtype.is_complex
    parameter = nn.Parameter(quarters(4, 5).to(dtype), requires_grad=floats)
    optimizer = TemporalAndMaskAdam([parameter], **options, form=AdamForm(**form))
    state = Literal1.of(quarters(4, 5))
    for step in range(2):
        parameter.grad = quarters(5 + step, 5).to(dtype) if floats else None
        optimizer.step()
        state, _ = temporal_and_mask_adam(state, quarters(5 + step, 5), **options, **form, maximize=False)
    return [parameter.detach()], [state.theta if floats else quarters(4, 5).to(dtype).double()]  # no gradient, no step


def skipping(dtype):
    """Of frames, and of a model where torch computes in the type: steps of 1, a step of gradient descent."""
    model, frames = linear(dtype, 2), quarters(7, 4, 2).to(dtype).to(torch.float64)
    optimizer = torch.optim.SGD(model.parameters(), 0.25)
    own = frames.to(dtype)
    found = skips.training_step(skips.Dynamics(model, SquaredError()), Trajectories.from_list([own]), skips.Fixed(1), optimizer)
    wide = linear(torch.float64, 2)
    loss = torch.stack([(wide(one) - other).square().mean() for one, other in pairwise(frames)]).mean()
    gradients = torch.autograd.grad(loss, list(wide.parameters()))
    moved = [p.detach() - 0.25 * g for p, g in zip(wide.parameters(), gradients, strict=True)]
    return [*(p.detach() for p in model.parameters()), found.loss.detach()], [*moved, loss.detach()]


class Targets(nn.Module):
    """Of privileged data, targets for the student's layer."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, privileged):
        return {"0": self.network(privileged)}


def lesson_of(dtype):
    student = nn.Sequential(linear(dtype, 3, 2, 0), linear(dtype, 2, 1, 2))
    return student, Targets(linear(dtype, 2, 2, 4))


def squared(prediction, y):
    return (prediction[:, 0] - y).square()


def distilling(dtype):
    """Of inputs, and of modules where torch computes in the type: the gradient through two students' steps."""
    student, teacher = lesson_of(dtype)
    x, privileged, y = quarters(8, 2, 4, 3) / 4, quarters(9, 2, 4, 2) / 4, quarters(10, 2, 4) / 4
    lesson = distill.Lesson(
        student, teacher, ["0"], teaching_loss=distill.HiddenSquaredError("sum"), label_loss=squared, alpha=0.5
    )
    batches = distill.Batches(x.to(dtype), privileged.to(dtype), y.to(dtype))
    found = distill.meta_gradient(lesson, batches, distill.Labelled(x[0].to(dtype), y[1].to(dtype)), distill.SGD(0.125))
    wide, wide_teacher = lesson_of(torch.float64)
    gradients, loss, _ = distill_oracles.meta_gradient(
        wide, ["0"], wide_teacher, list(zip(x, privileged, y, strict=True)), (x[0], y[1]),
        lambda *given: distill_oracles.sgd(*given, lr=0.125), 0.5, distill_oracles.squared, squared,
    )  # fmt: skip
    return [*found.gradients.values(), found.validation_loss], [*gradients.values(), loss]


def auditing(dtype):
    """Of inputs, and of a model where torch computes in the type: losses, and lengths of gradients."""
    model, x = linear(dtype), quarters(2, 6, 3)
    found = surfaces.audit(model, lambda output, _: losses_of(output), [(x.to(dtype), x.to(dtype), IDS)])
    wide = linear(torch.float64)
    losses = losses_of(wide(x))
    stacks = stacks_of(losses, IDS, list(wide.parameters()))
    lengths = torch.cat([stack.flatten(1) for stack in stacks], 1).norm(dim=1)
    means = torch.stack([losses[e == IDS].mean() for e in range(3)]).detach()
    numbers = (torch.tensor(one, dtype=torch.float64) for one in (found.losses, found.gradient_norms))
    return list(numbers), [means, lengths]


DOORS = [agreement, stacked, temporal, skipping, distilling, auditing]


@pytest.mark.usefixtures("as_installed")
@pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning", "ignore:Comp:UserWarning")
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_the_definition_or_a_sentence(door, dtype):
    try:
        found, wanted = door(dtype)
    except (TypeError, ValueError, FloatingPointError) as error:
        said = str(error)
    else:
        for one, other in zip(found, wanted, strict=True):
            assert (one.double() - other).abs().max() <= NEAR.get(dtype, 1e-5) * other.abs().max().clamp(min=1)
        return
    assert re.search(r"should .*\. Found .*\. \w", said), said
    assert dtype not in NEAR

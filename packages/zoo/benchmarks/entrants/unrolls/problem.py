"""The thesis's MuJoCo configuration (tables C.5, C.6; Hopper's sizes) on random data of the right shapes.

Index conventions: i an inner step of n, b an example of a batch, k a unit of the student.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, linear

STATE, ACTION, FRAMES, BINS = 11, 3, 16, 32  # Hopper; sixteen frames of the state and the reward


class WeightNormed(nn.Module):
    """A linear layer with weight normalisation written out, so that no peer meets a parametrisation that it cannot patch."""

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        bound = inputs**-0.5
        direction = bound * (2 * torch.rand(outputs, inputs, generator=generator) - 1)
        self.direction = nn.Parameter(direction)
        self.length = nn.Parameter(direction.norm(dim=1, keepdim=True))
        self.bias = nn.Parameter(bound * (2 * torch.rand(outputs, generator=generator) - 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's pre-activations."""
        norm = self.direction.square().sum(1, keepdim=True).sqrt()
        return linear(x, self.direction * (self.length / norm), self.bias)


class Student(nn.Module):
    """Five hidden layers of ReLU units; `tell` makes it return its pre-activations too, for methods without hooks."""

    def __init__(self, inputs: int, width: int, generator: Generator) -> None:
        super().__init__()
        sizes = [inputs, *[width] * 5]
        self.hidden = nn.ModuleList(WeightNormed(a, b, generator) for a, b in pairwise(sizes))
        self.head = WeightNormed(width, BINS, generator)
        self.tell = True

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return logits, and with `tell` all pre-activations (B, 5 * width)."""
        told: list[Tensor] = []
        for layer in self.hidden:
            h = layer(x)
            told.append(h)
            x = h.relu()
        logits = self.head(x)
        return (logits, torch.cat(told, 1)) if self.tell else logits


class Teacher(nn.Sequential):
    """The teacher of table C.6: convolutions over time, one wide layer, two outputs for each unit.

    BatchNorm and ReLU follow each of these layers, as in the experiment's (`mechlearn_zoo.nn.convolutions.trajectory_network`).
    """

    def __init__(self, channels: Sequence[int], wide: int, units: int) -> None:
        sizes = [STATE + 1, *channels]
        torso: list[nn.Module] = []
        for a, b in pairwise(sizes):
            torso += [nn.Conv1d(a, b, 3, padding=1), nn.BatchNorm1d(b), nn.ReLU()]
        head = [nn.Linear(sizes[-1] * FRAMES, wide), nn.BatchNorm1d(wide), nn.ReLU(), nn.Linear(wide, 2 * units)]
        super().__init__(*torso, nn.Flatten(), *head)


class Given(nn.Module):
    """In the place of a teacher: signals that are there already, one leaf for each inner step."""

    def __init__(self, signals: Tensor) -> None:
        super().__init__()
        self.signals = nn.ParameterList(signals.unbind(0))


@dataclass
class Unrolling:
    """One meta-gradient's inputs.

    Attributes:
        student: five layers of units, each supervised.
        teacher: over privileged data, or the signals themselves (`Given`).
        x: (n, B, ...) inputs.
        privileged: (n, B, state and reward, frames).
        y: (n, B) bins.
        x_val: (V, ...) validation inputs.
        y_val: (V,) bins.
        lr, momentum, weight_decay, alpha: of table C.5 and C.6.
    """

    student: Student
    teacher: nn.Module
    x: Tensor
    privileged: Tensor
    y: Tensor
    x_val: Tensor
    y_val: Tensor
    lr: float = 1e-2
    momentum: float = 0.75
    weight_decay: float = 1e-8
    alpha: float = 10**2.5

    @property
    def leaves(self) -> list[nn.Parameter]:
        """What is differentiated by."""
        return list(self.teacher.parameters())

    def signals(self, i: int) -> Tensor:
        """Return targets and gates (B, 2 units) of inner step i, from the teacher called on that batch alone."""
        return self.teacher.signals[i] if isinstance(self.teacher, Given) else self.teacher(self.privileged[i])

    def training_loss(self, told: tuple[Tensor, Tensor], i: int, signals: Tensor) -> Tensor:
        """Return L_y + alpha L_h, the gated squared error averaged over units and examples."""
        logits, h = told
        target, gate = signals.chunk(2, 1)
        teaching = (torch.sigmoid(gate / 2 - 1) * (h - target).square()).mean(1)
        return cross_entropy(logits, self.y[i]) + self.alpha * teaching.mean()

    def validation_loss(self, told: tuple[Tensor, Tensor]) -> Tensor:
        """Return the label loss on the validation data."""
        return cross_entropy(told[0], self.y_val)

    def first(self, n: int) -> "Unrolling":
        """Return the problem of the first n inner steps; the modules are the same."""
        teacher = (
            Given(torch.stack(list(self.teacher.signals))[:n].detach()) if isinstance(self.teacher, Given) else self.teacher
        )
        return replace(self, teacher=teacher, **{name: getattr(self, name)[:n] for name in ("x", "privileged", "y")})

    def copy(self, dtype: torch.dtype | None = None) -> "Unrolling":
        """Return the problem with modules of its own, in another precision if asked."""
        dtype = dtype or self.x.dtype
        modules = {name: copy.deepcopy(getattr(self, name)).to(dtype) for name in ("student", "teacher")}
        data = {name: getattr(self, name).to(dtype) for name in ("x", "privileged", "x_val")}
        return replace(self, **modules, **data)


def unrolling(n: int, *, alone: bool, small: bool, seed: int) -> Unrolling:
    """Return a problem.

    Args:
        n: inner steps.
        alone: differentiate by signals, without a teacher.
        small: tiny networks, for tests.
        seed: of weights and data.
    """
    generator = torch.Generator().manual_seed(seed)
    batch, width, rows = (4, 8, 12) if small else (24, 128, 1200)
    channels, wide = ((4, 4, 4, 6), 16) if small else ((96, 96, 96, 256), 768)
    inputs = STATE + FRAMES * ACTION

    def randn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    def bins(*shape: int) -> Tensor:
        return torch.randint(0, BINS, shape, generator=generator)

    student = Student(inputs, width, generator)
    if alone:
        teacher: nn.Module = Given(0.1 * randn(n, batch, 2 * 5 * width))
    else:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # torch's own initialisation draws from the global generator
            teacher = Teacher(channels, wide, 5 * width)
    privileged = randn(n, batch, STATE + 1, FRAMES)
    return Unrolling(student, teacher, randn(n, batch, inputs), privileged, bins(n, batch), randn(rows, inputs), bins(rows))

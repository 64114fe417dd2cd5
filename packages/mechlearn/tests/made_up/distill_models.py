"""Small students, teachers and data that several tests of distill share, all from explicit generators and in float64."""

import math

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.parametrizations import weight_norm

from mechlearn.distill import Batches, Labelled, Lesson, UnitsTeacher


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def randn(seed, *shape):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def labels(seed, *shape):
    return torch.randint(0, 3, shape, generator=generator(seed))


def label_loss(prediction, y):
    return cross_entropy(prediction, y, reduction="none")


def filled(module, seed, scale=1.0):
    """Draw all parameters anew from a generator of their own; positive where a norm's magnitude must be."""
    g = generator(seed)
    module = module.double()
    with torch.no_grad():
        for name, p in module.named_parameters():
            p.copy_(
                scale
                * torch.randn(p.shape, generator=g, dtype=torch.float64)
                / math.sqrt(max(1, p.shape[-1] if p.dim() else 1))
            )
            if name.endswith("original0"):
                p.abs_().add_(0.5)
    return module


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.block, self.leave = nn.Linear(6, 5), nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, x):
        h = self.enter(x)
        return self.leave(h + torch.tanh(self.block(torch.tanh(h))))


class Tied(nn.Module):
    """Two layers with one weight, a frozen layer, and a parameter that nothing reads."""

    def __init__(self):
        super().__init__()
        self.first, self.a, self.b, self.head = nn.Linear(6, 5), nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)
        self.b.weight = self.a.weight
        self.idle = nn.Parameter(torch.ones(2))
        self.scale = nn.Parameter(torch.ones(()))
        self.first.requires_grad_(False)

    def forward(self, x):
        return self.scale * self.head(torch.tanh(self.b(torch.tanh(self.a(self.first(x))))))


class Picture(nn.Module):
    """The flat input as a 2 x 3 picture, convolved."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(12, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.conv(x.view(-1, 1, 2, 3))).flatten(1))


def mlp():
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4), nn.Softplus(), nn.Linear(4, 3))


def normed():
    return nn.Sequential(
        weight_norm(nn.Linear(6, 5)), nn.Tanh(), weight_norm(nn.Linear(5, 4)), nn.Tanh(), weight_norm(nn.Linear(4, 3))
    )


def layer_normed():
    return nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 3))


def batch_normed():
    return nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3))


STUDENTS = {
    "mlp": (mlp, {"0": (5,), "2": (4,)}),
    "convolution": (Picture, {"conv": (2, 2, 3)}),
    "residual": (Residual, {"enter": (5,), "block": (5,)}),
    "weight norm": (normed, {"0": (5,), "2": (4,)}),
    "layer norm": (layer_normed, {"1": (5,), "": (3,)}),
    "batch norm": (batch_normed, {"1": (5,)}),
    "tied": (Tied, {"a": (5,)}),
}
"""Constructors, and the supervised layers with their shapes."""


def student(kind, seed=0):
    return filled(STUDENTS[kind][0](), seed)


def teacher(units, seed=1, gated=False, norm=True):
    count = (1 + gated) * sum(math.prod(shape) for shape in units.values())
    middle = nn.BatchNorm1d(6) if norm else nn.Identity()
    return filled(
        UnitsTeacher(nn.Sequential(nn.Linear(4, 6), middle, nn.Tanh(), nn.Linear(6, count)), units, gated=gated), seed
    )


def data(n=4, b=5, seed=2):
    batches = Batches(randn(seed, n, b, 6), randn(seed + 1, n, b, 4), labels(seed + 2, n, b))
    return batches, Labelled(randn(seed + 3, 7, 6), labels(seed + 4, 7))


def lesson(student, teacher, layers, alpha=0.7, **others):
    """A lesson whose label loss is the cross-entropy unless told otherwise."""
    return Lesson(student, teacher, layers, **{"label_loss": label_loss, "alpha": alpha, **others})


def largest_error(found, expected):
    """The largest difference of two sets of parameters over the largest component of the second."""
    scale = max(float(tensor.abs().max()) for tensor in expected.values())
    return max(float((found[name] - tensor).abs().max()) for name, tensor in expected.items()) / scale

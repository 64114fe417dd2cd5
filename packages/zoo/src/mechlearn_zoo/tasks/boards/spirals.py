r"""The synthetic memorisation dataset: a mechanism that every environment shares, and shortcuts that each has of its own.

Two interlocked spirals (the mechanism) decide the label in every environment, but need a curled decision boundary. The
remaining inputs (the shortcuts) are one fixed vector for each environment, with the label's sign: linearly separable,
with a large margin, also when all environments are pooled, and worthless elsewhere.

Source: thesis section 3.3.1, figures 3.5 and B.4, appendix B.2; paper section 3.1. The texts print shortcuts from N(0, 0.1)
beside spirals of radius up to 1, the published code has N(0, 1) beside spirals of unit variance: `Shortcuts.scale` is the
shortcuts' standard deviation, `Mechanism.unit_variance` says whether the spirals are scaled.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator


class Split(NamedTuple):
    """Examples b with d = 2 + shortcut inputs (the spiral plane first), labels 0 or 1, and environment ids."""

    x: Float[Tensor, "b d"]
    y: Float[Tensor, " b"]
    environments: Int[Tensor, " b"]


class SpiralsData(NamedTuple):
    """One draw of the dataset.

    Attributes:
        train: the training environments, adjacent, each with the same number of examples.
        validation: held-out environments, each with a shortcut vector of its own: for selecting settings.
        test: every example with a random shortcut vector, as if from a domain of its own: for reporting.
        plane_scale: (2,) what the raw spirals were divided by: their standard deviation, or 1.
    """

    train: Split
    validation: Split
    test: Split
    plane_scale: Float[Tensor, " 2"]


def _at_least_one(name: str, size: int) -> None:
    if size < 1:
        raise ValueError(f"`{name}` should be at least 1. Found {size}.")


def _not_negative(name: str, value: int | float) -> None:
    if value < 0:
        raise ValueError(f"`{name}` should not be negative. Found {value}.")


@dataclass(frozen=True)
class Mechanism:
    """The two spirals.

    Args:
        revolutions: turns of each spiral (the texts' n; the published code uses 3).
        noise: half-width of the uniform noise on the radius, before scaling.
        unit_variance: divide the spirals by the training data's standard deviation, coordinate by coordinate; False leaves
            them as the texts print them, with a standard deviation of about 0.43.
    """

    revolutions: int = 3
    noise: float = 0.02
    unit_variance: bool = True

    def __post_init__(self) -> None:
        _at_least_one("revolutions", self.revolutions)
        _not_negative("noise", self.noise)


@dataclass(frozen=True)
class Shortcuts:
    """The inputs that say the label in one environment alone: how many, 0 for none, and their standard deviation."""

    dims: int = 32
    scale: float = 0.1

    def __post_init__(self) -> None:
        _not_negative("dims", self.dims)
        _not_negative("scale", self.scale)


@dataclass(frozen=True)
class HeldOut:
    """What is not trained on: held-out environments, examples in each of them, and test examples with random shortcuts."""

    validation_environments: int = 200
    validation_examples: int = 10
    test_examples: int = 2000

    def __post_init__(self) -> None:
        for name, size in vars(self).items():
            _at_least_one(name, size)


MECHANISM, SHORTCUTS, HELD_OUT = Mechanism(), Shortcuts(), HeldOut()
"""Three revolutions; 32 shortcuts of scale 0.1; 200 held-out environments of 10 examples and 2000 test examples."""


def spiral_points(
    count: int, revolutions: int, noise: float, generator: Generator
) -> tuple[Float[Tensor, "b 2"], Int[Tensor, " b"]]:
    """Draw points on two interlocked spirals and their labels.

    Radius r ~ Uniform(0.08, 1), angle 2 pi n r, half a turn further for label 1; then uniform noise on the radius.

    Raises:
        TypeError: no generator.
    """
    check_generator("generator", generator)
    radius = torch.empty(count, dtype=torch.float64).uniform_(0.08, 1.0, generator=generator)
    labels = torch.randint(0, 2, (count,), generator=generator)
    angle = 2 * math.pi * revolutions * radius + math.pi * labels
    radius = radius + torch.empty(count, dtype=torch.float64).uniform_(-noise, noise, generator=generator)
    return torch.stack([angle.cos() * radius, angle.sin() * radius], dim=1), labels


def spirals(
    seed: int,
    environments: int = 32,
    examples: int = 1280,
    shortcuts: Shortcuts = SHORTCUTS,
    mechanism: Mechanism = MECHANISM,
    held_out: HeldOut = HELD_OUT,
) -> SpiralsData:
    """Draw training environments, held-out validation environments and the test set.

    Args:
        seed: of the one generator behind every draw.
        environments: number of training environments.
        examples: examples in each training environment.
        shortcuts: of every environment.
        mechanism: the spirals.
        held_out: how much there is beside the training data.

    Raises:
        ValueError: a size below 1, or one training example, which has no variance to divide by.
    """
    for name, size in {"environments": environments, "examples": examples}.items():
        _at_least_one(name, size)
    if mechanism.unit_variance and environments * examples < 2:
        raise ValueError(
            "Training examples should be two or more: spirals are divided by their standard deviation. Found 1. Draw more, or "
            "take Mechanism(unit_variance=False)."
        )
    generator = torch.Generator().manual_seed(seed)

    def draw(groups: int, count: int, shortcut_of_label: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        plane, labels = spiral_points(groups * count, mechanism.revolutions, mechanism.noise, generator)
        ids = torch.arange(groups).repeat_interleave(count)
        vectors = shortcuts.scale * torch.randn(groups, shortcuts.dims, dtype=torch.float64, generator=generator)
        return plane, vectors[ids] * ((2 * labels - 1)[:, None] if shortcut_of_label else 1), labels, ids

    train = draw(environments, examples, shortcut_of_label=True)
    validation = draw(held_out.validation_environments, held_out.validation_examples, shortcut_of_label=True)
    test = draw(held_out.test_examples, 1, shortcut_of_label=False)
    plane_scale = train[0].std(dim=0) if mechanism.unit_variance else torch.ones(2, dtype=torch.float64)

    def split(plane: Tensor, vectors: Tensor, labels: Tensor, ids: Tensor) -> Split:
        return Split(torch.cat([plane / plane_scale, vectors], dim=1).float(), labels.float(), ids)

    return SpiralsData(split(*train), split(*validation), split(*test), plane_scale.float())

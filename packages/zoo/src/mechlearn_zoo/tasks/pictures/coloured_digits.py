"""Coloured digits: a colour that goes with the label in training and against it in the test.

The construction of ColoredMNIST (Arjovsky et al., 2019, section 5.2) on real digits that ship with scikit-learn: is a digit
at least 5? A quarter of the labels is flipped, so that the shape predicts 75 % of them; the colour agrees with the label
more often than that in the training environments, and hardly ever in the test environment.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn_zoo.tasks.pictures.digits import digits


class Split(NamedTuple):
    """Examples b: images of two colour channels, labels 0 or 1, and the environment of each."""

    x: Float[Tensor, "b 2 8 8"]
    y: Float[Tensor, " b"]
    environments: Int[Tensor, " b"]


class ColouredDigits(NamedTuple):
    """One draw.

    Attributes:
        train: the training environments, adjacent, each with the same number of examples.
        held_out: examples of the same environments that are not trained on: training-domain validation.
        oracle: examples of the test environment for choosing settings, where that is allowed.
        test: other examples of the test environment, for reporting.
    """

    train: Split
    held_out: Split
    oracle: Split
    test: Split


def coloured_digits(
    seed: int,
    agreement: tuple[float, ...] = (0.9, 0.8),
    test_agreement: float = 0.1,
    label_noise: float = 0.25,
    held_out_share: float = 0.2,
) -> ColouredDigits:
    """Colour the digits and divide them among the environments.

    Args:
        seed: of the division, the flipped labels and the colours.
        agreement: for each training environment, how often the colour agrees with the label.
        test_agreement: the same in the test environment.
        label_noise: share of labels that are flipped, in every environment.
        held_out_share: share of each environment that is held out for validation.

    Raises:
        ValueError: a share outside [0, 1], fewer than two training environments, or a held-out share that leaves nothing.
    """
    shares = {"agreement": (*agreement, test_agreement), "label_noise": (label_noise,), "held_out_share": (held_out_share,)}
    for name, values in shares.items():
        if not all(0 <= value <= 1 for value in values):
            raise ValueError(f"`{name}` should lie in [0, 1]. Found {values}.")
    if len(agreement) < 2:
        raise ValueError(f"`agreement` should have two environments or more: one has nothing to agree with. Found {agreement}.")
    data = digits(seed)
    x, y = (torch.cat(parts) for parts in zip(*((part.x, part.y) for part in data[:3]), strict=True))
    generator = Generator().manual_seed(seed + 2**32)
    count = len(x) // (len(agreement) + 1)
    kept = count - round(held_out_share * count)
    if not 0 < kept < count:
        raise ValueError(f"`held_out_share` should leave some of {count} digits on both sides. Found {held_out_share}.")
    places = enumerate(zip(torch.arange(len(x)).split(count), (*agreement, test_agreement), strict=False))
    parts = [_coloured(x[rows], y[rows], share, label_noise, number, generator) for number, (rows, share) in places]
    *training, test = [(_rows(part, slice(0, kept)), _rows(part, slice(kept, None))) for part in parts]
    train, held_out = (_joined(some) for some in zip(*training, strict=True))
    return ColouredDigits(train, held_out, oracle=test[1], test=test[0])


def _coloured(x: Tensor, digit: Tensor, share: float, noise: float, environment: int, generator: Generator) -> Split:
    """Flip labels, then draw each colour to agree with the label as often as asked, and paint."""
    count = len(digit)
    flips = torch.rand(count, generator=generator) < noise
    labels = (digit >= 5) ^ flips
    colours = torch.where(torch.rand(count, generator=generator) < share, labels, ~labels).long()
    painted = torch.zeros(count, 2, 8, 8)
    painted[torch.arange(count), colours] = x[:, 0]
    return Split(painted, labels.float(), torch.full((count,), environment))


def _rows(split: Split, rows: slice) -> Split:
    return Split(split.x[rows], split.y[rows], split.environments[rows])


def _joined(splits: tuple[Split, ...]) -> Split:
    return Split(*(torch.cat(parts) for parts in zip(*splits, strict=True)))

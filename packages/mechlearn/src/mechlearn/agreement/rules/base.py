r"""What a rule is, and what rules are made of.

A rule is a pure function of running statistics. It never sees the E gradients side by side, only what a stream of them adds
up to, so its memory does not grow with the number of environments. Index convention: ``e`` runs over environments,
``g_e`` is the gradient of environment e's mean loss; every operation is element by element.

The rules are the files beside this one; here is what they share.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from mechlearn.agreement.rules.moments import Combined, Statistics, needed
from mechlearn.arguments import Choice, check_flag, check_one_of, check_share, check_whole


def required_count(threshold: float, environments: int) -> int:
    """Return the smallest integer k with k / E >= threshold.

    Sign sums are integers, so agreement is decided by ``abs(sum_e sign g_e) >= k``: a float mean would tie differently
    at, say, threshold 0.2 with 80 environments. The division is the one a reader would type, correctly rounded, so a
    threshold written as 0.2 and a count of 16 of 80 compare equal.

    >>> required_count(0.2, 80), required_count(1.0, 32), required_count(0.0, 5), required_count(0.5, 3)
    (16, 32, 0, 2)

    Raises:
        TypeError: no numbers.
        ValueError: a threshold outside [0, 1], or no environments.
    """
    # The checks of what is right are as short as can be: this is asked for every parameter of every step.
    if not (type(threshold) is float and 0 <= threshold <= 1 and type(environments) is int and environments > 0):
        check_threshold(threshold)
        check_whole("environments", environments, least=1)
    count = round(threshold * environments)
    while count / environments < threshold:
        count += 1
    while count > 0 and (count - 1) / environments >= threshold:
        count -= 1
    return count


def agreement_mask(statistics: Statistics, threshold: float) -> Shaped[Tensor, "*p"]:
    r"""Return the AND-mask m = 1[ abs(mean_e sign g_e) >= threshold ], ones and zeros (thesis section 3.2.3).

    The threshold is the papers' tau; their t, the number of signs that must be equal, is E / 2 * (tau + 1).
    """
    sign = needed(statistics.sign, "sign").clone()
    return mask_(sign, required_count(threshold, statistics.environments))


_FEW = 2**12


def mask_(sign: Shaped[Tensor, "*p"], count: int) -> Shaped[Tensor, "*p"]:
    """Turn sign sums into the mask in place.

    For integers s and k, s >= k exactly where s - (k - 1) >= 1, and else it is at most 0: clamped, that is the mask. A
    comparison and a `where` would say it more directly and take several times longer on a CPU, but for the few components of
    which a call costs more than the work.
    """
    if sign.numel() < _FEW:
        return sign.abs_().ge_(count)
    return sign.abs_().sub_(count - 1).clamp_(0, 1)


def count_survivors(survives: Shaped[Tensor, "*p"]) -> Float[Tensor, ""]:
    """Return the number of components that survive, exactly."""
    if not survives.is_floating_point():
        return torch.count_nonzero(survives).double()  # a sum would first make a copy in eight bytes an element
    # Row sums of ones are exact in float32; the sum of all need not be.
    rows = survives.sum(-1) if survives.dim() > 1 else survives
    return rows.sum(dtype=torch.float64)


def survival(survives: Shaped[Tensor, "*p"]) -> Float[Tensor, ""]:
    """Return the share of components that survive; 1 of a parameter without components, of which none is masked."""
    if survives.numel() == 0:
        return torch.ones((), dtype=torch.float64, device=survives.device)
    return count_survivors(survives) / survives.numel()


Rescale = bool | Literal["root"]
"""Whether what survives in a parameter tensor makes up for what is masked: by numel / survivors, or by the "root" of that."""


def rescaled(gradient: Float[Tensor, "*p"], survives: Shaped[Tensor, "*p"], rescale: Rescale = True) -> Float[Tensor, "*p"]:
    """Multiply what survived by numel / survivors, or by the root of that; a tensor without survivors stays 0.

    An option of the thesis (appendix B.2.3.1) and of the authors' published code, ``scale_grad_inverse_sparsity``; the paper
    does not mention it. The thesis speculates that very large layers want something milder and names nothing: the root is ours.
    It keeps the Euclidean length of a gradient whose components have one size, as the ratio itself keeps the sum of their
    magnitudes: where one of a million components survives it grows by 1,000 and not by 1,000,000.

    Args:
        gradient: of one parameter, masked.
        survives: ones and zeros.
        rescale: True, or "root".
    """
    # Without survivors the gradient is all zeros already, and any finite factor leaves it so.
    scale = survives.numel() / count_survivors(survives).clamp(min=1)
    scale = scale.sqrt() if rescale == "root" else scale
    return gradient * scale.to(gradient.dtype)


class Consuming(Choice, ABC):
    """A rule that can also work in the memory of its statistics, which saves a large model a copy of each."""

    def __call__(self, statistics: Statistics) -> Combined:
        """Combine the environment gradients of one parameter; the statistics stay as they are.

        Raises:
            TypeError: no statistics.
            ValueError: statistics that lack what the rule reads.
        """
        if not isinstance(statistics, Statistics):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
            raise TypeError(
                f"A rule should be given `Statistics`. Found {type(statistics).__name__}. For gradients side by side there is "
                "mechlearn.agreement.combine(rule, gradients)."
            )
        return self.consume(statistics.clone())

    @abstractmethod
    def consume(self, statistics: Statistics) -> Combined:
        """Do the same and overwrite the statistics' tensors, which may become the result's."""


@dataclass(frozen=True)
class Thresholded(Consuming):
    """A rule that asks for a share of agreement, and may make up for what it masks."""

    threshold: float = 1.0
    rescale: Rescale = False

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        check_rescale(self.rescale)


def mean_(statistics: Statistics) -> Float[Tensor, "*p"]:
    """Return mean_e g_e in the memory of its sum."""
    return statistics.gradient.div_(statistics.environments)


_SLICE = 2**17
"""Components that a rule takes through all of its operations at a time: 512 KiB of float32, which a core's cache holds."""


def slices(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cut tensors of one shape into views of adjacent components; whole where they are not contiguous, or on another device.

    Elsewhere than on a CPU many small operations cost more than a cache saves.
    """
    if tensors[0].numel() <= _SLICE or tensors[0].device.type != "cpu":
        yield tensors
    elif all(tensor.is_contiguous() for tensor in tensors):
        yield from zip(*(tensor.view(-1).split(_SLICE) for tensor in tensors), strict=True)
    else:
        yield tensors


def masked(gradient: Float[Tensor, "*p"], survives: Shaped[Tensor, "*p"], rescale: Rescale) -> Combined:
    """Multiply a gradient by a mask of ones and zeros in its own memory, and rescale what survives where that is asked for."""
    for some, mask in slices(gradient, survives):
        some.mul_(mask.to(some.dtype))
    return Combined(rescaled(gradient, survives, rescale) if rescale else gradient, survives)


def check_rescale(rescale: object) -> None:
    """Reject anything but a way to rescale.

    Raises:
        TypeError: neither a flag nor a word.
        ValueError: another word.
    """
    if isinstance(rescale, str):
        check_one_of("rescale", rescale, ("root",), way_out="Or pass True for the ratio, False for nothing.")
    else:
        check_flag("rescale", rescale)


def check_threshold(threshold: float) -> None:
    """Reject a threshold outside [0, 1].

    Raises:
        TypeError: no number.
        ValueError: says so.
    """
    check_share("threshold", threshold, way_out="0 is plain averaging, 1 asks for full sign agreement.")

"""Critical values of tests for conflict between environments: how much evidence is more than noise gives.

Both are exact: tails of chi-square distributions by the incomplete gamma function, and a root search in float64.
"""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from mechlearn.arguments import check_share, check_whole

LARGEST_PRODUCT = 1000
"""Up to so many environments less one every binomial coefficient is a float."""


def chi_square_tail(value: float, degrees: int) -> float:
    """Return P(chi-square of so many degrees of freedom > value).

    >>> round(chi_square_tail(3.841459, 1), 6)
    0.05
    """
    half = torch.tensor([degrees / 2, value / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def qualitative_tail(value: float, environments: int) -> float:
    """Return the most that P(min(Q+, Q-) > value) can be where no two environments' true gradients have opposite signs.

    sum over h from 1 to E - 1 of Binomial(h; E - 1, 1/2) P(chi-square_h > value): one environment's gradient is far from 0, all
    others' are 0 (Gail and Simon 1985, Biometrics 41:361, theorem 1 and table 1).

    >>> round(qualitative_tail(5.43, environments=4), 3)
    0.05
    """
    others = environments - 1
    if others <= LARGEST_PRODUCT:
        shares = (math.comb(others, h) * chi_square_tail(value, h) for h in range(1, environments))
        return math.fsum(shares) / 2**others
    return float((_halved(others) * _tails(value, others)).sum())


@functools.cache
def _halved(others: int) -> Tensor:
    """Return Binomial(h; n, 1/2) for h from 1 to n, by logarithms."""
    h = torch.arange(1, others + 1, dtype=torch.float64)
    n = torch.tensor(float(others), dtype=torch.float64)
    return ((n + 1).lgamma() - (h + 1).lgamma() - (n - h + 1).lgamma() - n * math.log(2)).exp()


def _tails(value: float, most: int) -> Tensor:
    """Return `chi_square_tail` of 1 to so many degrees of freedom."""
    degrees = torch.arange(1, most + 1, dtype=torch.float64)
    return torch.special.gammaincc(degrees / 2, torch.full_like(degrees, value / 2))


@functools.cache
def qualitative_critical(environments: int, alpha: float) -> float:
    """Return c with `qualitative_tail` (c) = alpha: infinity at alpha 0, and 0 where no c > 0 has a tail as large.

    >>> [round(qualitative_critical(environments, 0.05), 2) for environments in (2, 3, 4, 8)]  # the published table
    [2.71, 4.23, 5.43, 9.29]

    Raises:
        TypeError: no numbers.
        ValueError: no environments, or a level outside [0, 1].
    """
    check_whole("environments", environments, least=1)
    check_level(alpha)
    return _root(functools.partial(qualitative_tail, environments=environments), alpha)


@functools.cache
def homogeneous_critical(environments: int, alpha: float) -> float:
    """Return the value that Cochran's Q exceeds with probability alpha where all environments' true gradients are equal.

    >>> round(homogeneous_critical(13, 0.05), 3)
    21.026

    Raises:
        TypeError: no numbers.
        ValueError: no environments, or a level outside [0, 1].
    """
    check_whole("environments", environments, least=1)
    check_level(alpha)
    if environments == 1:
        return math.inf
    return _root(functools.partial(chi_square_tail, degrees=environments - 1), alpha)


def check_level(alpha: float) -> None:
    """Reject a level outside [0, 1].

    Raises:
        TypeError: no number.
        ValueError: says so.
    """
    check_share("alpha", alpha, way_out="0 masks nothing, 0.05 asks for strong evidence, 1 for none.")


def _root(tail: Callable[[float], float], alpha: float) -> float:
    """Return where a falling tail is alpha, to the last digit of float64."""
    if alpha == 0 or tail(0.0) <= alpha:
        return math.inf if alpha == 0 else 0.0
    low, high = 0.0, 1.0
    while tail(high) > alpha:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if tail(middle) > alpha else (low, middle)
    return high

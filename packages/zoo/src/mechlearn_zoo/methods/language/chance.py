"""What guessing gives on a small test: intervals of a share, two models on the same items, the best of many.

Exact where it is cheap to be: binomial sums, no normal approximation but in Wilson's interval, which is made of one.
"""

import math
from typing import NamedTuple

from mechlearn.arguments import check_not_negative, check_share, check_whole

LARGEST_PRODUCT = 1000
"""Items up to which every binomial coefficient is a float, as the greatest of 1,030 is none."""


LARGEST_Z = 1e100
"""Beyond, the interval is from 0 to 1 in any case, and its formula would overflow."""


class Rate(NamedTuple):
    """A share with its Wilson interval.

    Attributes:
        value: the share; NaN where there is no item.
        low: lower end of its 95 % interval.
        high: upper end.
        n: the number of items.
    """

    value: float
    low: float
    high: float
    n: int


def wilson(successes: int, trials: int, z: float = 1.959963984540054) -> Rate:
    """Return a share with the interval of Wilson (1927), which holds its level at small n and near 0 and 1.

    Raises:
        TypeError: counts that are no whole numbers, a z that is no number.
        ValueError: counts below 0, more successes than trials, a z that is negative or not finite.

    >>> [round(number, 3) for number in wilson(137, 273)]
    [0.502, 0.443, 0.561, 273]
    """
    check_whole("trials", trials)
    check_whole("successes", successes)
    check_not_negative("z", z, why="standard deviations to each side", way_out="1.96 is 95 %.")
    z = min(z, LARGEST_Z)
    if successes > trials:
        raise ValueError(f"`successes` should be at most the {trials} trials. Found {successes}. Check their order.")
    if not trials:
        return Rate(math.nan, 0.0, 1.0, 0)
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    return Rate(share, max(0.0, middle - half), min(1.0, middle + half), trials)


def best_of(settings: int, items: int, chance: float = 0.5, level: float = 0.95) -> tuple[float, float]:
    """Return the central interval of the best accuracy among guessers: the greatest of m binomial shares.

    Args:
        settings: m, how many models or settings were tried.
        items: n, of the test.
        chance: of a right guess.
        level: of the interval.

    Returns:
        Its ends; a search's best accuracy below the upper one is what guessing gives.

    Raises:
        TypeError, ValueError: counts below 1, a chance outside [0, 1], a level outside (0, 1).

    >>> [round(end, 3) for end in best_of(1, 273)], [round(end, 3) for end in best_of(100, 273)]
    ([0.44, 0.56], [0.553, 0.604])
    """
    check_whole("settings", settings, 1)
    check_whole("items", items, 1)
    check_share("chance", chance)
    if not 0 < level < 1:
        raise ValueError(f"`level` should lie in (0, 1). Found {level}. 0.95 is usual.")
    cumulative, total = list[float](), 0.0
    for k in range(items + 1):
        total += _binomial(items, k, chance)
        cumulative.append(min(total, 1.0) ** settings)
    low = next((k for k, one in enumerate(cumulative) if one >= (1 - level) / 2), items)
    high = next((k for k, one in enumerate(cumulative) if one >= (1 + level) / 2), items)
    return low / items, high / items


def _binomial(items: int, right: int, chance: float) -> float:
    """Return the probability of so many right: a product where its factors are floats, else by logarithms."""
    wrong = items - right
    if chance in (0, 1):
        return float(right == items * chance)
    if items <= LARGEST_PRODUCT:
        return math.comb(items, right) * chance**right * (1 - chance) ** wrong
    ways = math.lgamma(items + 1) - math.lgamma(right + 1) - math.lgamma(wrong + 1)
    return math.exp(ways + right * math.log(chance) + wrong * math.log1p(-chance))

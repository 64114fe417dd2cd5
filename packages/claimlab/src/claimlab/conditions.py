"""Conditions of claims: what must be measured, as a sentence whose last words are a rule.

The sentence is what the report shows and `claims.json` keeps. Before its rule it says what the measured number is.

>>> condition("difference in test accuracy above 0.05 with its whole interval").words
'difference in test accuracy above 0.05 with its whole interval'
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimlab.claims import Measurement


@dataclass(frozen=True)
class Condition:
    """What must be measured for a claim to hold; `condition` makes one from its words.

    Args:
        words: the condition as a sentence.
        test: the same as a function of what was measured.
        presets: the presets at which the claim is meant to be measured.
    """

    words: str
    test: Callable[[Measurement], bool]
    presets: tuple[str, ...] = ("quick", "paper")

    def at(self, *presets: str) -> Condition:
        """Return the same condition, meant for these presets instead of quick and paper."""
        return replace(self, presets=presets)


def condition(words: str) -> Condition:
    """Return the condition that words say: what the number is, then a rule of `RULES`, or two joined by ", and ".

    >>> from claimlab.claims import Measurement
    >>> condition("gain in accuracy above 0.05 with its whole interval").test(Measurement(0.07, 0.06, 0.08, 5))
    True
    >>> condition("ratio at least 0.85, and at most 1.15").test(Measurement(1.2, 1.1, 1.3, 5))
    False

    Raises:
        ValueError: if they end with no rule, or with one that no number meets.
    """
    first, joined, second = words.rpartition(", and ")
    one, other = (_rule(first), _rule(second)) if joined else (None, None)
    if one and other:
        return Condition(f"{one.words}, and {other.words}", lambda m: one.test(m) and other.test(m))
    found = _rule(words)
    if found is None:
        raise ValueError(f"A condition should end with a rule such as 'above 0.5'. Found {words!r}. Add one.")
    return found


RULES: dict[str, Callable[[Measurement, Sequence[float]], bool]] = {
    "above # with its whole interval": lambda m, n: m.low > n[0],
    "at least # with its whole interval": lambda m, n: m.low >= n[0],
    "below # with its whole interval": lambda m, n: m.high < n[0],
    "at most # with its whole interval": lambda m, n: m.high <= n[0],
    "around # with its interval": lambda m, n: m.low <= n[0] <= m.high,
    "above #": lambda m, n: m.value > n[0],
    "at least #": lambda m, n: m.value >= n[0],
    "below #": lambda m, n: m.value < n[0],
    "at most #": lambda m, n: m.value <= n[0],
    "exactly #": lambda m, n: m.value == n[0],
    "between # and #": lambda m, n: n[0] <= m.value <= n[1],
    "within # of #": lambda m, n: abs(m.value - n[1]) <= n[0],
    "within # % of #": lambda m, n: abs(m.value / n[1] - 1) <= n[0] / 100,
    # Of a negative target the product is the lower end.
    "within a factor of # of #": lambda m, n: min(n[1] / n[0], n[0] * n[1]) <= m.value <= max(n[1] / n[0], n[0] * n[1]),
}
"""What a condition may end with, and what it asks of a measured number `m`; `#` stands for each number of `n`."""

_WRONG: dict[str, tuple[Callable[[Sequence[float]], bool], str]] = {
    "between # and #": (lambda n: n[0] > n[1], "bounds in their order"),
    "within # of #": (lambda n: n[0] < 0, "a distance of at least 0"),
    "within # % of #": (lambda n: n[0] < 0 or n[1] == 0, "a share of at least 0, of a target other than 0"),
    "within a factor of # of #": (lambda n: n[0] < 1, "a factor of at least 1"),
}
# Rules of which some numbers can be met by none, and what there should be.

_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?|-?inf)"


def _rule(words: str) -> Condition | None:
    matches = ((rule, re.fullmatch(f"(.*\\s|){rule.replace('#', _NUMBER)}", words)) for rule in RULES)
    rule, found = next((one for one in matches if one[1]), ("", None))
    if found is None:
        return None
    head, *numbers = found.groups()
    n = [int(one) if re.fullmatch(r"-?\d+", one) else float(one) for one in numbers]
    if rule in _WRONG and _WRONG[rule][0](n):
        raise ValueError(f"A condition should have {_WRONG[rule][1]}. Found {head}{rule} with {n}. Change its numbers.")
    shown = iter(map(_in_full, n))
    return Condition(head + re.sub("#", lambda _: next(shown), rule), lambda m: RULES[rule](m, n))


def _in_full(bound: float | int) -> str:
    """Return a bound in six digits, or in all where six say another number: whole ones, and decimals of up to twelve.

    A longer one, such as 1 / 3, is a fraction that was computed, and six digits of it tell which; what a bound is above or
    below another by less than 1e-8 of it is room for rounding.
    """
    text, longer = f"{bound:g}", f"{bound:.12g}"
    if math.isinf(bound) or float(text) == bound:
        return text
    if bound == int(bound):
        return str(int(bound))
    return text if math.isclose(float(text), bound, rel_tol=1e-8) or float(longer) != bound else longer

"""Conditions: what must be measured for a claim to hold. The words are derived from the test, so that nothing is typed twice.

A condition speaks of the measured value, or of an end of its interval: `low_above(0)` asks the whole interval to lie above 0.
`of` says in words what the measured number is.

>>> low_above(0.05, of="difference in test accuracy").words
'difference in test accuracy above 0.05 with its whole interval'
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol


class Measured(Protocol):
    """A number with its interval, as `Measurement` is."""

    @property
    def value(self) -> float | int:
        """The number."""
        ...

    @property
    def low(self) -> float | int:
        """The lower end of its interval."""
        ...

    @property
    def high(self) -> float | int:
        """The upper end of its interval."""
        ...

    @property
    def n(self) -> int:
        """The number of seeds it rests on."""
        ...


@dataclass(frozen=True)
class Condition:
    """What must be measured for a claim to hold.

    Args:
        words: the condition as a sentence.
        test: the same as a function of what was measured.
        presets: the presets at which the claim is meant to be measured.
        of: what the measured number is: how the words begin.
    """

    words: str
    test: Callable[[Measured], bool]
    presets: tuple[str, ...] = ("quick", "paper")
    of: str = ""

    def at(self, *presets: str) -> Condition:
        """The same condition, meant for these presets instead of quick and paper."""
        return replace(self, presets=presets)

    def __and__(self, other: Condition) -> Condition:
        """Both conditions, on one measured number, meant for the first's presets."""
        words = f"{self.words}, and {other.words}"
        return Condition(words, lambda m: self.test(m) and other.test(m), self.presets, self.of)


def above(bound: float | int, of: str = "") -> Condition:
    """The value exceeds the bound."""
    return _asked(of, f"above {_in_full(bound)}", lambda m: m.value > bound)


def at_least(bound: float | int, of: str = "") -> Condition:
    """The value is the bound or more."""
    return _asked(of, f"at least {_in_full(bound)}", lambda m: m.value >= bound)


def below(bound: float | int, of: str = "") -> Condition:
    """The value is less than the bound."""
    return _asked(of, f"below {_in_full(bound)}", lambda m: m.value < bound)


def at_most(bound: float | int, of: str = "") -> Condition:
    """The value is the bound or less."""
    return _asked(of, f"at most {_in_full(bound)}", lambda m: m.value <= bound)


def equal(number: float | int, of: str = "") -> Condition:
    """The value is the number, exactly."""
    return _asked(of, f"exactly {_in_full(number)}", lambda m: m.value == number)


def between(low: float | int, high: float | int, of: str = "") -> Condition:
    """The value lies between the bounds, both included.

    Raises:
        ValueError: the first exceeds the second: no value would do.
    """
    if low > high:
        raise ValueError(f"bounds must lie in their order, but found {low} above {high}; swap them")
    return _asked(of, f"between {_in_full(low)} and {_in_full(high)}", lambda m: low <= m.value <= high)


def within(distance: float | int, target: float | int, of: str = "") -> Condition:
    """The value is no further than the distance from the target.

    Raises:
        ValueError: a negative distance: no value would do.
    """
    if distance < 0:
        raise ValueError(f"a distance must not be negative, but found {distance}; 0 asks for the target itself")
    return _asked(of, f"within {_in_full(distance)} of {_in_full(target)}", lambda m: abs(m.value - target) <= distance)


def within_share(share: float | int, target: float | int, of: str = "") -> Condition:
    """The value is no further from the target than a share of it.

    Raises:
        ValueError: a negative share, or 0 for the target: no value would do.
    """
    if share < 0:
        raise ValueError(f"a share must not be negative, but found {share}; 0 asks for the target itself")
    if target == 0:
        raise ValueError("a share must be one of a target other than 0, but found 0; take within(distance, 0)")
    return _asked(of, f"within {_in_full(100 * share)} % of {_in_full(target)}", lambda m: abs(m.value / target - 1) <= share)


def within_factor(factor: float | int, target: float | int, of: str = "") -> Condition:
    """The value lies between the target over the factor and the target times it.

    Raises:
        ValueError: a factor below 1: no value would do.
    """
    if factor < 1:
        raise ValueError(f"a factor must be 1 or more, but found {factor}; take its reciprocal")
    low, high = sorted((target / factor, factor * target))  # of a negative target the product is the lower end
    return _asked(of, f"within a factor of {_in_full(factor)} of {_in_full(target)}", lambda m: low <= m.value <= high)


def low_above(bound: float | int, of: str = "") -> Condition:
    """The whole interval exceeds the bound."""
    return _asked(of, f"above {_in_full(bound)} with its whole interval", lambda m: m.low > bound)


def low_at_least(bound: float | int, of: str = "") -> Condition:
    """No part of the interval is less than the bound."""
    return _asked(of, f"at least {_in_full(bound)} with its whole interval", lambda m: m.low >= bound)


def high_below(bound: float | int, of: str = "") -> Condition:
    """The whole interval is less than the bound."""
    return _asked(of, f"below {_in_full(bound)} with its whole interval", lambda m: m.high < bound)


def high_at_most(bound: float | int, of: str = "") -> Condition:
    """No part of the interval exceeds the bound."""
    return _asked(of, f"at most {_in_full(bound)} with its whole interval", lambda m: m.high <= bound)


def contains(bound: float | int, of: str = "") -> Condition:
    """The interval contains the bound."""
    return _asked(of, f"around {_in_full(bound)} with its interval", lambda m: m.low <= bound <= m.high)


def _in_full(bound: float | int) -> str:
    """A bound in six digits, or in all that it has where six say another number: whole ones, and decimals of up to twelve.

    A longer one, such as 1 / 3, is a fraction that was computed, and six digits of it tell which; what a bound is above or
    below another by less than 1e-8 of it is room for rounding.

    Raises:
        ValueError: it is no number.
    """
    if bound != bound:  # noqa: PLR0124  # of all numbers only this one differs from itself
        raise ValueError("a bound must be a number, but found nan; nothing is above or below it")
    text = f"{bound:g}"
    if math.isinf(bound):
        return text
    if bound == int(bound):
        return text if float(text) == bound else str(int(bound))
    longer = f"{bound:.12g}"
    return text if math.isclose(float(text), bound, rel_tol=1e-8) or float(longer) != bound else longer


def _asked(of: str, rule: str, test: Callable[[Measured], bool]) -> Condition:
    return Condition(f"{of} {rule}".strip(), test, of=of)


def _within_percent(share: float | int, target: float | int, of: str = "") -> Condition:
    return within_share(share / 100, target, of)


_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?|-?inf"
_RULES: tuple[tuple[str, Callable[..., Condition]], ...] = (
    (f"above ({_NUMBER}) with its whole interval", low_above),
    (f"at least ({_NUMBER}) with its whole interval", low_at_least),
    (f"below ({_NUMBER}) with its whole interval", high_below),
    (f"at most ({_NUMBER}) with its whole interval", high_at_most),
    (f"around ({_NUMBER}) with its interval", contains),
    (f"above ({_NUMBER})", above),
    (f"at least ({_NUMBER})", at_least),
    (f"below ({_NUMBER})", below),
    (f"at most ({_NUMBER})", at_most),
    (f"exactly ({_NUMBER})", equal),
    (f"between ({_NUMBER}) and ({_NUMBER})", between),
    (f"within ({_NUMBER}) of ({_NUMBER})", within),
    (f"within ({_NUMBER}) % of ({_NUMBER})", _within_percent),
    (f"within a factor of ({_NUMBER}) of ({_NUMBER})", within_factor),
)
# What a condition's words end with, and what they mean; the longer before the shorter that ends alike.


def condition(words: str) -> Condition:
    """Return the condition that words say: what the number is, then the rule, in the words that the other functions give it.

    >>> from claimlab.claims import Measurement
    >>> condition("gain in accuracy above 0.05 with its whole interval").test(Measurement(0.07, 0.06, 0.08, 5))
    True
    >>> condition("ratio at least 0.85, and at most 1.15").words
    'ratio at least 0.85, and at most 1.15'

    Raises:
        ValueError: they end with no rule.
    """
    first, joined, second = words.rpartition(", and ")
    if joined and _rule(second) is not None and _rule(first) is not None:
        return condition(first) & condition(second)
    found = _rule(words)
    if found is None:
        raise ValueError(f"a condition must end with a rule such as 'above 0.5', but found {words!r}; mend it")
    return found


def _rule(words: str) -> Condition | None:
    for pattern, make in _RULES:
        found = re.fullmatch(f"(.*?)\\s?{pattern}", words)
        if found:
            of, *numbers = found.groups()
            return make(*(_read(one) for one in numbers), of=of)
    return None


def _read(number: str) -> float | int:
    return int(number) if re.fullmatch(r"-?\d+", number) else float(number)

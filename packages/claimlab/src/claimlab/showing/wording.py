"""Numbers and spans of time as people read them, the same in the terminal, in the report and in the documentation."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from claimlab.claims import HELD, RANGE_BELOW, JudgedClaim, Measurement
from claimlab.conditions import condition

SIGNS = {
    "holds": "✓",
    "does not hold": "✗",
    "holds so far": "✓",
    "does not hold so far": "✗",
    "says nothing": "○",
    "not measured": "-",
    "not measurable here": "-",
}
"""A verdict's sign; the word always stands beside it."""

UNCHECKED = "recorded, not checked"
"""What is said of a verdict that was not computed from rows by claims that the user named."""

KINDS = {"claim": "paper", "hypothesis": "paper, hypothesis", "control": "control", "erratum": "erratum", "ours": "ours"}
"""Whose sentence a claim is, in words."""


def plain(text: str) -> str:
    r"""Return text that is only seen: what a terminal would obey, or turns the direction of reading, is spelled out.

    >>> print(plain("a claim\x1b[2J, \u202ereversed"))
    a claim\x1b[2J, \u202ereversed
    """
    obeyed = [c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in text]
    return "".join(c.encode("unicode_escape").decode() if it else c for c, it in zip(text, obeyed, strict=True))


def number(value: float | int | None) -> str:
    """Return three digits that matter, a dash where nothing was measured.

    >>> number(0.98765), number(1.0), number(999.6), number(12345.6), number(0.0000123), number(None)
    ('0.988', '1', '1,000', '12,346', '1.23e-05', '-')
    """
    if value is None:
        return "-"
    text = f"{value:.3g}"
    return f"{value:,.0f}" if abs(float(text)) >= 1000 else text


def interval(low: float | int | None, high: float | int | None) -> str:
    """Return an interval in brackets, empty where nothing was measured.

    >>> interval(0.5, 0.75), interval(None, None)
    ('[0.5, 0.75]', '')
    """
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"


def spread(low: float | int | None, high: float | int | None, seeds: int) -> str:
    """Return the ends of a measured number: an interval in brackets; a range, which claims less, for fewer than six seeds.

    One seed has no range. Ends that differ there are over something else, such as trials; the claim's condition says over what.

    >>> spread(0.5, 0.75, 10), spread(0.5, 0.75, 3), spread(None, None, 0)
    ('[0.5, 0.75]', '(0.5 to 0.75)', '')
    >>> spread(0.5, 0.75, 1), spread(0.5, 0.5, 1)
    ('(0.5 to 0.75, not over seeds)', '(0.5 to 0.5)')
    """
    if low is None or high is None:
        return ""
    if seeds >= RANGE_BELOW:
        return interval(low, high)
    elsewhere = ", not over seeds" if seeds == 1 and low != high else ""
    return f"({number(low)} to {number(high)}{elsewhere})"


def numbers(claim: JudgedClaim) -> str:
    """Return a measured number with its ends, or each of several behind its words; a dash where nothing was measured."""
    several = [f"{one.words} {number(one.measured)} {spread(one.low, one.high, one.n)}" for one in claim.parts]
    return "; ".join(several) or f"{number(claim.measured)} {spread(claim.low, claim.high, claim.n)}".strip()


def crosses(claim: JudgedClaim) -> bool:
    """Return whether a claim holds while a part of its interval does not meet the condition."""
    parts = claim.parts or (claim,)
    intervals = [(one.low, one.high) for one in parts if one.n >= RANGE_BELOW and one.low is not None and one.high is not None]
    if claim.verdict not in HELD:
        return False
    try:
        asked = condition(claim.condition)
    except ValueError:  # a rule in somebody's own words
        return False
    return not all(asked.test(Measurement(end, low, high, claim.n)) for low, high in intervals for end in (low, high))


def duration(seconds: float | int) -> str:
    """Return a span of time in its two largest units.

    >>> duration(0.25), duration(12.34), duration(75), duration(3725), duration(90000)
    ('0.2 s', '12 s', '1 min 15 s', '1 h 02 min', '25 h 00 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def spent(seconds: float | int) -> str:
    """Return a span of time in its largest unit, as one number.

    >>> spent(0.25), spent(12.34), spent(75), spent(3725), spent(90000)
    ('0.2 s', '12 s', '1.2 min', '1 h', '25 h')
    """
    size, unit = (3600, "h") if seconds >= 3600 else (60, "min") if seconds >= 60 else (1, "s")
    count = seconds / size
    return (f"{count:.0f}" if count >= 9.95 else f"{count:.1f}".removesuffix(".0")) + f" {unit}"


def numerals(numbers: Sequence[int]) -> str:
    """Return whole numbers with runs of neighbours drawn together.

    >>> numerals([0, 1, 2, 3, 4]), numerals([3, 7]), numerals([1, 2])
    ('0 to 4', '3, 7', '1, 2')
    """
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def counted(number: int, word: str) -> str:
    """Return a number of things.

    >>> counted(1, "seed"), counted(5, "seed")
    ('1 seed', '5 seeds')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"


def times(number: int) -> str:
    """Return how often something happened.

    >>> times(1), times(2), times(3)
    ('once', 'twice', '3 times')
    """
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def tallied(number: int, verdict: str) -> str:
    """Return a number of verdicts.

    >>> tallied(1, "does not hold"), tallied(2, "does not hold so far"), tallied(3, "holds"), tallied(2, "not measured")
    ('1 does not hold', '2 do not hold so far', '3 hold', '2 not measured')
    """
    return f"{number} {verdict if number == 1 else verdict.replace('does not', 'do not').replace('holds', 'hold')}"

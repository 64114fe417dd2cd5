"""Claims: sentences of a paper that a run can refute, and the verdict that recorded rows compute on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from craik.lab.errors import LabError
from craik.lab.rows import Row

__all__ = ["Claim", "JudgedClaim", "Measurement", "Row", "Verdict", "bootstrap", "judge"]

Verdict = Literal["holds", "does not hold", "not measured"]


@dataclass(frozen=True)
class Measurement:
    """A measured number and its uncertainty.

    Args:
        value: the number itself.
        low: lower end of its interval.
        high: upper end of its interval.
        n: the number of seeds it rests on.

    Raises:
        ValueError: a number that is not finite, an interval that is upside down, or no seed.
    """

    value: float | int
    low: float | int
    high: float | int
    n: int

    def __post_init__(self) -> None:
        if not all(math.isfinite(number) for number in (self.value, self.low, self.high)):
            raise ValueError(f"a measurement must be finite, but found {self}; return None where nothing was measured")
        if self.low > self.high:
            raise ValueError(f"a measurement's low must not exceed its high, but found {self}; swap them")
        if self.n < 1:
            raise ValueError(f"a measurement rests on one seed or more, but found n = {self.n}; return None instead")


def bootstrap(
    values: Sequence[float | int] | np.ndarray[Any, np.dtype[Any]],
    statistic: Callable[..., Any] = np.median,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Measurement:
    """A statistic over seeds with its percentile bootstrap interval (Efron 1979).

    With n values, a resample draws n of them with replacement; the interval holds the central `level` of the
    statistic over all resamples. One value gives an interval of no width: it says nothing about the spread.

    >>> bootstrap([0.5])
    Measurement(value=0.5, low=0.5, high=0.5, n=1)

    Args:
        values: one number for each seed.
        statistic: called with an array and `axis=-1`, such as `numpy.median` or `numpy.mean`.
        level: the share of resamples inside the interval, between 0 and 1.
        resamples: how many resamples are drawn.
        seed: of the generator that draws them: the same values always give the same interval.

    Raises:
        ValueError: no value, a value that is not finite, or a level outside (0, 1).
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0:
        raise ValueError(f"bootstrap needs one value per seed, but found shape {sample.shape}; return None for no seeds")
    if not np.isfinite(sample).all():
        raise ValueError(f"bootstrap needs finite values, but found {sample.tolist()}; leave out what was not measured")
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval must lie between 0 and 1, but found {level}; 0.95 is usual")
    draws = np.random.default_rng(seed).integers(0, sample.size, size=(resamples, sample.size))
    replicates = statistic(sample[draws], axis=-1)
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
    return Measurement(float(statistic(sample, axis=-1)), float(low), float(high), int(sample.size))


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that a run can refute.

    Args:
        id: `<experiment>.<what>`, such as `spirals.and-mask-accuracy`.
        text: the sentence.
        source: the figure, table or proposition it stands in.
        printed: the printed number as it is printed ("about 1.00"), None where there is none.
        measure: from recorded rows to the measured number; None where the rows cannot say.
        holds: whether the measured number bears the claim out.
        condition: the sentence for `holds`.
        presets: the presets at which the claim is meant to be measured; "not measured" at any other.
        tried: what was tried; shown when the claim does not hold.
    """

    id: str
    text: str
    source: str
    printed: str | None
    measure: Callable[[Sequence[Row]], Measurement | None]
    holds: Callable[[Measurement], bool]
    condition: str
    presets: tuple[str, ...] = ("quick", "paper")
    tried: str = ""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim beside what was measured; all JSON scalars, as `claims.json` keeps it. `n` counts seeds."""

    id: str
    text: str
    source: str
    printed: str | None
    condition: str
    measured: float | int | None
    low: float | int | None
    high: float | int | None
    n: int
    verdict: Verdict
    tried: str


def judge(claim: Claim, rows: Sequence[Row], preset: str) -> JudgedClaim:
    """Measures a claim on recorded rows and computes its verdict.

    Args:
        claim: the sentence and its two functions.
        rows: everything that was recorded; with no rows the claim is "not measured".
        preset: at which preset the rows were made.

    Raises:
        LabError: the claim's own functions failed, which is a fault in the experiment.
    """
    measured, verdict = None, "not measured"
    if rows and preset in claim.presets:
        try:
            measured = claim.measure(rows)
            if measured is not None:
                verdict = "holds" if claim.holds(measured) else "does not hold"
        except (KeyError, TypeError, ValueError, ZeroDivisionError, IndexError) as error:
            found = f"{type(error).__name__}: {error}"
            raise LabError(
                f"the claim {claim.id} must be measurable on the recorded rows, but found {found}; mend its measure or holds"
            ) from error
    value, low, high, n = (measured.value, measured.low, measured.high, measured.n) if measured else (None, None, None, 0)
    texts = (claim.id, claim.text, claim.source, claim.printed, claim.condition)
    return JudgedClaim(*texts, measured=value, low=low, high=high, n=n, verdict=verdict, tried=claim.tried)

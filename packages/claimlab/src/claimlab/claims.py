"""Claims: sentences of a paper that a run can refute, and the verdict that recorded rows compute on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from claimlab.conditions import Condition, Earlier
from claimlab.errors import LabError
from claimlab.rows import Row, Rows, Scalar

Kind = Literal["claim", "hypothesis", "control", "erratum", "ours"]
"""Whose sentence it is and what for: a text's claim or hypothesis, a control, an erratum of ours to a text, a claim of ours."""

Verdict = Literal["holds", "does not hold", "holds so far", "does not hold so far", "not measured", "not measurable here"]
"""A verdict on fewer than five seeds is one "so far"."""

FEW = 5
"""Below so many seeds a verdict is one "so far"."""

RANGE_BELOW = 6
"""Below so many seeds the two ends of a measured number are a range: what single seeds say, from the least to the most."""


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


Measure = Callable[[Rows], Measurement | None]
"""From recorded rows to a measured number; None where they cannot say."""


def bootstrap(
    values: Sequence[float | int] | np.ndarray[Any, np.dtype[Any]],
    statistic: Callable[..., Any] = np.median,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Measurement:
    """A statistic over seeds with its percentile bootstrap interval (Efron 1979), or with its range where seeds are few.

    With n values, a resample draws n of them with replacement; the interval holds the central `level` of the
    statistic over all resamples. Below `RANGE_BELOW` values such an interval promises more than it keeps, that of a mean
    above all: there the ends are the least and the most of what single seeds give. One value gives a range of no width: it
    says nothing about the spread.

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
    value = float(statistic(sample, axis=-1))
    if sample.size < RANGE_BELOW:
        alone = [value, *statistic(np.repeat(sample[:, None], sample.size, axis=1), axis=-1)]
        return Measurement(value, float(min(alone)), float(max(alone)), int(sample.size))
    draws = np.random.default_rng(seed).integers(0, sample.size, size=(resamples, sample.size))
    replicates = statistic(sample[draws], axis=-1)
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
    return Measurement(value, float(low), float(high), int(sample.size))


@dataclass(frozen=True)
class OverSeeds:
    """A measure for `Claim`: a statistic over seeds of one number in the rows that hold some values.

    Args:
        key: the number.
        values: what the rows must hold; one row a seed.
        statistic: of the seeds' numbers; called with ``axis=-1``.
    """

    key: str
    values: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    statistic: Callable[..., Any] = np.median

    def __call__(self, rows: Rows) -> Measurement | None:
        """The statistic with its bootstrap interval, or None where no row holds the values."""
        found = [_only(group, self.key) for group in rows.where(**self.values).by("seed").values()]
        return bootstrap(found, self.statistic) if found else None


@dataclass(frozen=True)
class Paired:
    """A measure for `Claim`: a statistic over seeds of a number in some rows less the same in others of the same seed.

    Args:
        key: the number.
        one: what the rows must hold; one row a seed.
        other: what those must hold that are set beside them; a seed that lacks either is left out.
        statistic: of the seeds' numbers; called with ``axis=-1``.
        over: divide by the other number, in place of taking it away.
    """

    key: str
    one: Mapping[str, Scalar]
    other: Mapping[str, Scalar]
    statistic: Callable[..., Any] = np.median
    over: bool = False

    def __call__(self, rows: Rows) -> Measurement | None:
        """The statistic with its bootstrap interval, or None where no seed has both."""
        found: list[float] = []
        for group in rows.by("seed").values():
            ones, others = group.where(**self.one), group.where(**self.other)
            if ones and others:
                one, other = _only(ones, self.key), _only(others, self.key)
                found.append(one / other if self.over else one - other)
        return bootstrap(found, self.statistic) if found else None


def _only(rows: Rows, key: str) -> float:
    """The number in a seed's only row that has it: of two, one would count for nothing, or the seed for two."""
    found = rows[key]
    if len(found) > 1:
        raise ValueError(f"a measure over seeds must find one row a seed, but found {len(found)} with {key}; name more values")
    return found[0]


@dataclass(frozen=True)
class EachSeed:
    """A measure for `Claim`: a statistic over seeds of a number that each seed's rows give.

    Args:
        number: of one seed's rows; None for a seed that lacks it, which is left out.
        statistic: of the seeds' numbers; called with ``axis=-1``.
    """

    number: Callable[[Rows], float | None]
    statistic: Callable[..., Any] = np.mean

    def __call__(self, rows: Rows) -> Measurement | None:
        """The statistic with its bootstrap interval, or None where no seed has the number."""
        found = [value for group in rows.by("seed").values() if (value := self.number(group)) is not None]
        return bootstrap(found, self.statistic) if found else None


@dataclass(frozen=True)
class Least:
    """A measure for `Claim`: of several comparisons, each of which must be met, the least value, low end and high end.

    Such as a method's lead where both are trained to the end, and its lead where both stop early: with a condition that asks
    for a low end above a bound, each must be above it.

    Args:
        measures: the comparisons.
    """

    measures: Sequence[Measure]

    def __call__(self, rows: Rows) -> Measurement | None:
        """The least of each; None where the rows cannot say one of them."""
        return _outermost(self.measures, rows, min)


@dataclass(frozen=True)
class Greatest:
    """A measure for `Claim`: of several comparisons, each of which must be met, the greatest value, low end and high end.

    As `Least`, for what should be small, such as a ratio of errors.

    Args:
        measures: the comparisons.
    """

    measures: Sequence[Measure]

    def __call__(self, rows: Rows) -> Measurement | None:
        """The greatest of each; None where the rows cannot say one of them."""
        return _outermost(self.measures, rows, max)


def _outermost(measures: Sequence[Measure], rows: Rows, pick: Callable[[list[float | int]], float | int]) -> Measurement | None:
    found = [measure(rows) for measure in measures]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    value, low, high = (pick([getattr(one, name) for one in known]) for name in ("value", "low", "high"))
    return Measurement(value, low, high, min(one.n for one in known))


EARLY_STOPPING = "Early stopping is a baseline of every comparison."
"""Why a condition that asked of trainings at their ends alone has been made harder."""


def where_stopped(measure: Measure) -> Measure:
    """Return a measure of trainings that validation has stopped: what a row has as `stopped_X` stands in the place of its X.

    Rows that have no such columns, of records before there were any, say nothing to it: of none it gives None.
    """

    def measured(rows: Rows) -> Measurement | None:
        found = [row | stopped for row in rows if (stopped := _stopped(row))]
        return measure(Rows(found)) if found else None

    return measured


def _if_looked_at(both: Measure, ends: Measure) -> Measure:
    return lambda rows: (both if any(_stopped(row) for row in rows) else ends)(rows)


def _stopped(row: Row) -> Row:
    return {key.removeprefix("stopped_"): value for key, value in row.items() if key.startswith("stopped_")}


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that a run can refute.

    Args:
        id: `<experiment>.<what>`, such as `spirals.and-mask-accuracy`.
        text: the sentence.
        source: the figure, table or proposition it stands in.
        measure: from recorded rows to the measured number; None where the rows cannot say.
        condition: what must be measured for the claim to hold.
        printed: the printed number as it is printed ("about 1.00"), None where there is none.
        kind: whose sentence it is.
        tried: what was tried.
    """

    id: str
    text: str
    source: str
    measure: Measure
    condition: Condition
    printed: str | None = None
    kind: Kind = "claim"
    tried: str = ""

    def also_stopped(
        self,
        of_both: type[Least | Greatest],
        stopped: Measure | None = None,
        trainings: str = "both",
        unlooked: Sequence[str] = (),
    ) -> Claim:
        """The same claim, asked of trainings at their ends, as it was, and of the same where validation stops them.

        Args:
            of_both: `Least` for what should be large, `Greatest` for what should be small.
            stopped: the measure where validation stops; None for `where_stopped` of that at the ends.
            trainings: what validation stops, in the condition's words.
            unlooked: presets whose records were made before there were looks. Of rows without any the ends alone are asked
                then, as the condition says.
        """
        lesser = "lesser" if of_both is Least else "greater"
        both = of_both((self.measure, stopped or where_stopped(self.measure)))
        but = f" (of {' and '.join(unlooked)}, without looks, that at the ends)" if unlooked else ""
        # What was asked before of "the same number" was asked of the ends.
        earlier = tuple(replace(one, measure=one.measure or self.measure) for one in self.condition.earlier)
        before = replace(self.condition, earlier=earlier)
        harder = self.condition.saying(f"the {lesser} of that at the ends and that where validation stops {trainings}{but},")
        return replace(
            self,
            measure=_if_looked_at(both, self.measure) if unlooked else both,
            condition=harder.instead_of(before, EARLY_STOPPING, self.measure),
        )


@dataclass(frozen=True)
class Reading:
    """What an earlier condition of a claim says of the same rows.

    Args:
        condition: in words.
        why: another one took its place.
        measured: the number it was asked of; None where the rows cannot say.
        verdict: under it.
    """

    condition: str
    why: str
    measured: float | int | None
    verdict: Verdict


@dataclass(frozen=True)
class JudgedClaim:
    """A claim beside what was measured; all JSON values, as `claims.json` keeps it. `n` counts seeds."""

    id: str
    kind: Kind
    text: str
    source: str
    printed: str | None
    condition: str
    tried: str
    measured: float | int | None = None
    low: float | int | None = None
    high: float | int | None = None
    n: int = 0
    verdict: Verdict = "not measured"
    earlier: tuple[Reading, ...] = ()


def judge(claim: Claim, rows: Sequence[Row], preset: str) -> JudgedClaim:
    """Measures a claim on recorded rows and computes its verdict.

    Args:
        claim: the sentence, its measure and its condition.
        rows: everything that was recorded. Without rows the claim is "not measured"; of rows that cannot say, or of a preset
            that the claim is not meant for, it is "not measurable here".
        preset: at which preset the rows were made.

    Raises:
        LabError: the claim's own functions failed, which is a fault in the experiment.
    """
    sentence = JudgedClaim(claim.id, claim.kind, claim.text, claim.source, claim.printed, claim.condition.words, claim.tried)
    if not rows:
        return sentence
    measured, verdict = _judged(claim, claim.measure, claim.condition, Rows(rows), preset)
    earlier = tuple(_reading(claim, one, Rows(rows), preset) for one in claim.condition.earlier)
    if measured is None:
        return replace(sentence, verdict=verdict, earlier=earlier)
    low, high = measured.low, measured.high
    return replace(sentence, measured=measured.value, low=low, high=high, n=measured.n, verdict=verdict, earlier=earlier)


def _reading(claim: Claim, earlier: Earlier, rows: Rows, preset: str) -> Reading:
    measured, verdict = _judged(claim, earlier.measure or claim.measure, earlier.condition, rows, preset)
    return Reading(earlier.condition.words, earlier.why, None if measured is None else measured.value, verdict)


def _judged(
    claim: Claim, measure: Callable[[Rows], Any], condition: Condition, rows: Rows, preset: str
) -> tuple[Measurement | None, Verdict]:
    if preset not in condition.presets:
        return None, "not measurable here"
    try:
        found = measure(rows)
        if found is None:
            return None, "not measurable here"
        measured = _plain(found)
        return measured, _verdict(condition.test(measured), measured.n)
    except LabError:
        raise
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise LabError(
            f"the claim {claim.id} must be measurable on the recorded rows, but found {raised}; mend its measure or condition"
        ) from error


def _plain(found: object) -> Measurement:
    """What a measure gave, its numbers Python's own: those of numpy are no JSON.

    Raises:
        TypeError: it is no measurement.
    """
    if not isinstance(found, Measurement):
        raise TypeError(f"a measure gives a Measurement or None, not a {type(found).__name__}")
    value, low, high = (one if type(one) is int else float(one) for one in (found.value, found.low, found.high))
    return Measurement(value, low, high, int(found.n))


def _verdict(holds: bool, seeds: int) -> Verdict:
    if seeds < FEW:
        return "holds so far" if holds else "does not hold so far"
    return "holds" if holds else "does not hold"

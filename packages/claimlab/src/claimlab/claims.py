"""Claims: sentences of a paper that a run can refute, and the verdict that recorded rows compute on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from claimlab.conditions import Condition
from claimlab.errors import LabError
from claimlab.rows import Row, Rows, Scalar

Kind = Literal["claim", "hypothesis", "control", "erratum", "ours"]
"""Whose sentence it is and what for: a text's claim or hypothesis, a control, an erratum of ours to a text, a claim of ours."""

Verdict = Literal[
    "holds", "does not hold", "holds so far", "does not hold so far", "says nothing", "not measured", "not measurable here"
]
"""A verdict on fewer than five seeds is one "so far"; one that "says nothing" has a need that fails."""

HELD: tuple[Verdict, ...] = ("holds", "holds so far")
FAILED: tuple[Verdict, ...] = ("does not hold", "does not hold so far")

FEW = 5
"""Below so many seeds a verdict is one "so far"."""

RANGE_BELOW = 6
"""Below so many seeds the two ends of a measured number are a range: what single seeds say, from the least to the most."""


@dataclass(frozen=True)
class Measurement:
    """A measured number, the ends of its interval, and how many seeds it rests on.

    Raises:
        ValueError: if a number is not finite, `low` is above `high`, or there is no seed.
    """

    value: float | int
    low: float | int
    high: float | int
    n: int

    def __post_init__(self) -> None:
        if not all(math.isfinite(number) for number in (self.value, self.low, self.high)):
            raise ValueError(f"A measurement should be finite. Found {self}. Return None where nothing was measured.")
        if self.low > self.high:
            raise ValueError(f"A measurement's low should be at most its high. Found {self}. Swap them.")
        if self.n < 1:
            raise ValueError(f"A measurement should be of at least one seed. Found n = {self.n}. Return None instead.")


@dataclass(frozen=True)
class Needs:
    """Ids of claims that another's verdict rests on.

    Args:
        premises: if one of them fails, the verdict says nothing, whichever it was: nothing was learnt, nothing there to lose.
        placebos: if one of them fails, a claim that holds says nothing: something else does it as well.
        controls: what we ask more than the text: a second question beside the verdict.
        why: the reason, in a few words.
    """

    premises: tuple[str, ...] = ()
    placebos: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    why: str = ""


Measure = Callable[[Rows], Measurement | None]
"""From recorded rows to a measured number; None where they cannot say."""


def bootstrap(
    values: Sequence[float | int] | np.ndarray[Any, np.dtype[Any]],
    statistic: Callable[..., Any] = np.median,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Measurement:
    """Return a statistic over seeds with its percentile bootstrap interval (Efron 1979), or with its range where seeds are few.

    With n values, a resample draws n of them with replacement; the interval holds the central `level` of the
    statistic over all resamples. Of a mean it is Student's t interval: a percentile interval of six seeds covers 88 %. Below
    `RANGE_BELOW` values the ends are the least and the most of what single seeds give: an interval would promise more than it
    keeps. One value gives a range of no width: it says nothing about the spread.

    >>> bootstrap([0.5])
    Measurement(value=0.5, low=0.5, high=0.5, n=1)

    Args:
        values: one number for each seed.
        statistic: called with an array and `axis=-1`, such as `numpy.median` or `numpy.mean`.
        level: the share of resamples inside the interval, between 0 and 1.
        resamples: how many resamples are drawn.
        seed: of the generator that draws them: the same values always give the same interval.

    Raises:
        ValueError: if there is no value, one is not finite, or the level is outside (0, 1).
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0:
        raise ValueError(f"`values` should hold one number per seed. Found shape {sample.shape}. Return None for no seeds.")
    if not np.isfinite(sample).all():
        raise ValueError(f"`values` should be finite. Found {sample.tolist()}. Leave out what was not measured.")
    if not 0 < level < 1:
        raise ValueError(f"`level` should lie between 0 and 1. Found {level}. Pass 0.95, the usual one.")
    value = float(statistic(sample, axis=-1))
    if sample.size < RANGE_BELOW:
        alone = [value, *statistic(np.repeat(sample[:, None], sample.size, axis=1), axis=-1)]
        return Measurement(value, float(min(alone)), float(max(alone)), int(sample.size))
    if statistic is np.mean:
        from scipy.special import stdtrit  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]  # slow to import

        width = float(stdtrit(sample.size - 1, (1 + level) / 2) * sample.std(ddof=1) / math.sqrt(sample.size))
        return Measurement(value, value - width, value + width, int(sample.size))
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
        less: another number of the same rows, which is taken away; "" for none.
    """

    key: str
    values: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    statistic: Callable[..., Any] = np.median
    less: str = ""

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the statistic with its bootstrap interval, or None where no row holds the values."""
        groups = rows.where(**self.values).by("seed").values()
        found = [_only(group, self.key) - (_only(group, self.less) if self.less else 0.0) for group in groups]
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
        """Return the statistic with its bootstrap interval, or None where no seed has both."""
        found: list[float] = []
        for group in rows.by("seed").values():
            ones, others = group.where(**self.one), group.where(**self.other)
            if ones and others:
                one, other = _only(ones, self.key), _only(others, self.key)
                found.append(one / other if self.over else one - other)
        return bootstrap(found, self.statistic) if found else None


def _only(rows: Rows, key: str) -> float:
    """Return the number in a seed's only row that has it: of two, one would count for nothing, or the seed for two."""
    found = rows[key]
    if len(found) > 1:
        raise ValueError(f"A measure over seeds should find one row per seed. Found {len(found)} with {key}. Name more values.")
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
        """Return the statistic with its bootstrap interval, or None where no seed has the number."""
        found = [value for group in rows.by("seed").values() if (value := self.number(group)) is not None]
        return bootstrap(found, self.statistic) if found else None


def both_stopped(measure: Measure, stopped: Measure | None = None) -> dict[str, Measure]:
    """Return a measure of trainings at their ends beside that of the same where validation stops them, by their words.

    The latter is `where_stopped` of the former if none is given.
    """
    return {FINAL: measure, EARLY_STOPPED: stopped or where_stopped(measure)}


def where_stopped(measure: Measure) -> Measure:
    """Return a measure of trainings that validation has stopped: what a row has as `stopped_X` stands in the place of its X.

    Rows that have no such columns, of records before there were any, say nothing to it: of none it gives None.
    """

    def measured(rows: Rows) -> Measurement | None:
        found = [row | stopped for row in rows if (stopped := _stopped(row))]
        return measure(Rows(found)) if found else None

    return measured


def _stopped(row: Row) -> Row:
    return {key.removeprefix("stopped_"): value for key, value in row.items() if key.startswith("stopped_")}


FINAL, EARLY_STOPPED = "final", "early-stopped"
"""The two numbers of a claim that is asked of trainings at their ends and of the same where validation stops them."""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that a run can refute.

    Args:
        id: `<experiment>.<what>`, such as `spirals.and-mask-accuracy`.
        text: the sentence.
        source: the figure, table or proposition it stands in.
        measure: from recorded rows to the measured number, None where the rows cannot say; or several, each by its words, which
            must all meet the condition.
        condition: what must be measured for the claim to hold.
        printed: the printed number as it is printed ("about 1.00"), None where there is none.
        kind: whose sentence it is.
        tried: what was tried.
        earlier: conditions that this one took the place of, and why, a sentence each.
        needs: other claims that this one's verdict rests on.
        cell_of: the claim that this one is a further cell of, as of one sentence asked of another body.
        unlooked: presets whose records were made before there were looks: of them the first measure alone is asked.
    """

    id: str
    text: str
    source: str
    measure: Measure | Mapping[str, Measure]
    condition: Condition
    printed: str | None = None
    kind: Kind = "claim"
    tried: str = ""
    earlier: tuple[str, ...] = ()
    needs: Needs = Needs()
    cell_of: str | None = None
    unlooked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """One of several numbers that a claim is asked of; `words` tell it from the others, `n` counts seeds."""

    words: str
    measured: float | int
    low: float | int
    high: float | int
    n: Annotated[int, Ge(1)]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim beside what was measured; all JSON values, as `claims.json` keeps it. `n` counts seeds.

    Where there are several numbers, `parts` has them all, and `measured` is the one that decides: the first that does not meet
    the condition, else the first.
    """

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
    n: Annotated[int, Ge(0)] = 0
    verdict: Verdict = "not measured"
    earlier: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    needs: Needs = Needs()
    cell_of: str | None = None


def judge(claim: Claim, rows: Sequence[Row], preset: str) -> JudgedClaim:
    """Measure a claim on recorded rows and compute its verdict, whatever it needs (`claimlab.needs` weighs that).

    Args:
        claim: the sentence, its measure and its condition.
        rows: everything that was recorded. Without rows the claim is "not measured"; of rows that cannot say, or of a preset
            that the claim is not meant for, it is "not measurable here".
        preset: at which preset the rows were made.

    Raises:
        LabError: if the claim's own functions fail, which is a fault in the experiment.
    """
    sentence = JudgedClaim(
        claim.id, claim.kind, claim.text, claim.source, claim.printed, claim.condition.words, claim.tried,
        earlier=claim.earlier, needs=claim.needs, cell_of=claim.cell_of,
    )  # fmt: skip
    if not rows:
        return sentence
    if preset not in claim.condition.presets:
        return replace(sentence, verdict="not measurable here")
    try:
        return _judged(claim, sentence, Rows(rows), preset)
    except LabError:
        raise
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise LabError(
            f"The claim {claim.id} should be measurable on the recorded rows. Found {raised}. Fix its measure or condition."
        ) from error


def _judged(claim: Claim, sentence: JudgedClaim, rows: Rows, preset: str) -> JudgedClaim:
    measures = claim.measure if isinstance(claim.measure, Mapping) else {"": claim.measure}
    found = {words: None if (one := measure(rows)) is None else _plain(one) for words, measure in measures.items()}
    known = {words: one for words, one in found.items() if one is not None}
    first = next(iter(found))
    if first not in known or (len(known) < len(found) and preset not in claim.unlooked):
        return replace(sentence, verdict="not measurable here")
    failing = [one for one in known.values() if not claim.condition.test(one)]
    decides = (failing or list(known.values()))[0]
    parts = tuple(Part(words, one.value, one.low, one.high, one.n) for words, one in known.items() if words)
    return replace(
        sentence, measured=decides.value, low=decides.low, high=decides.high, n=decides.n, parts=parts,
        verdict=_verdict(not failing, min(one.n for one in known.values())),
    )  # fmt: skip


def _plain(found: object) -> Measurement:
    """Return what a measure gave, its numbers Python's own: those of numpy are no JSON."""
    if not isinstance(found, Measurement):
        raise TypeError(f"a measure gives a Measurement or None, not a {type(found).__name__}")
    value, low, high = (one if type(one) is int else float(one) for one in (found.value, found.low, found.high))
    return Measurement(value, low, high, int(found.n))


def _verdict(holds: bool, seeds: int) -> Verdict:
    if seeds < FEW:
        return "holds so far" if holds else "does not hold so far"
    return "holds" if holds else "does not hold"

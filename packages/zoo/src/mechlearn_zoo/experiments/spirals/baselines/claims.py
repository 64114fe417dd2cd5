"""What is claimed of each method's selected trial, and of all trials of a search that reads no test data."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from claimlab import (
    Claim,
    Condition,
    EachSeed,
    Greatest,
    Least,
    Measure,
    Measurement,
    Row,
    Rows,
    at_least,
    at_most,
    high_at_most,
    low_above,
    low_at_least,
    number,
)

FITS = 0.97
"""Training accuracy from which on a trial has fitted its data, as the texts' stopping rule has it."""


def fitted(rows: Rows, method: str) -> Rows:
    """Return a method's trials that fitted their training data: of others, accuracy at chance says nothing."""
    finished = rows.where(method=method, outcome="finished")
    return finished.where(lambda row: number(row, "train_accuracy") >= FITS)


def selected(rows: Rows, method: str, fits: bool = False) -> Row | None:
    """Return a method's trial that is best on held-out environments, of all or of those that fitted their training data."""
    some = fitted(rows, method) if fits else rows.where(method=method, outcome="finished")
    return max(some, key=lambda row: number(row, "validation_accuracy"), default=None)


@dataclass(frozen=True)
class Selected:
    """The test accuracy of a method's selected trial; its interval spans all trials that it was selected from.

    However many these are, one number on one data set is left: n is 1.
    """

    method: str
    fits: bool = True

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the measurement, or None without a finished trial."""
        best = selected(rows, self.method, self.fits)
        if best is None:
            return None
        some = fitted(rows, self.method) if self.fits else rows.where(method=self.method, outcome="finished")
        accuracies = some["test_accuracy"]
        return Measurement(number(best, "test_accuracy"), min(accuracies), max(accuracies), 1)


def seeds_are_data_sets(rows: Rows) -> bool:
    """Return whether each seed is a data set with trials of its own; else each is a trial, all on one data set."""
    return any("trial" in row for row in rows)


def data_sets(rows: Rows) -> list[Rows]:
    """Return the rows of each data set."""
    return list(rows.by("seed").values()) if seeds_are_data_sets(rows) else [rows]


def median_over_data_sets(measure: Measure, unfitted: float | None = None) -> Measure:
    """Return a measure over several data sets: the median of what one says of each, with its interval over data sets.

    Rows whose seeds are trials on one data set are measured as they are.

    Args:
        measure: of one data set's rows.
        unfitted: what a data set counts on which that finds no trial; None leaves it out.
    """

    def value(group: Rows) -> float | None:
        found = measure(group)
        return unfitted if found is None else found.value

    over = EachSeed(value, np.median)
    return lambda rows: over(rows) if seeds_are_data_sets(rows) else measure(rows)


def over_data_sets(claim: Claim, several: Condition, unfitted: float | None = None) -> Claim:
    """Return a claim on one data set that asks several for their median's whole interval; of one it asks what it did.

    Args:
        claim: as it is asked of one data set.
        several: what several must meet.
        unfitted: what a data set counts on which no trial fits; None leaves it out.
    """
    before = claim.condition
    fate = "is left out" if unfitted is None else f"counts {unfitted:g}"
    asked = before.saying(f"of several data sets the median (interval: over these; one on which none fits {fate}),")
    # Of one data set the interval is of its trials, and has never been asked.
    condition = Condition(
        f"{asked.words}, of several with its whole interval",
        lambda measured: (several if measured.n > 1 else before).test(measured),
        before.presets,
        of=asked.of,
    )
    return replace(
        claim,
        measure=median_over_data_sets(claim.measure, unfitted),
        condition=condition.instead_of(before, _ONE, claim.measure),
    )


_NAMES = {"dropout": "dropout", "l1": "L1", "l2": "L2", "batch-norm": "BatchNorm", "dann": "DANN"}
_ALL = "test accuracy of the trial selected on held-out environments (interval: all trials)"
_OF = "test accuracy of the trial selected on held-out environments, of those that fit (interval: all of these)"
_ONE = "Trials on one data set say nothing of others; this took all trials for trials on one."
_WHY = "A trial that does not fit its training data cannot rely on anything, and passed."

_PRESETS = ("quick", "data-sets", "paper")


def _at_most(bound: float, method: str) -> Condition:
    before = at_most(bound, of=_ALL).at(*_PRESETS)
    return at_most(bound, of=_OF).at(*_PRESETS).instead_of(before, _WHY, Selected(method, fits=False))


CLAIMS = (
    *(
        over_data_sets(
            Claim(
                id=f"spirals-baselines.{method}",
                text=f"Nothing in the printed ranges makes {name} significantly better than chance on o.o.d. test data.",
                source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
                printed="about 0.50",
                measure=Selected(method),
                condition=_at_most(0.6, method),
            ).also_stopped(Greatest, trainings="each"),
            high_at_most(0.6),
        )
        for method, name in _NAMES.items()
    ),
    over_data_sets(
        Claim(
            id="spirals-baselines.irm",
            text="IRM does not reach perfect test accuracy: the AND-mask was the only method that did.",
            source="thesis section 3.3.1 and figure 3.6; paper section 3.1 and figure 6",
            printed="below 1.00",
            measure=Selected("irm"),
            condition=_at_most(0.95, "irm"),
        ).also_stopped(Greatest, trainings="each"),
        high_at_most(0.95),
    ),
    over_data_sets(
        Claim(
            id="spirals-baselines.and-mask",
            text="With settings from the same ranges, and as many trials, the AND-mask does find the spirals.",
            source="thesis section 3.3.1, appendix B.2.3 and figure 3.6; paper section 3.1 and figure 6",
            printed="about 1.00",
            measure=Selected("and-mask"),
            condition=at_least(0.9, of=_OF)
            .at(*_PRESETS)
            .instead_of(at_least(0.9, of=_ALL).at(*_PRESETS), _WHY, Selected("and-mask", fits=False)),
        ),
        low_at_least(0.9),
        unfitted=0.5,
    ),
)


Penalty = Literal["l1", "l2"]
_PENALTIES: tuple[Penalty, ...] = ("l1", "l2")


def penalised(rows: Rows, penalty: Penalty, stops: bool = False, resamples: int = 10_000) -> Measurement | None:
    """Return by how much trials with a penalty are above trials with none, in mean accuracy on held-out environments.

    Trial 0, which is the printed setting and was not drawn, is left out. At its end one that diverged counts as 0, whatever
    its last look said; where trials stop early each counts with the best of its looks, and with 0 if it diverged before any.
    The interval resamples the trials of each kind; all are on one data set, so that n is 1.
    """
    drawn = rows.where(lambda row: number(row, "seed") > 0)
    accuracies = _stopped if stops else _at_end
    withs = accuracies(drawn.where(lambda row: number(row, penalty) > 0))
    without = accuracies(drawn.where(lambda row: number(row, "l1") == number(row, "l2") == 0))
    if not withs or not without:
        return None
    generator = np.random.default_rng(0)
    means = [np.mean(generator.choice(some, (resamples, len(some))), axis=1) for some in (withs, without)]
    low, high = np.quantile(means[0] - means[1], (0.025, 0.975))
    return Measurement(float(np.mean(withs) - np.mean(without)), float(low), float(high), 1)


def _at_end(rows: Rows) -> list[float]:
    trials = rows.where(kind="trial")
    return [0.0 if str(row.get("outcome")).startswith("diverged") else number(row, "validation_accuracy") for row in trials]


def _stopped(rows: Rows) -> list[float]:
    # A trial's last row repeats its last look, or has 0 where there was none.
    return [max(trial["validation_accuracy"]) for trial in rows.by("seed").values()]


def _with(penalty: Penalty, stops: bool = False) -> Measure:
    return lambda rows: penalised(rows, penalty, stops)


SEARCH = tuple(
    Claim(
        id=f"spirals-search.{penalty}",
        text=f"With {penalty.upper()} the AND-mask's results are more robust over settings than without a penalty.",
        source="thesis section 3.3.1; paper section 3.1",
        measure=_with(penalty),
        condition=low_above(
            0, of="mean accuracy on held-out environments over drawn trials, less that of trials with none, on one data set,"
        ).at("search", "search-paper"),
        tried="10 and 11 drawn trials with L1 and L2, 18 with neither. The best trial of all has L2 (1e-5), but three with L2 "
        "diverged, four with neither and none with L1; counted as chance instead of 0 these leave differences of 0.09 (L1) "
        "and 0.08 (L2), both above 0 with their intervals. One of either kind diverged after a look (seeds 4 and 16): until "
        "2026-11-28 these two counted with what that said, .56 and .55, which gave 0.174 (L1) and 0.074 (L2) and the same "
        "verdicts. Written after these rows had been recorded.",
    ).also_stopped(Least, _with(penalty, stops=True), "each")
    for penalty in _PENALTIES
)

"""How each method's selected trial is measured, and all trials of a search that reads no test data."""

from typing import Literal

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Row, Rows, bootstrap, number

CHANCE = 0.5
"""Accuracy of a network that diverged: both spirals have as many examples."""

FITS = 0.97
"""Training accuracy from which on a trial has fitted its data, as the texts' stopping rule has it."""


def selected(rows: Rows, method: str) -> Row | None:
    """Return a method's trial that is best on held-out environments, of those that fitted their training data.

    Of a trial that did not fit, accuracy at chance says nothing.
    """
    finished = rows.where(method=method, outcome="finished")
    fitted = finished.where(lambda row: number(row, "train_accuracy") >= FITS)
    return max(fitted, key=lambda row: number(row, "validation_accuracy"), default=None)


def seeds_are_data_sets(rows: Rows) -> bool:
    """Return whether each seed is a data set with trials of its own; else each is a trial, all on one data set."""
    return any("trial" in row for row in rows)


def data_sets(rows: Rows) -> list[Rows]:
    """Return the rows of each data set."""
    return list(rows.by("seed").values()) if seeds_are_data_sets(rows) else [rows]


def accuracy(method: str, unfitted: float | None = None) -> Measure:
    """Return a measure: the test accuracy of a method's selected trial, the median over data sets.

    Its interval is over data sets; of one data set it has no width, and n is 1, however many trials it was selected from.

    Args:
        method: by the name that rows have.
        unfitted: what a data set of several counts on which no trial fits; None leaves it out.
    """

    def of(rows: Rows) -> float | None:
        best = selected(rows, method)
        return unfitted if best is None else number(best, "test_accuracy")

    def measured(rows: Rows) -> Measurement | None:
        if seeds_are_data_sets(rows):
            return EachSeed(of, np.median)(rows)
        best = selected(rows, method)
        return bootstrap([number(best, "test_accuracy")]) if best else None

    return measured


def penalised(penalty: Literal["l1", "l2"], stops: bool = False, resamples: int = 10_000) -> Measure:
    """Return a measure: how far trials with a penalty are above trials with none, in mean accuracy on held-out environments.

    Trial 0, which is the printed setting and was not drawn, is left out. At its end a trial that diverged counts as chance,
    whatever its last look said. Early-stopped, each counts with the best of its looks, and as chance if it diverged before any.
    The interval resamples the trials of each kind; all are on one data set, so that n is 1.
    """
    accuracies = _stopped if stops else _at_end

    def measured(rows: Rows) -> Measurement | None:
        drawn = rows.where(lambda row: number(row, "seed") > 0)
        withs = accuracies(drawn.where(lambda row: number(row, penalty) > 0))
        without = accuracies(drawn.where(lambda row: number(row, "l1") == number(row, "l2") == 0))
        if not withs or not without:
            return None
        generator = np.random.default_rng(0)
        means = [np.mean(generator.choice(some, (resamples, len(some))), axis=1) for some in (withs, without)]
        low, high = np.quantile(means[0] - means[1], (0.025, 0.975))
        return Measurement(float(np.mean(withs) - np.mean(without)), float(low), float(high), 1)

    return measured


def _at_end(rows: Rows) -> list[float]:
    trials = rows.where(kind="trial")
    return [CHANCE if str(row.get("outcome")).startswith("diverged") else number(row, "validation_accuracy") for row in trials]


def _stopped(rows: Rows) -> list[float]:
    # A trial's last row repeats its last look, or has 0 where there was none.
    return [max(trial["validation_accuracy"]) or CHANCE for trial in rows.by("seed").values()]

"""What is claimed of methods at settings of their own, and how it is measured."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from claimlab import (
    EARLY_STOPPING,
    Claim,
    Condition,
    Greatest,
    Least,
    Measure,
    Measurement,
    Rows,
    Scalar,
    at_most,
    high_at_most,
    low_above,
    number,
    where_stopped,
    within,
)
from mechlearn_zoo.experiments.skips.comparing.outcomes import LEARNT
from mechlearn_zoo.experiments.skips.comparing.training import Task

Trials = Mapping[float, tuple[float, float]]
"""By draw of settings: accuracy on validation and on test episodes."""


def advantage(rows: Rows, over: str, resamples: int = 2000) -> Measurement | None:
    """Return ASI's test accuracy in its best trial less another method's in its own, and an interval over trials.

    A resample draws as many trials as there are, with replacement, and selects each method's best among them. However many
    they are, they rest on one data set: n is 1.
    """
    tables = [_table(rows, method) for method in ("asi", over)]
    trials = sorted(set(tables[0]) & set(tables[1]))
    if not trials:
        return None
    # Test accuracy of each method's trials, worst on validation first: the best trial of a sample is its largest place.
    orders = [sorted(trials, key=lambda trial: table[trial][0]) for table in tables]
    places = np.array([[order.index(trial) for trial in trials] for order in orders])
    tests = np.array([[table[trial][1] for trial in order] for table, order in zip(tables, orders, strict=True)])
    drawn = np.random.default_rng(0).integers(len(trials), size=(resamples, len(trials)))
    best = places[:, drawn].max(axis=2)
    differences = tests[0][best[0]] - tests[1][best[1]]
    low, high = np.quantile(differences, (0.025, 0.975))
    value = float(tests[0][-1] - tests[1][-1])
    return Measurement(value, min(value, float(low)), max(value, float(high)), 1)


def over_learnt(over: str, measure: Measure) -> Measure:
    """Return a measure; None where the other method's best trial has learnt nothing at its end, on validation episodes."""

    def measured(rows: Rows) -> Measurement | None:
        theirs = rows.where(kind="trial", method=over)["validation_accuracy"]
        return measure(rows) if theirs and max(theirs) >= LEARNT else None

    return measured


def _table(rows: Rows, method: str) -> dict[float, tuple[float, float]]:
    """For each trial of a method its accuracy on validation and on test episodes."""
    some = rows.where(kind="trial", method=method)
    return {number(row, "seed"): (number(row, "validation_accuracy"), number(row, "test_accuracy")) for row in some}


def _over(method: str) -> Measure:
    return lambda rows: advantage(rows, method)


def _of(task: Task, measure: Measure) -> Measure:
    return lambda rows: measure(rows.where(lambda row: row.get("task", "funnel-board") == task))


def architectures(rows: Rows, resamples: int = 2000) -> Measurement | None:
    """Return by how much ASI's accuracies by architecture differ at most, each in its best trial, and an interval over draws.

    Validation episodes select the trial, test episodes say how good it is. A resample takes as many draws of settings as there
    are, with replacement, and every network's best trial among them. None where no network has learnt anything: such networks
    are alike. A resample of which that is true is left out. n is 1, as there is one data set.
    """
    return _architectures(rows, _spread_on_test, resamples)


def _architectures_on_validation(rows: Rows) -> Measurement | None:
    return _architectures(rows, _spread, 2000)


def _architectures(rows: Rows, spread: Callable[[Sequence[Trials]], float | None], resamples: int) -> Measurement | None:
    networks = _by_architecture(rows)
    value = spread(list(networks.values()))
    if value is None:
        return None
    draws = sorted({draw for trials in networks.values() for draw in trials})
    found = list[float]()
    for drawn in np.random.default_rng(0).integers(len(draws), size=(resamples, len(draws))):
        taken = {draws[place] for place in drawn}
        some = [{draw: trials[draw] for draw in taken if draw in trials} for trials in networks.values()]
        if (one := spread(some)) is not None:
            found.append(one)
    low, high = np.quantile(found, (0.025, 0.975))
    return Measurement(value, min(value, float(low)), max(value, float(high)), 1)


def _by_architecture(rows: Rows) -> dict[Scalar, dict[float, tuple[float, float]]]:
    """For each architecture, ASI's accuracies by draw."""
    if not rows or "architecture" not in rows[0]:
        return {}
    groups = rows.where(kind="trial", method="asi").by("architecture")
    return {
        name: {number(row, "seed"): (number(row, "validation_accuracy"), number(row, "test_accuracy")) for row in some}
        for name, some in groups.items()
    }


def _best(networks: Sequence[Trials]) -> list[tuple[float, float]]:
    """Each network's accuracies in the trial that validation selects; none if one has no trial or none has learnt."""
    if len(networks) < 2 or not all(networks):
        return []
    best = [max(trials.values(), key=lambda trial: trial[0]) for trials in networks]
    return best if max(validation for validation, _ in best) >= LEARNT else []


def _spread(networks: Sequence[Trials]) -> float | None:
    """The distance between the best and the worst network's best trials, on validation episodes."""
    best = [validation for validation, _ in _best(networks)]
    return max(best) - min(best) if best else None


def _spread_on_test(networks: Sequence[Trials]) -> float | None:
    """The same of those trials on test episodes."""
    best = [test for _, test in _best(networks)]
    return max(best) - min(best) if best else None


def _spread_alone(rows: Rows) -> Measurement | None:
    """As a number without an interval, of every trained network, as it was measured before."""
    networks = _by_architecture(rows)
    spread = _spread(list(networks.values()))
    return None if spread is None else Measurement(spread, spread, spread, 1)


def best_horizon(rows: Rows) -> Measurement | None:
    """Return the horizon of ASI's trial that is best on validation episodes; its ends are those of the best three."""
    some = sorted(rows.where(kind="trial", method="asi"), key=lambda row: -number(row, "validation_accuracy"))
    found = [number(row, "horizon") for row in some[:3]]
    return Measurement(found[0], min(found), max(found), 1) if found else None


def further_horizon(rows: Rows) -> Measurement | None:
    """Return the one of both best horizons that is further from 20: at the ends, and where validation stops trials."""
    found = [best_horizon(rows), where_stopped(best_horizon)(rows)]
    known = [one for one in found if one is not None]
    return max(known, key=lambda one: abs(one.value - 20)) if len(known) == len(found) else None


_DIFFERENCE = low_above(0, of="difference in test accuracy between the trials that validation selects, resampled over trials,")
_OVER_LEARNT = (
    "difference in test accuracy between the trials that validation selects, to a method whose best has learnt something, "
    "resampled over trials, on one data set,"
)
_UNTRAINED = (
    f"Whatever learns is above a method none of whose trials did; now one counts whose best trial has {LEARNT:g} or more on "
    "validation episodes, what guessing among five platforms gets."
)

_ABOVE = tuple(
    Claim(
        id=f"skips-search.{name}",
        text=f"With settings searched for each method on the same budget, ASI outperforms {what}.",
        source="thesis section 2.3.2 and figures 2.9 and 2.10",
        measure=over_learnt(over, _over(over)),
        condition=low_above(0, of=_OVER_LEARNT).instead_of(_DIFFERENCE, _UNTRAINED, _over(over)),
        tried="A search of few trials, all on one data set; --seeds adds trials. The thesis has nine for each method.",
    ).also_stopped(Least, where_stopped(_over(over)))
    for name, over, what in (
        ("above-2", "fixed-2", "the fixed step of 2"),
        ("above-3", "fixed-3", "the fixed step of 3"),
        ("exploration", "asi-no-exploration", "ASI without exploration"),
    )
)

_HORIZON = "horizon of the trial that validation selects (ends: the best three), on one data set,"


def _near_20(task: Task) -> Condition:
    """With what was asked before."""
    before = within(3, 20, of=_HORIZON).instead_of(
        within(5, 20, of=_HORIZON),
        "Trials draw horizons of 15, 18, 21 and 25, all of them within 5 of 20: it could not fail.",
        _of(task, best_horizon),
    )
    both = f"{_HORIZON} the further from 20 of that at the ends and that where validation stops all,"
    return within(3, 20, of=both).instead_of(before, EARLY_STOPPING, _of(task, best_horizon))


_APART_ON_TEST = "difference between the highest and the lowest of the three's test accuracies with ASI, each in its best trial"
_APART = "difference between the highest and the lowest of the three's best validation accuracies with ASI"

CLAIMS = (
    *_ABOVE,
    Claim(
        id="skips-search.horizon",
        text="A horizon of about 20 frames is best.",
        source="thesis section 2.3.2, tables A.1 and A.2",
        printed="20",
        measure=_of("funnel-board", further_horizon),
        condition=_near_20("funnel-board"),
        tried="Written after these rows had been recorded.",
    ),
    Claim(
        id="skips-search.architectures",
        text="Which of the three architectures a model has makes no substantial difference.",
        source="thesis appendix A.0.1",
        measure=architectures,
        condition=high_at_most(0.1, of=f"{_APART_ON_TEST}, resampled over draws of settings,")
        .instead_of(
            high_at_most(0.1, of=f"{_APART}, resampled over draws of settings,")
            .instead_of(
                at_most(0.1, of=_APART).at("paper", "architectures"),
                "It had no interval, and counted each draw of settings once for every network that it trains.",
                _spread_alone,
            )
            .at("paper", "architectures"),
            "It told by the episodes that select the trials how good they are.",
            _architectures_on_validation,
        )
        .at("paper", "architectures"),
        tried="Trials of paper draw one of the three, those of architectures, on small boards, train all of them.",
    ).also_stopped(Greatest, trainings="all", unlooked=("architectures",)),
)

"""What a sweep came to, in numbers: each method's best setting, what it does on fresh seeds, and which ranges matter."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from claimlab.claims import Measurement, bootstrap
from claimlab.rows import Row, Scalar
from claimlab.sweeping.declared import of_test
from claimlab.sweeping.search import Done, Fresh
from claimlab.sweeping.studies import Trial


@dataclass(frozen=True)
class Outcome:
    """What was found for a method.

    Args:
        method: which.
        tally: how many trials ended how, by state.
        best: its best trial; None where none has a value.
        fields: the best trial's setting as fields of the config.
        fresh: by name what the best setting does on fresh seeds: the objective, and the last number of each test column.
        importance: by range the share of what the objective varies by; none where too few trials tell.
    """

    method: str
    tally: dict[str, int]
    best: Trial | None
    fields: dict[str, Any]
    fresh: dict[str, Measurement]
    importance: dict[str, float]


def outcomes(done: Done) -> list[Outcome]:
    """Return what was found for every method."""
    return [_outcome(done, method) for method in done.sweep.methods]


def _outcome(done: Done, method: str) -> Outcome:
    trials, best = done.studies.trials(method), done.best(method)
    states = ("complete", "pruned", "failed", "running")
    tally = {state: sum(one.state == state for one in trials) for state in states}
    fields = done.sweep.ranges.fields(method, best.chosen, done.sweep.config) if best else {}
    runs = [one for one in done.fresh if one.trial.method == method]
    return Outcome(method, tally, best, fields, _fresh(done, runs), importance(done, method))


def _fresh(done: Done, runs: list[Fresh]) -> dict[str, Measurement]:
    objective = done.sweep.ranges.objective
    found = {", ".join(objective.columns): [objective.of(run.rows) for run in runs]}
    columns = dict.fromkeys(key for run in runs for row in run.rows for key in row if of_test(key))
    found |= {column: [_last(run.rows, column) for run in runs] for column in columns}
    return {
        name: bootstrap([value for value in values if value is not None])
        for name, values in found.items()
        if values and None not in values
    }


def _last(rows: tuple[Row, ...], column: str) -> float | None:
    found = [row[column] for row in rows if isinstance(row.get(column), int | float)]
    return float(found[-1] or 0.0) if found else None


def importance(done: Done, method: str) -> dict[str, float]:
    """Return by range the share of the objective's variance that it explains, greatest first (PED-ANOVA, Watanabe et al. 2023).

    None where fewer than four trials came to their end, or all alike.
    """
    trials = [one for one in done.studies.trials(method) if one.state == "complete"]
    if len(trials) < 4 or len({one.value for one in trials}) < 2:
        return {}
    import optuna  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Optuna calls experimental
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()  # Optuna's default has changed
        found = optuna.importance.get_param_importances(done.studies.study(method), evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}


def as_values(chosen: dict[str, Scalar]) -> str:
    """Return a setting in words."""
    return ", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in chosen.items())

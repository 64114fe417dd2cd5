"""What is claimed of counterfactual evaluation and search; written before any recorded run.

That the other arm of a search may stop early was asked afterwards, of the same rows, see each claim's earlier condition.
"""

import numpy as np
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from claimlab import (
    EARLY_STOPPING,
    Claim,
    Condition,
    EachSeed,
    Greatest,
    Measure,
    Measurement,
    Paired,
    Rows,
    bootstrap,
    high_below,
    low_above,
)

_SOURCE = "Buesing et al. 2018, by the reading digest; levels and numbers ours"


def ratio(posterior: str | None = None, key: str = "error") -> Measure:
    """Return a measure: a posterior's error with all evidence over the model's, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        some = rows.where(lambda row: key in row and row.get("posterior") == posterior, kind="evaluation")
        found = [group[key][-1] / group["model_error"][-1] for group in some.by("seed").values()]
        return bootstrap(found) if found else None

    return measure


def falls(rows: Rows) -> Measurement | None:
    """Return Spearman's rho of the steps of evidence and the error, median over seeds."""
    groups = rows.where(kind="evaluation").by("seed").values()
    ranks = [stats.spearmanr(group["evidence"], group["error"]) for group in groups]
    found = [float(rank.statistic) for rank in ranks]  # pyright: ignore[reportAttributeAccessIssue]
    return bootstrap(found) if found else None


def consistent(rows: Rows) -> Measurement | None:
    """Return the largest distance of counterfactual and model-based values under the right prior, standard errors, mean."""
    groups = rows.where(lambda row: row.get("off") is not None, kind="evaluation").by("seed").values()
    found = [group["off"][-1] for group in groups]
    return bootstrap(found, np.mean) if found else None


def gain(arm: str, over: str) -> Paired:
    """Return a measure: one arm's return in the world less another's, mean over seeds."""
    return Paired("return", {"kind": "final", "arm": arm}, {"kind": "final", "arm": over}, np.mean)


def gain_over_best(arm: str, over: str) -> EachSeed:
    """Return a measure: one arm's return in the world at the end less another's at its best look or end, mean over seeds."""

    def number(rows: Rows) -> float | None:
        ours, theirs = rows.where(kind="final", arm=arm), rows.where(arm=over)
        return ours["return"][0] - max(theirs["return"]) if ours and theirs else None

    return EachSeed(number)


def _ahead(arm: str, over: str) -> Condition:
    """Return a condition on `gain_over_best`, with the earlier one, on both ends."""
    return low_above(
        0.0, of="discounted return in the world, difference to the other arm where it is best, mean over seeds,"
    ).instead_of(
        low_above(0.0, of="discounted return in the world, difference, mean over seeds,"),
        EARLY_STOPPING,
        gain(arm, over),
    )


CLAIMS = (
    Claim(
        id="cfgps-levels.evaluation",
        text="Counterfactual evaluation mends a model whose prior over levels is wrong.",
        source=_SOURCE,
        measure=ratio(),
        condition=high_below(1 / 3, of="error with 25 steps of evidence over the model's, median over seeds,"),
    ),
    Claim(
        id="cfgps-levels.evidence",
        text="The error falls with the steps of evidence.",
        source=_SOURCE,
        measure=falls,
        condition=high_below(-0.7, of="Spearman's rho of evidence and error, median over seeds,"),
    ),
    Claim(
        id="cfgps-levels.consistency",
        text="With the right prior it agrees with model-based evaluation (lemma 1).",
        source=_SOURCE,
        measure=consistent,
        condition=high_below(
            3.0, of="largest distance of four policies' values in standard errors, 25 steps of evidence, mean over seeds,"
        ),
        kind="control",
    ),
    Claim(
        id="cfgps-levels.search",
        text="A policy searched on counterfactual roll-outs does better in the world than one searched on the model's.",
        source=_SOURCE,
        measure=gain_over_best("counterfactual", "prior"),
        condition=_ahead("counterfactual", "prior"),
    ),
)

AMORTISED = (
    Claim(
        id="cfgps-amortised.evaluation",
        text="A posterior learned from levels that are visible in training mends the model's values.",
        source=_SOURCE,
        measure=ratio("amortised"),
        condition=high_below(0.5, of="error with 25 steps of evidence over the model's, median over seeds,").at(
            "amortised", "amortised-paper"
        ),
    ).also_stopped(Greatest, ratio("amortised", "stopped_error"), trainings="the classifier"),
)
"""Of the part with a learned posterior."""

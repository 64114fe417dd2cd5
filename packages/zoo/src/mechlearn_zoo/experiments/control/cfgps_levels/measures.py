"""Numbers of one seed's counterfactual evaluation and search."""

from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from claimlab import Rows


def ratio(posterior: str | None, rows: Rows) -> float | None:
    """Return a posterior's error with all evidence over the model's."""
    some = rows.where(lambda row: row.get("posterior") == posterior, kind="evaluation")
    return some["error"][-1] / some["model_error"][-1] if some else None


def falls(rows: Rows) -> float | None:
    """Return Spearman's rho of the steps of evidence and the error."""
    some = rows.where(kind="evaluation")
    if not some:
        return None
    return float(stats.spearmanr(some["evidence"], some["error"]).statistic)  # pyright: ignore[reportAttributeAccessIssue]


def consistent(rows: Rows) -> float | None:
    """Return the largest distance of counterfactual and model-based values under the right prior, in standard errors."""
    some = rows.where(lambda row: row.get("off") is not None, kind="evaluation")
    return some["off"][-1] if some else None


def gain_over_best(rows: Rows) -> float | None:
    """Return the return in the world of counterfactual search at its end less that of the other at its best look or end."""
    ours, theirs = rows.where(kind="final", arm="counterfactual"), rows.where(arm="prior")
    return ours["return"][0] - max(theirs["return"]) if ours and theirs else None

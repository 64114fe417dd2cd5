"""What few labels make of encoders, and how soon they learn."""

from claimlab import Rows, Scalar


def at(arm: str, labelled: int = 32) -> dict[str, Scalar]:
    """Return what an arm's row of a seed holds at a number of labelled windows."""
    return {"kind": "final", "labelled": labelled, "arm": arm}


def later(rows: Rows) -> float | None:
    """Return how many steps later masking reaches the loss; a model that never does counts its whole budget."""
    some = rows.where(kind="reached")
    steps = {str(row["model"]): float(row["step"] or row["budget"] or 0) for row in some}
    if {"masked", "causal"} <= steps.keys() and any(row["step"] is not None for row in some):
        return steps["masked"] - steps["causal"]
    return None

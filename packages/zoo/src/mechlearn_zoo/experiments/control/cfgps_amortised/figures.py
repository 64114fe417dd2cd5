"""Errors by evidence, and how much probability the true level gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, band, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both posteriors beside the model."""
    figure, (axis, level) = panels(
        2, 1, caption="Error of four policies' values and probability of the true level, by steps of evidence; median, range.",
        height=2.8,
    )  # fmt: skip
    some = rows.where(kind="evaluation")
    for name, role in (("amortised", "ours"), ("exact", "third")):
        band(axis, *some.where(posterior=name).curves("evidence", "error"), name, COLOURS[role])
        band(level, *some.where(posterior=name).curves("evidence", "level"), name, COLOURS[role])
    band(axis, *some.where(posterior="exact").curves("evidence", "model_error"), "model", COLOURS["baseline"])
    axis.set_ylabel("mean absolute error")
    level.set_ylabel("probability of the true level")
    for one in (axis, level):
        one.set_xlabel("steps of evidence")
        one.set_ylim(bottom=0)
    axis.legend()
    return {"posteriors": figure}

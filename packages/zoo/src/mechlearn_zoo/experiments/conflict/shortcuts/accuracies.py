"""Pictures of accuracies on the spirals: every seed's, a line of points a method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def roles_of(methods: Iterable[str]) -> dict[str, str]:
    """Return by method what its colour says: averaging is the baseline, AND-masks are third, the others ours."""
    return {name: "baseline" if name == "mean" else "third" if name.startswith("and") else "ours" for name in methods}


def draw_accuracies(axis: Axes, ends: Rows, roles: Mapping[str, str]) -> None:
    """Draw every seed's accuracy, a line of points a method, in the colour of its role; the line is chance."""
    for place, (method, role) in enumerate(roles.items()):
        found = ends.where(method=method)["accuracy"]
        axis.plot(found, [place] * len(found), "o", color=COLOURS[role], alpha=0.7)
    axis.set_yticks(range(len(roles)), tuple(roles))
    axis.axvline(0.5, color=COLOURS["reference"], linewidth=0.8)
    axis.set_xlim(0.4, 1.02)

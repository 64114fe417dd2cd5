"""How well each number finds each kind of bad source, and what acting is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.agreement.cockpit_sources.data import KINDS
from mechlearn_zoo.experiments.agreement.cockpit_sources.measures import auroc, worth
from mechlearn_zoo.experiments.agreement.cockpit_sources.run import ACTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Area under the ROC curve on fresh seeds, by kind of bad source, with intervals. Each number was chosen on other seeds."
)
WORTH = "The good sources' held-out loss over that of averaging, with ranges over seeds. Below 1 acting helps."

COLUMNS = {"the watch": "ours", "loss": "baseline", "norm": "fourth", "mean cosine": "third", "random": "reference"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw what was watched, or what was done."""
    watched = bool(rows.where(kind="run"))
    caption, names = (CAPTION, list(COLUMNS)) if watched else (WORTH, list(ACTS)[1:])
    figure, (axes,) = panels(caption=caption, height=3.2)
    roles, kinds = list(COLUMNS.values()), [kind for kind in KINDS if rows.where(run=kind)]
    for n, name in enumerate(names):
        for k, kind in enumerate(kinds):
            named = () if name == "the watch" else (name,)
            found = (auroc(kind, *named) if watched else worth(name, kind))(rows)
            if found is not None:
                place, colour = k + (n - 2) * 0.14, COLOURS[roles[n]]
                axes.plot([place, place], [found.low, found.high], color=colour, linewidth=1.5)
                axes.plot([place], [found.value], "o", color=colour, markersize=4, label=name if k == 0 else None)
    axes.axhline(0.95 if watched else 1.0, color=COLOURS["reference"], linewidth=0.8)
    axes.set_xticks(np.arange(len(kinds)), kinds)
    axes.set_ylabel("AUROC" if watched else "held-out loss, ratio")
    axes.legend(fontsize=7, loc="best", ncols=2)
    return {"sources": figure}

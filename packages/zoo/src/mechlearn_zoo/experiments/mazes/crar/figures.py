"""Returns by depth, between acting at random and the shortest way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's returns on unseen mazes."""
    figure, (axis, keys) = panels(
        2, 1, height=3.0, caption="Unseen mazes, three keys to gather: return of an episode and share of the keys, "
        "by how many steps ahead are planned. A dot a seed, lines join medians.",
    )  # fmt: skip
    depths = sorted(set(rows.where(arm="crar")["depth"]))
    for place, key in ((axis, "return"), (keys, "gathered")):
        lines = [rows.where(arm="crar", depth=depth)[key] for depth in depths]
        for index, found in enumerate(lines):
            place.scatter(np.full(len(found), index), found, s=14, color=COLOURS["ours"])
        place.plot(range(len(depths)), [np.median(found) for found in lines], color=COLOURS["ours"], label="CRAR")
        for arm, index, role in (("q-only", 0, "baseline"), ("misled", len(depths) - 1, "fourth")):
            found = rows.where(arm=arm)[key]
            label = "Q alone" if arm == "q-only" else "model told another action"
            place.scatter(np.full(len(found), index + 0.1), found, s=14, color=COLOURS[role], label=label)
        for arm, style in (("random", ":"), ("shortest", "--")):
            label = "at random" if arm == "random" else "shortest way"
            place.axhline(np.median(rows.where(arm=arm)[key]), color=COLOURS["reference"], linestyle=style, label=label)
        place.set_xticks(range(len(depths)), [f"{depth:g}" for depth in depths])
        place.set_xlabel("steps ahead")
    axis.set_ylabel("return of an episode")
    keys.set_ylabel("share of keys gathered")
    keys.legend(loc="lower left", fontsize=6.5)  # where nothing lies, below what acting at random gathers
    return {"depth": figure}

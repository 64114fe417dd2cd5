"""Where roll-outs end and how far they lie off the path, by family, a panel a world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import Rows, panels
from mechlearn_zoo.experiments.skips.comparing.ends import draw_range
from mechlearn_zoo.experiments.skips.states.run import FAMILIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = {"final": "o", "off_path": "s"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw final and off-path errors."""
    worlds = list(dict.fromkeys(str(row["world"]) for row in rows))
    figure, axes = panels(
        2,
        -(-len(worlds) // 2),
        caption="Squared errors of roll-outs on test trajectories, in variances: at the end (circles) and from each state to "
        "the nearest true one (squares; of direct prediction the end is the only one). Medians over seeds, lines from the "
        "lowest to the highest; each family has the best of fifteen trials.",
        height=2.9 * -(-len(worlds) // 2),
    )
    for one, world in zip(axes, worlds, strict=False):
        for shift, (name, mark) in zip((-0.12, 0.12), _MARKS.items(), strict=True):
            for place, family in enumerate(FAMILIES):
                values = rows.where(kind="score", world=world, family=family)[name]
                draw_range(one, place + shift, values, "ours" if family == "relative" else "baseline", mark)
        one.set(title=world, yscale="log")
        one.set_xticks(range(len(FAMILIES)), FAMILIES, rotation=60, ha="right")
    return {"states": figure}

"""Returns by depth, between acting at random and the shortest way; two rooms as the abstract state has them."""

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.learners.plots import Figure, columns, first_seed, level

_ROOMS = {"crar": "all losses", "no-spread": "nothing keeps states apart", "q-only": "Q alone"}


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
            label = "Q alone" if arm == "q-only" else "model given a wrong action"
            place.scatter(np.full(len(found), index + 0.1), found, s=14, color=COLOURS[role], label=label)
        for arm, style in (("random", ":"), ("shortest", "--")):
            level(place, np.median(rows.where(arm=arm)[key]), "at random" if arm == "random" else "shortest way", style)
        place.set_xticks(range(len(depths)), [f"{depth:g}" for depth in depths])
        place.set_xlabel("steps ahead")
    axis.set_ylabel("return of an episode")
    keys.set_ylabel("share of keys gathered")
    keys.legend(loc="lower center", fontsize=6.5)  # where nothing lies, below what acting at random gathers
    return {"depth": figure}


def rooms(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's states, neighbours joined, and what all seeds identify."""
    return {"rooms": _states(first_seed(rows)), "identified": _identified(rows)}


def _states(rows: Rows) -> Figure:
    figure, axes = panels(
        3, 1, caption="Every cell of two rooms (colours) and the door (black) in two abstract numbers; first seed.",
        height=2.7,
    )  # fmt: skip
    for axis, (arm, title) in zip(axes, _ROOMS.items(), strict=True):
        some = rows.where(kind="state", arm=arm)
        cells = list(zip(some["row"], some["column"], strict=True))
        places = dict(zip(cells, zip(some["x"], some["y"], strict=True), strict=True))
        for (row, column), place in places.items():
            for other in ((row + 1, column), (row, column + 1)):
                if other in places:
                    axis.plot(*zip(place, places[other], strict=True), color="#c4c8ce", linewidth=0.8, zorder=1)
        shades = [_shade(column, [c for _, c in cells]) for _, column in cells]
        axis.scatter(some["x"], some["y"], s=14, color=shades, zorder=2)
        axis.set_title(title, fontsize=9)
    return figure


def _shade(column: float, columns: list[float]) -> str:
    wall = min(set(columns), key=columns.count)  # the door's column has one cell
    return COLOURS["ink"] if column == wall else colour(0 if column < wall else 1)


def _identified(rows: Rows) -> Figure:
    figure, (axis,) = panels(1, 1, caption="Predictions whose nearest state is the right one; a dot a seed.", height=2.5)
    ends, looks = rows.where(kind="final"), {"one": ("one step ahead", "ours"), "five": ("five steps ahead", "baseline")}
    columns(axis, list(_ROOMS.values()), {look: [ends.where(arm=arm)[key] for arm in _ROOMS] for key, look in looks.items()})
    axis.set(ylabel="share", ylim=(-0.03, 1.03))
    axis.legend()
    return figure

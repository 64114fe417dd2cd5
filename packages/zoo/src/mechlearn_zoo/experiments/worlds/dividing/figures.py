"""Mazes solved by questions asked, and one maze with its plan."""

import numpy as np

from claimlab import COLOURS, Row, Rows, band, colour, panels
from mechlearn_zoo.experiments.worlds.dividing.measures import solved
from mechlearn_zoo.experiments.worlds.dividing.run import METHODS
from mechlearn_zoo.learners.plots import Axes, Figure, first_seed, picture

TITLES = {
    "divided": "divided in any order", "forward": "forward only", "untrained": "divided, untrained",
    "other-walls": "divided, shown other walls", "straight-line": "divided, middle of the line",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the curves, and the first seed's first maze."""
    return {"solved": draw_solved(rows), "plans": draw_plans(rows)}


def draw_solved(rows: Rows) -> Figure:
    """Draw shares of solved mazes."""
    figure, (axis,) = panels(
        caption="Share of held-out mazes in which a way was found, by the number of questions to the low-level policy; median "
        "over seeds and their spread.",
        height=3.2,
    )
    most = int(max(rows.where(kind="search")["asked"]))
    budgets = np.unique(np.linspace(0, most, 41).astype(int))
    for place, method in enumerate(METHODS):
        shares = [[solved(group, method, int(budget)) for budget in budgets] for group in rows.by("seed").values()]
        band(axis, budgets, np.array(shares, dtype=float), TITLES[method], colour(place))
    axis.set(xlabel="questions", ylabel="mazes solved", ylim=(-0.03, 1.03))
    axis.legend(fontsize=7)
    return figure


def draw_plans(rows: Rows) -> Figure:
    """Draw a maze for each order of planning, sub-goals coloured by when they came up."""
    shown = first_seed(rows.where(kind="picture"))
    figure, axes = panels(
        len(shown),
        caption="A maze with each search's plan, or what it had when it gave up. Sub-goals are darker the earlier they came "
        "up: division begins in the middle, a sequential search at the start (dot). The square is the goal.",
        height=3.2,
    )
    for axis, row in zip(axes, shown, strict=True):
        _draw_maze(axis, row)
    return figure


def _draw_maze(axis: Axes, row: Row) -> None:
    lines = str(row["maze"]).split("/")
    title = f"{TITLES[str(row['method'])]}, {'found' if row['value'] == 1 else 'not found'}"
    picture(axis, [[mark == "." for mark in line] for line in lines], title, cmap="gray", vmin=-1.5, vmax=1)
    y, x = np.divmod([int(cell) for cell in str(row["plan"]).split()], len(lines[0]))
    born = np.array([int(place) for place in str(row["asked"]).split()])
    axis.plot(x, y, "-", color=COLOURS["ours"], linewidth=1)
    if len(x) > 2:
        axis.scatter(x[1:-1], y[1:-1], c=born[1:-1].argsort().argsort(), cmap="viridis", s=22, zorder=3)
    axis.plot(x[0], y[0], "o", x[-1], y[-1], "s", color=COLOURS["ink"], markersize=6)

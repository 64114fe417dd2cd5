"""Accuracy on the way, what a learner makes of predictions, new teammates; and a model's edges on a board."""

from typing import NamedTuple

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.worlds.forward_models.run import MODELS, RULES
from mechlearn_zoo.learners.plots import Axes, Figure, columns, curves, legend_below, level, picture
from mechlearn_zoo.nn.graphs import edges_to

WIDEST = 3.0
"""Points across the strongest edge of a board."""


LOOKS = {
    "relational": ("relations and memory", "ours"),
    "relational without memory": ("relations, no memory", "baseline"),
    "each alone": ("each alone, memory", "third"),
    "flat": ("one row, memory", "fourth"),
}
"""What the models are called, and their colours."""


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw scores; a learner's rewards and one board where a record has them."""
    kinds = {"policy": ("rewards", draw_rewards), "board": ("edges", draw_edges)}
    return {
        "accuracy": draw_scores(rows),
        **{name: draw(rows) for kind, (name, draw) in kinds.items() if rows.where(kind=kind)},
    }


def draw_scores(rows: Rows) -> Figure:
    """Draw training curves, steps until the first mistake, edges, and between them what else a record has."""
    teams = bool(rows.where(kind="teams"))
    figure, (left, steps, *between, edges) = panels(
        3 + teams, 1, height=3.2,
        caption="Left: accuracy of the next action on unseen hunts, median and range over seeds; dotted, repeating the last "
        "action. Next: steps until the first mistake, a dot per seed. "
        f"{'Next: models trained on teams with habits, on these teams and on new ones. ' if teams else ''}"
        "Right: how well edge norms and nearness alone say where an agent will stand within five steps.",
    )  # fmt: skip
    curves(left, rows.where(kind="curve"), "step", "accuracy", "model", LOOKS)
    level(left, float(np.median(rows.where(kind="persistence")["accuracy"])))
    left.set(xlabel="step")
    left.set_title("accuracy", fontsize=9)
    final = rows.where(kind="final")
    columns(steps, [""], {LOOKS[name]: [final.where(model=name)["perfect"]] for name in MODELS}, bars=True)
    steps.set_ylim(bottom=0)
    steps.set_title("steps without a mistake", fontsize=9)
    for axis in between:
        draw_teams(axis, rows)
    found = rows.where(kind="edges")
    columns(edges, ("edge norm", "nearness"), {("", "fifth"): [found["norms"], found["nearness"]]}, bars=True)
    level(edges, 0.5)
    edges.set_ylim(0, 1)
    edges.set_title("area under ROC: targets", fontsize=9)
    legend_below(figure, left, 2)
    return figure


def draw_teams(bars: Axes, rows: Rows) -> None:
    """Draw both rules' accuracy on known teams and on new ones."""
    found = {
        (rule, "baseline" if rule == "averaging" else "ours"): [
            rows.where(kind="teams", rule=rule)[key] for key in ("known", "new")
        ]
        for rule in RULES
    }
    columns(bars, ("known teams", "new teams"), found, bars=True)
    bars.set_ylim(0, 1)
    bars.legend(fontsize=7)


def draw_rewards(rows: Rows) -> Figure:
    """Draw what each seed's learner collects without predictions and with them, joined."""
    figure, axes = panels(
        2, caption="The reward per step of an agent that learns, without and with predictions of the others, a line per seed: "
        "over its whole training (left) and over its last quarter (right).",
        height=2.6,
    )  # fmt: skip
    for axis, (key, title) in zip(
        axes, {"reward": "reward over training", "last": "over the last quarter"}.items(), strict=True
    ):
        for pair in zip(*(rows.where(kind="policy", predictions=seen)[key] for seen in (False, True)), strict=True):
            axis.plot((0, 1), pair, "o-", color=COLOURS["ours"], linewidth=1, markersize=4)
        axis.set_xticks((0, 1), ("without predictions", "with predictions"))
        axis.set(xlim=(-0.4, 1.4), title=title)
        axis.set_ylim(bottom=0)
    return figure


class Board(NamedTuple):
    """A row of kind `board`, read: places (n, 2), the number of agents, norms (agents, n), aims and partners (agents,)."""

    places: np.ndarray
    agents: int
    stags: list[int]
    norms: np.ndarray
    aims: list[int]
    partners: list[int]


def read(rows: Rows) -> Board:
    """Return the first seed's board; an agent's norm with itself is 0."""
    row = rows.where(kind="board")[0]
    whole = {key: [int(word) for word in str(row[key]).split()] for key in ("places", "stags", "aims", "partners")}
    places, agents = np.array(whole["places"]).reshape(-1, 2), len(whole["aims"])
    norms = np.zeros((agents, len(places)))
    senders, receivers = edges_to(agents, len(places))
    norms[receivers.numpy(), senders.numpy()] = [float(word) for word in str(row["norms"]).split()]
    return Board(places, agents, whole["stags"], norms, whole["aims"], whole["partners"])


def draw_edges(rows: Rows) -> Figure:
    """Draw what a relational model's edges weigh, what the script looks at, and nearness, side by side."""
    figure, axes = panels(
        3, height=2.6,
        caption="One step of an unseen hunt, the first seed's: numbered discs are agents, squares hares, triangles stags. A "
        "line has the colour of the agent that receives it, and leads to what it hears from. Left: the relational model's "
        "edges, wide where an edge's norm is above the least on the board. Middle, the truth: the target that the script "
        "goes for, and for a stag, dashed, the other hunter it counts on; who stands on its target has no line to it. "
        "Right, the control: wide where it is near.",
    )  # fmt: skip
    board = read(rows)
    way = np.abs(board.places[None] - board.places[: board.agents, None]).sum(-1)
    for axis, title, strengths in zip(
        axes, ("edge norms", "what the script looks at", "nearness"), (board.norms, None, 1 / (1.0 + way)), strict=True
    ):
        if strengths is None:
            _draw_truth(axis, board)
        else:
            _draw_strengths(axis, board, strengths)
        _draw_bodies(axis, board)
        axis.set_title(title)
    return figure


def _draw_strengths(axis: Axes, board: Board, strengths: np.ndarray) -> None:
    pairs = [(i, j) for i in range(board.agents) for j in range(len(board.places)) if i != j]
    some = np.array([strengths[pair] for pair in pairs])
    for (i, j), share in zip(pairs, (some - some.min()) / max(np.ptp(some), 1e-9), strict=True):
        _draw_line(axis, board, (i, j), WIDEST * share)


def _draw_truth(axis: Axes, board: Board) -> None:
    for i, (target, partner) in enumerate(zip(board.aims, board.partners, strict=True)):
        _draw_line(axis, board, (i, board.agents + target), 2.0)
        if board.stags[target]:
            _draw_line(axis, board, (i, partner), 1.5, dashed=True)


def _draw_line(axis: Axes, board: Board, pair: tuple[int, int], width: float, dashed: bool = False) -> None:
    from matplotlib.patches import FancyArrowPatch  # noqa: PLC0415  # a worker starts without it

    # Bent, so that the two edges between two agents do not hide each other, nor a dashed one the one to a target there.
    start, end = (board.places[index][::-1].tolist() for index in pair)
    bend = f"arc3,rad={-0.4 if dashed else 0.15}"
    style = "--" if dashed else "-"
    line = FancyArrowPatch(
        start, end, arrowstyle="-", connectionstyle=bend, linewidth=width, linestyle=style, color=colour(pair[0])
    )
    axis.add_patch(line)


def _draw_bodies(axis: Axes, board: Board) -> None:
    for index, (row, column) in enumerate(board.places):
        if index < board.agents:
            axis.plot(column, row, "o", color=colour(index), markersize=8, zorder=4)
            axis.text(column, row, str(index + 1), color="white", fontsize=7, ha="center", va="center", zorder=5)
        else:
            mark = "^" if board.stags[index - board.agents] else "s"
            axis.plot(column, row, mark, color="white", markeredgecolor=COLOURS["ink"], markersize=11, zorder=3)
    low, high = board.places.min(0) - 1, board.places.max(0) + 1
    picture(axis, framed=True)
    axis.set(xlim=(low[1], high[1]), ylim=(high[0], low[0]), aspect="equal")

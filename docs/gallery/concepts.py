"""Draws the five pictures of docs/concepts: `python docs/gallery/concepts.py`. Needs matplotlib.

Three are drawn from gradients of a linear model on made-up hospitals, one from the matches of a model of a moving dot, and one
is a sketch of who sees what.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, Greedy, match
from mechlearn.trajectories import Trajectories

PLACE = Path(__file__).parents[1] / "concepts"
INK, SOFT, BLUE, RED, GOLD = "#1e2228", "#8a8f98", "#0b6e9e", "#d1495b", "#e3a008"
SITES = ("site 1", "site 2", "site 3", "site 4")
TURNS = (1.0, 1.0, 1.0, -1.0)
"""How each site writes the marker: the fourth the other way round."""


def hospital(turn: float, rows: int, generator: torch.Generator, noise: float = 0.7) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cause and marker (rows, 2), and labels of -1 and 1."""
    y = torch.arange(rows) % 2 * 2.0 - 1
    cause = y + noise * torch.randn(rows, generator=generator)
    marker = turn * y + 0.25 * torch.randn(rows, generator=generator)
    return torch.stack([cause, marker], dim=1), y


def gradients(rows: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each site's gradient steps (sites, 2) at weights of 0, and their standard errors."""
    generator = torch.Generator().manual_seed(3)
    own = [x * y[:, None] / 2 for x, y in (hospital(turn, rows, generator, noise) for turn in TURNS)]
    return torch.stack([one.mean(0) for one in own]), torch.stack([one.std(0) / rows**0.5 for one in own])


def environment() -> Figure:
    """Four sites: the cause separates the classes in all, the marker the other way round in the fourth."""
    figure, panels = plt.subplots(1, 4, figsize=(9, 2.6), sharex=True, sharey=True, layout="constrained")
    generator = torch.Generator().manual_seed(0)
    for panel, name, turn in zip(panels, SITES, TURNS, strict=True):
        x, y = hospital(turn, 60, generator)
        for label, colour, mark in ((-1, BLUE, "o"), (1, RED, "^")):
            panel.scatter(*x[y == label].T, s=12, color=colour, marker=mark, label=("healthy", "ill")[label > 0])
        panel.set(title=name, xlabel="cause")
        _bare(panel)
    panels[0].set_ylabel("marker")
    panels[0].legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def agreement() -> Figure:
    """The same four sites: what each would do to two weights, and what averaging and the AND-mask do."""
    found, _ = gradients(60, 0.7)
    mean = found.mean(0)
    kept = torch.where((found.sign().sum(0).abs() == len(found)), mean, torch.zeros(2))
    figure, panels = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
    for panel, index, title in zip(panels, (0, 1), ("weight of the cause", "weight of the marker"), strict=True):
        values = [*found[:, index].tolist(), float(mean[index]), float(kept[index])]
        panel.bar(
            [*SITES, "mean", "AND-mask"], values, color=[BLUE if value > 0 else RED for value in values[:4]] + [SOFT, GOLD]
        )
        panel.axhline(0, color=INK, linewidth=0.8)
        panel.set_title(title)
        panel.tick_params(axis="x", labelsize=8)
        _bare(panel)
    panels[0].set_ylabel("step of the weight")
    return figure


def conflict() -> Figure:
    """Steps with their standard errors: with few rows signs differ by chance, with many only what disagrees."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
    for panel, rows in zip(panels, (4, 60), strict=True):
        for offset, index, colour, name in ((-0.12, 0, BLUE, "cause"), (0.12, 1, RED, "marker")):
            step, error = gradients(rows, 2.0)
            places = torch.arange(4) + offset
            panel.errorbar(places, step[:, index], 2 * error[:, index], fmt="o", color=colour, capsize=3, label=name)
        panel.axhline(0, color=INK, linewidth=0.8)
        panel.set_xticks(range(4), SITES)
        panel.set_title(f"{rows} rows per site")
        _bare(panel)
    panels[0].set_ylabel("step, ± 2 standard errors")
    panels[1].legend(frameon=False, loc="lower left")
    return figure


def one_further(place: torch.Tensor) -> torch.Tensor:
    """Predict the next place."""
    return place + 1


def horizon() -> Figure:
    """A model of constant speed on a dot that rests: which frames its predictions are matched with."""
    times = torch.cat([torch.arange(6.0), torch.full((5,), 5.0), torch.arange(6.0, 12.0)])
    frames = Trajectories(times[None, :, None], torch.tensor([len(times)]))
    found = match(Dynamics(one_further, SquaredError()), frames, Greedy(6, ties="last"), teacher_forcing=1.0)
    ends = [0, *found.matched[0].tolist()]
    figure, panel = plt.subplots(figsize=(9, 2.6), layout="constrained")
    panel.plot(times, "o", color=SOFT, label="frames")
    panel.plot(ends, times[ends], "o", color=BLUE, label="matched")
    for start, end in pairwise(ends):
        arrow = {"arrowstyle": "->", "color": RED if end - start > 1 else BLUE, "connectionstyle": "arc3,rad=-0.35"}
        panel.annotate("", (end, float(times[end])), (start, float(times[start])), arrowprops=arrow)
    panel.axvspan(4.5, 10.5, color=GOLD, alpha=0.15, linewidth=0)
    panel.text(7.5, 10.6, "horizon: 6 frames", ha="center", color=INK, fontsize=9)
    panel.set(xlabel="frame", ylabel="place")
    panel.legend(frameon=False, loc="lower right")
    _bare(panel, ticks=True)
    return figure


def privileged() -> Figure:
    """Who sees what: the student sees x, the teacher x*, which exists in training only."""
    figure, panel = plt.subplots(figsize=(9, 2.9), layout="constrained")
    boxes = {"x": (0, 0, SOFT), "student": (3, 0, BLUE), "label": (6, 0, SOFT), "x*": (0, 2, GOLD), "teacher": (3, 2, RED)}
    words = {"x": "x\nadmission", "x*": "x*\nthe days after", "label": "prediction"}
    for name, (left, below, colour) in boxes.items():
        box = FancyBboxPatch((left, below), 1.7, 0.9, boxstyle="round,pad=0.1", fc=colour, ec="none", alpha=0.25)
        panel.add_patch(box)
        panel.text(left + 0.85, below + 0.45, words.get(name, name), ha="center", va="center", color=INK)
    arrows = ((1.85, 0.45, 2.85, 0.45, ""), (4.85, 0.45, 5.85, 0.45, ""), (1.85, 2.45, 2.85, 2.45, ""),
              (3.85, 1.85, 3.85, 1.05, "targets for hidden layers"))  # fmt: skip
    for x, y, to_x, to_y, word in arrows:
        panel.annotate("", (to_x, to_y), (x, y), arrowprops={"arrowstyle": "->", "color": INK})
        panel.text(x + 0.15, (y + to_y) / 2, word, va="center", fontsize=9, color=INK)
    back = {"arrowstyle": "->", "color": RED, "connectionstyle": "arc3,rad=0.35", "linestyle": "--"}
    panel.annotate("", (4.9, 2.45), (6.85, 1.05), arrowprops=back)
    panel.text(6.3, 2.15, "validation loss trains the teacher", fontsize=9, color=RED)
    panel.axhspan(1.45, 3.2, color=GOLD, alpha=0.08, linewidth=0)
    panel.text(9.3, 2.95, "in training only", ha="right", fontsize=9, color=INK)
    panel.set(xlim=(-0.3, 9.4), ylim=(-0.3, 3.2))
    panel.axis("off")
    return figure


def _bare(panel: Axes, ticks: bool = False) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    if not ticks:
        panel.set_yticks([])


PICTURES: dict[str, Callable[[], Figure]] = {
    one.__name__: one for one in (environment, agreement, conflict, horizon, privileged)
}


if __name__ == "__main__":
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "mechlearn"
    for name, draw in PICTURES.items():
        draw().savefig(PLACE / f"{name}.svg", facecolor="white", metadata={"Date": None})

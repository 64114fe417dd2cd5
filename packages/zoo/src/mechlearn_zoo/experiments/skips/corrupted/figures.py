"""Accuracy against the share of missing frames, against that of noise, and at paces of a half to two."""

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.skips.comparing.ends import draw_range
from mechlearn_zoo.experiments.skips.corrupted.measures import accuracies
from mechlearn_zoo.learners.plots import Axes, Figure, legend_below

_LEVELS = (0, 10, 30, 50)
_ROLES = {"asi": "ours", "fixed-1": "baseline", "fixed-2": "fourth", "fixed-3": "fifth", "fixed-6": "third"}
_LABELS = {"asi": "ASI", **{f"fixed-{dt}": f"fixed, Δt = {dt}" for dt in (1, 2, 3, 6)}}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy by corruption and method."""
    figure, axes = panels(
        3,
        caption="Outcomes of roll-outs on clean boards, by what training episodes were: frames missing (left), frames of noise "
        "(middle), each episode at a pace of its own between a half and two (right, beside clean ones). Medians over seeds, "
        "with bands or lines from the lowest to the highest seed.",
        height=3.4,
    )
    table = accuracies(rows)
    methods = [method for method in _LABELS if ("clean", method) in table]
    for panel, kind, title in zip(axes[:2], ("missing", "noise"), ("frames missing", "frames of noise"), strict=True):
        names = ["clean", *(f"{kind}-{level}" for level in _LEVELS[1:])]
        for method in methods:
            known = [
                (level, table[name, method]) for level, name in zip(_LEVELS, names, strict=True) if (name, method) in table
            ]
            seeds = sorted(set.intersection(*(set(each) for _, each in known)))
            curves = [[each[seed] for _, each in known] for seed in seeds]
            band(panel, [level for level, _ in known], curves, _LABELS[method], COLOURS[_ROLES[method]])
        panel.set(title=title, xlabel="% of the frames", ylim=(-0.02, 1.02))
    _draw_speed(axes[2], table, methods)
    axes[0].set(ylabel="label accuracy")
    legend_below(figure, axes[0], len(methods))
    return {"corrupted": figure}


def _draw_speed(axes: Axes, table: dict[tuple[str, str], dict[float, float]], methods: list[str]) -> None:
    for k, method in enumerate(methods):
        for x, name in enumerate(("clean", "speed")):
            values = list(table.get((name, method), {}).values())
            draw_range(axes, x + (k - (len(methods) - 1) / 2) * 0.12, values, _ROLES[method])
    axes.set(title="paces", ylim=(-0.02, 1.02), xlim=(-0.5, 1.5))
    axes.set_xticks((0, 1), ("one", "½ to 2"))

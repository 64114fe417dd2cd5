"""Scores against the lag, and learning curves at each lag."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.control.impala_lag.measures import actors, scores
from mechlearn_zoo.experiments.control.impala_lag.run import CORRECTIONS
from mechlearn_zoo.learners.plots import Figure

LOOKS = {
    "none": ("no correction", "baseline"), "epsilon": ("epsilon-correction", "fourth"), "one-step": ("one-step IS", "third"),
    "vtrace": ("V-trace", "ours"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the score at the end against the lag, and the way there; lag and score against the number of actors."""
    found = {"actors": _actors(rows)} if rows.where(kind="actors") else {}
    return {"lag": _lags(rows), "curves": _curves(rows.where(kind="curve")), **found} if rows.where(kind="curve") else found


def _lags(rows: Rows) -> Figure:
    lags = sorted({int(lag) for lag in rows.where(kind="curve")["lag"]})
    figure, (axes,) = panels(
        caption="Score at the end (mean reward of an episode; 1 is the best, -0.6 chance on Catch) against how many updates "
        "the actors are behind; median and range over seeds.", height=3.2,
    )  # fmt: skip
    for method, (label, shade) in LOOKS.items():
        band(axes, range(len(lags)), np.array([scores(rows, lag)[method] for lag in lags]).T, label, COLOURS[shade])
    axes.set_xticks(range(len(lags)), [str(lag) for lag in lags])
    axes.set(xlabel="updates behind", ylabel="score at the end")
    axes.legend()
    return figure


def _curves(rows: Rows) -> Figure:
    groups = rows.by("lag")
    figure, axes = panels(len(groups), caption="Score against frames at each lag; median and range over seeds.", height=2.8)
    for axis, (lag, some) in zip(axes, groups.items(), strict=True):
        for method, (label, shade) in LOOKS.items():
            frames, own = sorted(set(some["frames"])), some.where(method=method).by("seed").values()
            lines = [[np.mean(games["score"]) for games in seed.by("frames").values()] for seed in own]
            band(axis, np.array(frames) / 1000, lines, label, COLOURS[shade])
        axis.set(title=f"{lag} behind", ylim=(-1, 1), xlabel="1000 frames")
    axes[0].set_ylabel("score")
    axes[0].legend(fontsize=6.5)
    return figure


def _actors(rows: Rows) -> Figure:
    figure, axes = panels(
        2, 1, caption="A learner and its actors, each a process: how many updates old the weights were, and the score at "
        "the end; median and range over seeds.", height=2.8,
    )  # fmt: skip
    for axis, key, label in zip(axes, ("lag", "score"), ("mean lag in updates", "score at the end"), strict=True):
        found = actors(key, rows)
        counts = sorted(found)
        for method in CORRECTIONS:
            lines = np.array([found[count][method] for count in counts]).T
            band(axis, range(len(counts)), lines, LOOKS[method][0], COLOURS[LOOKS[method][1]])
        axis.set_xticks(range(len(counts)), [str(count) for count in counts])
        axis.set(xlabel="actors", ylabel=label)
    axes[0].legend()
    return figure

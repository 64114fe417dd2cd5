"""Scores against the lag, and learning curves at each lag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.control.impala_lag.measures import actors, scores
from mechlearn_zoo.experiments.control.impala_lag.run import CORRECTIONS, METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {"none": "no correction", "epsilon": "epsilon-correction", "one-step": "one-step IS", "vtrace": "V-trace"}
SHADES = {"none": "baseline", "epsilon": "fourth", "one-step": "third", "vtrace": "ours"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the score at the end against the lag, and the way there; lag and score against the number of actors."""
    found = {"actors": _actors(rows)} if rows.where(kind="actors") else {}
    return {**_lags(rows), **found} if rows.where(kind="curve") else found


def _lags(rows: Rows) -> dict[str, Figure]:
    curves = rows.where(kind="curve")
    lags = sorted({int(lag) for lag in curves["lag"]})
    figure, (axes,) = panels(
        caption="Score at the end (mean reward of an episode; 1 is the best, -0.6 chance on Catch) against how many updates "
        "the actors are behind; median and range over seeds.", height=3.2,
    )  # fmt: skip
    for method in METHODS:
        ends = np.array([scores(rows, lag)[method] for lag in lags]).T
        band(axes, range(len(lags)), ends, LABELS[method], COLOURS[SHADES[method]])
    axes.set_xticks(range(len(lags)), [str(lag) for lag in lags])
    axes.set(xlabel="updates behind", ylabel="score at the end")
    axes.legend()
    return {"lag": figure, "curves": _curves(curves, lags)}


def _curves(curves: Rows, lags: list[int]) -> Figure:
    figure, axes = panels(
        len(lags), 1, caption="Score against frames at each lag; median and range over seeds.", height=2.8
    )  # fmt: skip
    for axis, lag in zip(axes, lags, strict=True):
        for method in METHODS:
            some = curves.where(lag=lag, method=method)
            frames = sorted({int(found) for found in some["frames"]})
            lines = [[np.mean(group.where(frames=frame)["score"]) for frame in frames] for group in some.by("seed").values()]
            band(axis, np.array(frames) / 1000, lines, LABELS[method], COLOURS[SHADES[method]])
        axis.set_title(f"{lag} behind")
        axis.set_ylim(-1, 1)
        axis.set_xlabel("1000 frames")
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
            band(axis, range(len(counts)), lines, LABELS[method], COLOURS[SHADES[method]])
        axis.set_xticks(range(len(counts)), [str(count) for count in counts])
        axis.set(xlabel="actors", ylabel=label)
    axes[0].legend()
    return figure

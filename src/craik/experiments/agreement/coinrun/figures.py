"""The figure of `coinrun`, and what is claimed of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.agreement.coinrun.optimisers import Method
from craik.lab import Claim, Measurement, Rows, bootstrap
from craik.lab.drawing import COLOURS, panels

_METHODS: tuple[Method, ...] = ("adam", "and-mask")


def best(rows: Rows, method: Method, key: str) -> list[float]:
    """Return for each seed the mean over a method's finalists, as figure 3.12 has it over runs."""
    return [float(np.mean(group.where(kind="finalist", method=method)[key])) for group in rows.by("seed").values()]


@dataclass(frozen=True)
class Reduction:
    """How much smaller the AND-mask's divergence is than Adam's, as a share of Adam's; positive: the AND-mask is better."""

    key: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the median over seeds with its bootstrap interval."""
        if not rows.where(kind="finalist", method="and-mask"):
            return None
        pairs = zip(best(rows, "adam", self.key), best(rows, "and-mask", self.key), strict=True)
        return bootstrap([1 - masked / adam for adam, masked in pairs])


def _claim(name: str, text: str, key: str) -> Claim:
    return Claim(
        id=f"coinrun.{name}",
        text=text,
        source="thesis figure 3.12; paper section 3.3",
        printed="about 0.05 (1.65e-2 against 1.73e-2)",
        measure=Reduction(key),
        holds=lambda reduction: reduction.low > 0,
        condition="median over seeds above 0, its interval too",
        tried="On the grid world 8 and 20 trials a method of 10 epochs, the mask's Adam without bias correction, as printed: "
        "its averages start from 0 and take longer than such a run, and most trials never found the goal. Then 18 epochs, with "
        "the correction. On a recording of the game, with an expert that fell far short of the texts' and the small network: 5 "
        "trials without the correction, then 6 with it and lower learning rates, which left a third of the mask's deficit.",
    )


CLAIMS = (
    _claim(
        "selected",
        "Adam with the temporal AND-mask has a smaller divergence from the expert on test levels than Adam, epochs selected "
        "on held-out levels: share of Adam's divergence that is saved",
        "test",
    ),
    _claim(
        "least", "The same for the smallest test divergence over the epochs, which is how the texts report it", "least_test"
    ),
)


def learning_curves(rows: Rows) -> Figure:
    """Draw figures 3.11 (learning curves of the finalists) and 3.12 (their divergences on test levels)."""
    data = rows[0]["data"]
    caption = f"Finalists of both searches on {data}. Left, middle: learning curves (line: mean, band: range over finalists). "
    figure, (train_axes, test_axes, bar_axes) = panels(
        3, caption=caption + "Right: test KL at the selected epoch, a dot a run."
    )
    for index, method in enumerate(_METHODS):
        colour = COLOURS["baseline" if method == "adam" else "ours"]
        found = rows.where(kind="curve", method=method)
        epochs = sorted(set(found["epoch"]))
        for axes, key in ((train_axes, "train"), (test_axes, "test")):
            values = np.array([found.where(epoch=epoch)[key] for epoch in epochs])
            axes.plot(epochs, values.mean(axis=1), color=colour, label=method)
            axes.fill_between(epochs, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.18, linewidth=0)
        points = rows.where(kind="finalist", method=method)["test"]
        jitter = np.random.default_rng(0).uniform(-0.1, 0.1, len(points))
        bar_axes.scatter(index + jitter, points, color=colour, s=18)
        bar_axes.hlines(float(np.mean(points)), index - 0.25, index + 0.25, color=colour)
    train_axes.set(title="training levels", xlabel="epoch", ylabel="KL (nats)", yscale="log")
    test_axes.set(title="test levels", xlabel="epoch")
    bar_axes.set(title="test levels", xticks=[0, 1], xlim=(-0.6, 1.6))
    bar_axes.set_xticklabels(list(_METHODS))
    train_axes.legend()
    return figure

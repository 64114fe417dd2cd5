"""Learning curves of the finalists (figure 3.11) and their divergences on test levels (figure 3.12)."""

import numpy as np

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.experiments.agreement.coinrun.run import METHODS
from mechlearn_zoo.learners.plots import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw figures 3.11 (learning curves of the finalists) and 3.12 (their divergences on test levels)."""
    data = rows[0]["data"]
    caption = f"Finalists of both searches on {data}. Left, middle: learning curves (line: mean, band: range over finalists). "
    figure, (train_axes, test_axes, bar_axes) = panels(
        3, caption=caption + "Right: test KL at the selected epoch, a dot a run."
    )
    for index, method in enumerate(METHODS):
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
    bar_axes.set_xticklabels(list(METHODS))
    train_axes.legend()
    return {"learning-curves": figure}

"""ILC and accuracy at a new site, a panel a hypothesis class or start."""

from claimlab import COLOURS, Rows, panels
from mechlearn_zoo.learners.plots import Figure, legend_below

_METHODS = {"mean": ("averaging", "baseline"), "and-mask": ("AND-mask", "ours"), "geometric": ("geometric mean", "third")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw each seed's ILC against accuracy at a new site."""
    starts = [start for start in ("perceptron", "convolution", "pre-trained") if rows.where(start=start)]
    figure, axes = panels(
        len(starts),
        1,
        caption="Accuracy at a site with a code of its own against ILC, minus the largest difference of two sites' true losses "
        "that walks met where one of the two had risen by 0.01: a point a seed, all networks at one training loss. "
        "Further right is more consistent.",
        height=3.2,
    )
    for axis, start in zip(axes, starts, strict=True):
        for method, (label, role) in _METHODS.items():
            found = rows.where(start=start, method=method)
            axis.plot(found["walked"], found["accuracy"], "o", color=COLOURS[role], alpha=0.75, label=label)
        axis.set(title=start, xlabel="ILC, by walks", ylim=(0, 1))
    axes[0].set_ylabel("accuracy at a new site")
    legend_below(figure, axes[0], 3)
    return {"consistency": figure}

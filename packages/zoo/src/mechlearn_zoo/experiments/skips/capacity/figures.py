"""Accuracy against the size of the network, a panel a number of episodes."""

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.learners.plots import Figure

_METHODS = {"asi": ("ASI", "ours"), "fixed-3": ("fixed, Δt = 3", "third"), "fixed-6": ("fixed, Δt = 6", "baseline")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracies by size and number of episodes."""
    counts = sorted({int(count) for count in rows["episodes"]})
    figure, axes = panels(
        len(counts),
        1,
        caption="How often a roll-out lands where the ball does, against the units in each of two hidden layers, at equal "
        "model evaluations: medians, with bands from the lowest to the highest seed.",
        height=3.2,
    )
    for axis, count in zip(axes, counts, strict=True):
        for method, (label, role) in _METHODS.items():
            some = rows.where(method=method, episodes=count)
            if some:
                sizes = sorted({int(size) for size in some["hidden"]})
                curves = [[group.where(hidden=size)["accuracy"][0] for size in sizes] for group in some.by("seed").values()]
                band(axis, sizes, curves, label, COLOURS[role])
        axis.set_xscale("log", base=2)
        units = sorted({int(size) for size in rows["hidden"]})
        axis.set_xticks(units, [str(size) for size in units])
        axis.set(title=f"{count} episodes", xlabel="units", ylim=(-0.02, 1.02))
    axes[0].set_ylabel("label accuracy")
    axes[0].legend()
    return {"capacity": figure}

"""The phase diagram: accuracy at a new site by sites, rows and rule; and what tests cost where there is no conflict."""

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.agreement.conflict_codes import null, peers
from mechlearn_zoo.experiments.agreement.conflict_codes.run import COMPARED
from mechlearn_zoo.learners.plots import Figure, level, lines_of_dots
from mechlearn_zoo.learners.shortcuts.methods import METHODS


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw each method's gain over averaging against the rows of a site, a panel a number of sites."""
    ends = rows.where(kind="final")
    counts = sorted({int(count) for count in ends["sites"]})
    figure, axes = panels(
        len(counts), 1, caption="Accuracy at a site with another code less averaging's, by rows of each site; mean over seeds.",
        height=3.2,
    )  # fmt: skip
    for axis, count in zip(axes, counts, strict=True):
        some = ends.where(sites=count)
        sizes = sorted({int(size) for size in some["rows"]})
        base = {size: np.mean(some.where(rows=size, method="mean")["accuracy"]) for size in sizes}
        for index, method in enumerate(COMPARED[1:]):
            gains = [np.mean(some.where(rows=size, method=method)["accuracy"]) - base[size] for size in sizes]
            if method == "and-mask":
                axis.plot(sizes, gains, "s--", color=COLOURS["ink"], label=METHODS[method].label)
            else:
                axis.plot(sizes, gains, "o-", color=colour(index - 1), label=METHODS[method].label)
        axis.set_xscale("log", base=2)
        axis.set(title=f"{count} sites", xlabel="rows of a site")
    axes[0].set_ylabel("accuracy less averaging's")
    axes[0].legend(fontsize=6.5)
    return {"phases": figure}


def of_null(rows: Rows) -> dict[str, Figure]:
    """Draw the shares by environments and rows, and every seed's difference of accuracy from averaging."""
    figure, axes = panels(
        2, 1, caption="Left: share of noise that Gail-Simon's rule masks over its level 0.2, by environments and rows "
        "(examples as parts); 1 is what it may at most. Right: accuracy less averaging's on exchangeable "
        "sites, a point a seed.", height=3.2,
    )  # fmt: skip
    noise = rows.where(kind="noise", method="qualitative", parts="examples", level=0.2)
    for index, (count, group) in enumerate(sorted(noise.by("rows").items())):
        sizes = sorted({int(e) for e in group["environments"]})
        shares = [float(np.mean(group.where(environments=e)["masked"])) / 0.2 for e in sizes]
        axes[0].plot(sizes, shares, "o-", color=colour(index), label=f"{count} rows")
    level(axes[0], 1.0)
    axes[0].set_xlabel("environments")
    axes[0].legend()
    ends = {method: np.array(rows.where(kind="final", method=method)["accuracy"]) for method in null.COMPARED}
    lines_of_dots(axes[1], {method: ((ends[method] - ends["mean"]).tolist(), "ours") for method in null.COMPARED[1:]})
    level(axes[1], 0.0, upright=True)
    return {"null": figure}


def of_peers(rows: Rows) -> dict[str, Figure]:
    """Draw each seed's gain over averaging, by method, a panel a board."""
    caption = "Accuracy at a new site less averaging's, where validation stops, a point a seed."
    figure, axes = panels(2, 2, caption=caption, height=5.6)
    for axis, cell in zip(axes, peers.CELLS, strict=True):
        ends = {name: np.array(rows.where(cell=cell, method=name)["stopped_accuracy"]) for name in peers.METHODS}
        lines_of_dots(axis, {name: ((ends[name] - ends["mean"]).tolist(), "ours") for name in peers.METHODS[1:]})
        level(axis, 0.0, upright=True)
        axis.set_title(cell)
    return {"peers": figure}

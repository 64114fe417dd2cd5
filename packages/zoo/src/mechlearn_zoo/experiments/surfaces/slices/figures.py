"""Slices raw and normalised, the same network twice, paths beside random walks, curvature on the plane."""

import numpy as np

from claimlab import COLOURS, Rows, colour, number, panels
from mechlearn_zoo.experiments.surfaces.slices.run import NORMALISATIONS
from mechlearn_zoo.learners.plots import Axes, Figure, columns, first_seed


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the findings over all seeds, then the four figures, from the first seed but for the paths' shares."""
    first = first_seed(rows)
    one = {"slices": slices(first), "rescaled": rescaled(first), "paths": paths(rows, first), "convexity": convexity(first)}
    return {"findings": findings(rows), **one}


def numbers(text: object) -> np.ndarray:  # pyright: ignore[reportMissingTypeArgument]
    """Return the numbers of a line."""
    return np.array([float(word) for word in str(text).split()])


def findings(rows: Rows) -> Figure:
    """Draw what rescaling changes and how wide the four networks look, raw and by filter; and both maps of curvature."""
    figure, (left, right, *maps) = panels(
        2, 2, height=5.0,
        caption="Top left: largest change of the loss curve when weights are rescaled and the function is not. Top right: "
        "width of the slice over that of the small batch without weight decay. Bars are means, dots seeds. "
        "Below: |smallest / largest| curvature around a deep network, one seed; dark is nearly convex.",
    )  # fmt: skip
    ways = {"none": "raw", "filter": "filter-normalised"}
    cases = {"layers": "layers", "units": "units", "balanced": "units,\nbalanced first"}
    changes = rows.where(kind="rescaling")
    looks = {way: (label, shade) for (way, label), shade in zip(ways.items(), ("baseline", "ours"), strict=True)}
    found = {look: [changes.where(normalise=way, rescaled=case)["change"] for case in cases] for way, look in looks.items()}
    columns(left, list(cases.values()), found, bars=True)
    left.set_title("rescaled weights: change of the curve", fontsize=10)
    left.legend(fontsize=8)
    nets, widths = rows.where(kind="network"), rows.where(kind="width")
    settings = sorted({(int(number(one, "batch")), number(one, "decay")) for one in nets})
    base = dict(zip(("batch", "decay"), settings[0], strict=True))
    series: dict[tuple[str, str], list[list[float]]] = {}
    for (batch, decay), shade in zip(settings, ("third", "ours", "fourth", "baseline"), strict=False):
        error = float(np.median(nets.where(batch=batch, decay=decay)["test_error"]))
        label = f"{batch}{', decay' if decay else ''}: {error:.2f}"
        some = (widths.where(normalise=way) for way in ways)
        series[label, shade] = [
            np.divide(w.where(batch=batch, decay=decay)["width"], w.where(**base)["width"]).tolist() for w in some
        ]
    columns(right, list(ways.values()), series, bars=True)
    right.set(ylim=(0, 2.2))
    right.set_title("width of four networks", fontsize=10)
    right.legend(fontsize=8, ncols=2, loc="upper left", title="batch: test error", title_fontsize=8, columnspacing=1)
    _maps(figure, maps, rows)
    return figure


def slices(first: Rows) -> Figure:
    """Draw each network's slice, a panel a normalisation."""
    figure, axes = panels(
        4, 1, height=3.0,
        caption="Training loss along a random direction from each network (one seed). Raw directions compare the scale of the "
        "weights; blue is the small batch, red the large one, dashed with weight decay. All panels have the same axes.",
    )  # fmt: skip
    small = min(int(str(row["batch"])) for row in first.where(kind="slice"))
    furthest = max(float(str(row["reach"])) for row in first.where(kind="slice"))
    for axis, normalise in zip(axes, NORMALISATIONS, strict=True):
        for row in first.where(kind="slice", normalise=normalise):
            curve, reach = numbers(row["curve"]), float(str(row["reach"]))
            role = COLOURS["ours" if row["batch"] == small else "baseline"]
            style = "--" if float(str(row["decay"])) else "-"
            label = f"batch {row['batch']}, decay {row['decay']}"
            axis.plot(np.linspace(-reach, reach, len(curve)), curve, style, color=role, label=label)
        axis.set(title="raw" if normalise == "none" else normalise, xlim=(-furthest, furthest), ylim=(0, 3), xlabel="step")
    axes[0].set_ylabel("loss")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def rescaled(first: Rows) -> Figure:
    """Draw the slices of one network and of the same with rescaled units."""
    figure, axes = panels(
        4, 1, height=2.6,
        caption="One function, twice: a network (solid) and the same with its units' weights rescaled (dashed), along one "
        "draw. Where the curves differ, the slice shows the writing, not the function.",
    )  # fmt: skip
    for axis, normalise in zip(axes, NORMALISATIONS, strict=True):
        for name, style, role in (("own", "-", "ours"), ("units", "--", "baseline")):
            curve = numbers(first.where(kind="rescaled slice", normalise=normalise, network=name)[0]["curve"])
            axis.plot(np.linspace(-1, 1, len(curve)), curve, style, color=COLOURS[role])
        axis.set(title="raw" if normalise == "none" else normalise, ylim=(0, 3), xlabel="step")
    axes[0].set_ylabel("loss")
    return figure


def paths(rows: Rows, first: Rows) -> Figure:
    """Draw the paths in their principal planes, and what two directions explain, beside a random walk's share."""
    figure, (plane, bars) = panels(
        2, 1, height=3.0,
        caption="Left: training paths in their own two principal directions, from start to end (circle), one seed. Right: the "
        "share of variance in these two, beside that of a random walk in many dimensions with steps of the same length.",
    )  # fmt: skip
    shown = list(first.where(kind="path"))
    for index, row in enumerate(shown):
        points = np.array([[float(x) for x in point.split(",")] for point in str(row["points"]).split()])
        label = f"batch {row['batch']}, decay {row['decay']}"
        plane.plot(points[:, 0], points[:, 1], color=colour(index), label=label)
        plane.plot(points[-1:, 0], points[-1:, 1], "o", color=colour(index))
    plane.legend(fontsize=6)
    groups = [rows.where(kind="path", batch=row["batch"], decay=row["decay"]) for row in shown]
    shares = {
        (name, role): [np.add(some[f"{name}1"], some[f"{name}2"]).tolist() for some in groups]
        for name, role in (("path", "ours"), ("walk", "reference"))
    }
    columns(bars, [f"{row['batch']}\n{row['decay']}" for row in shown], shares, bars=True)
    bars.set(ylim=(0, 1.25), title="share in two directions")
    bars.legend(ncols=2, loc="upper center")
    return figure


def convexity(first: Rows) -> Figure:
    """Draw |smallest / largest| curvature over the plane, with shortcuts and without."""
    figure, axes = panels(
        2, 1, height=3.2,
        caption="|smallest / largest| eigenvalue of the Hessian on a plane of two filter-normalised directions around a deep "
        "network, one seed. Bright: the surface bends down as strongly as up, whatever a slice looks like.",
    )  # fmt: skip
    _maps(figure, axes, first)
    return figure


def _maps(figure: Figure, axes: list[Axes], rows: Rows) -> None:
    for axis, shortcuts in zip(axes, (True, False), strict=True):
        some = rows.where(kind="convexity", shortcuts=shortcuts)
        values = numbers(some[0]["ratios"])
        side = round(len(values) ** 0.5)
        image = axis.imshow(values.reshape(side, side).T, vmin=0, vmax=1, extent=(-1, 1, -1, 1), origin="lower")
        share = f"{np.mean(some['share']):.2f} not convex"
        axis.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        axis.set_title(f"with shortcuts: {share}" if shortcuts else f"without: {share}", fontsize=10)
        axis.grid(visible=False)
        figure.colorbar(image, ax=axis, shrink=0.8)

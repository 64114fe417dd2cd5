"""Where walkers are, method by method, and how much of the maze an episode covers."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.mazes.television.run import METHODS, WITH_TV
from craik.lab import COLOURS, Rows, band, colour, panels

LABELS = {
    "none": "no bonus", "counts": "counts (oracle)", "random": "curiosity, random", "inverse": "curiosity, inverse",
    "pixels": "curiosity, pixels", "reachability": "reachability", "continuous": "reachability, continuous",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw maps of the first seed and curves of all."""
    drawn = {"coverage": _coverage(rows.where(kind="curve"))}
    maps = rows.where(kind="map")
    return drawn | ({"maps": _maps(next(iter(maps.by("seed").values())))} if maps else {})


def _coverage(rows: Rows) -> Figure:
    figure, axes = panels(
        2, 1, height=3.4, caption="Share of the maze's cells that a walker visits in an episode of 150 steps, with the "
        "television off and on; median and range over seeds.",
    )  # fmt: skip
    for axis, on in zip(axes, (False, True), strict=True):
        for index, method in enumerate(METHODS):
            some = rows.where(method=method, tv=on)
            if some:
                x, lines = some.curves("rollout", "coverage")
                shade = COLOURS["ink"] if method == "continuous" else colour(index)
                band(axis, np.asarray(x) + 1, lines, LABELS[method], shade)
        axis.set(xlabel="episodes of every walker", title=f"television {'on' if on else 'off'}", ylim=(0, None))
    axes[0].set_ylabel("coverage of an episode")
    axes[0].legend(fontsize=6.5)
    return figure


def _maps(rows: Rows) -> Figure:
    figure, axes = panels(
        len(METHODS), 2, height=2.9, caption="Where walkers are in the last fifth of training, television off above and on "
        "below: darker is more often, on a scale of square roots; the cross is where episodes begin. First seed.",
    )  # fmt: skip
    for place, axis in enumerate(axes):
        on, method = place >= len(METHODS), METHODS[place % len(METHODS)]
        axis.set_xticks(())
        axis.set_yticks(())
        axis.grid(visible=False)
        if on and method not in WITH_TV:
            axis.axis("off")
            continue
        row = rows.where(method=method, tv=on)[0]
        free = np.array([[cell == "." for cell in line] for line in str(row["maze"]).split("/")])
        picture = np.full(free.shape, np.nan)
        picture[free] = np.sqrt([float(share) for share in str(row["shares"]).split()])
        axis.set_facecolor(COLOURS["ink"])
        axis.imshow(picture, cmap="Blues", vmin=0, vmax=0.4)
        axis.plot(*np.argwhere(free)[0][::-1], "x", color=COLOURS["baseline"], markersize=4)
        if not on:
            axis.set_title(LABELS[method].replace(", ", ",\n"), fontsize=6.5, pad=3)
    return figure

"""The plots that most figures of experiments are made of, and matplotlib's classes for annotations without loading it.

Colours are roles of `claimlab.COLOURS`, or colours of matplotlib.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from claimlab import COLOURS, Rows, Scalar, band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
else:  # a worker starts without it
    Axes = Figure = AxesImage = object

Array = np.ndarray[Any, np.dtype[Any]]

Numbers = Sequence[float | int]
Look = tuple[str, str]
"""What something is called in a legend, and its colour."""


def curves(axes: Axes, rows: Rows, x: str, y: str, column: str, looks: Mapping[Any, Look], per: float | int = 1) -> None:
    """Draw a number on the way, the median over seeds and their range, for each value of a column that there is.

    Args:
        axes: to draw on.
        rows: a row per seed, value and position.
        x: the positions' column.
        y: the numbers' column.
        column: what tells the curves apart.
        looks: of its values, in the order of the legend.
        per: by what positions are divided.
    """
    for value, (label, shade) in looks.items():
        if some := rows.where(**{column: value}):
            positions, lines = some.curves(x, y)
            band(axes, np.asarray(positions) / per, lines, label, COLOURS.get(shade, shade))


def columns(
    axes: Axes,
    ticks: Sequence[str],
    series: Mapping[Look, Sequence[Numbers]],
    bars: bool = False,
    fontsize: float | int | None = None,
) -> None:
    """Draw a dot per seed above each tick, series side by side.

    Args:
        axes: to draw on.
        ticks: what stands below the columns.
        series: the seeds' numbers at each tick, by label and colour; a label "" stands in no legend.
        bars: whether bars reach up to the means.
        fontsize: of the ticks.
    """
    wide = 0.8 / len(series) if bars else 0.16
    for index, ((label, shade), groups) in enumerate(series.items()):
        colour = COLOURS.get(shade, shade)
        for place, values in enumerate(groups):
            at, name = place + wide * (index - (len(series) - 1) / 2), label if label and not place else None
            if bars and len(values):
                axes.bar(at, float(np.mean(values)), 0.9 * wide, color=colour, alpha=0.55, label=name)
            axes.plot([at] * len(values), values, "o", color=colour, markersize=3 if bars else 4, label=None if bars else name)
    axes.set_xticks(range(len(ticks)), ticks, fontsize=fontsize)
    axes.set_xlim(-0.5, len(ticks) - 0.5)


def lines_of_dots(axes: Axes, groups: Mapping[str, tuple[Numbers, str]], named: bool = True, bar: bool = True) -> None:
    """Draw a dot per seed, a line per group from the top.

    Args:
        axes: to draw on.
        groups: each group's numbers and colour by its name.
        named: whether the names stand at the left.
        bar: whether a bar marks each median.
    """
    for place, (values, shade) in enumerate(list(groups.values())[::-1]):
        colour = COLOURS.get(shade, shade)
        axes.plot(values, [place] * len(values), "o", color=colour, markersize=5, alpha=0.75)
        if bar and len(values):
            axes.plot([float(np.median(values))] * 2, [place - 0.3, place + 0.3], color=colour)
    axes.set_yticks(range(len(groups)), list(groups)[::-1] if named else [""] * len(groups))
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")


def table(
    axes: Axes,
    numbers: Array,
    across: Sequence[Scalar],
    down: Sequence[Scalar],
    look: str,
    limits: tuple[float | int, float | int],
) -> AxesImage:
    """Draw a table as a map with its numbers in the cells; NaN stays empty.

    Args:
        axes: to draw on.
        numbers: (down, across).
        across: names of the columns.
        down: names of the rows.
        look: one of matplotlib's colour maps.
        limits: of the map.

    Returns:
        The image, for a colour bar.
    """
    image = axes.imshow(numbers, cmap=look, vmin=limits[0], vmax=limits[1], aspect="auto")
    for (row, column), value in np.ndenumerate(numbers):
        if np.isfinite(value):
            bright = np.dot(image.to_rgba(np.array([value]))[0, :3], (0.3, 0.59, 0.11)) > 0.5
            shade = COLOURS["ink"] if bright else "white"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=shade)
    axes.set_xticks(range(len(across)), [str(name) for name in across])
    axes.set_yticks(range(len(down)), [str(name) for name in down])
    axes.grid(visible=False)
    return image


def picture(axes: Axes, pixels: ArrayLike | None = None, title: str = "", framed: bool = False, **shown: Any) -> None:  # noqa: ANN401  # of imshow
    """Make axes a picture: no ticks, no grid.

    Args:
        axes: to draw on.
        pixels: what is shown; None where the caller draws.
        title: above it.
        framed: whether there is a line on all sides.
        shown: how, for matplotlib's `imshow`.
    """
    if pixels is not None:
        shown.setdefault("interpolation", "nearest")
        axes.imshow(pixels, **shown)
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    if title:
        axes.set_title(title, fontsize=8)
    if framed:
        for spine in axes.spines.values():
            spine.set_visible(True)


def level(axes: Axes, at: float | int, label: str | None = None, style: str = ":", upright: bool = False) -> None:
    """Draw a grey line at a number that nothing here has learned: chance, an oracle, a printed value."""
    draw = axes.axvline if upright else axes.axhline
    draw(at, color=COLOURS["reference"], linestyle=style, linewidth=0.9, label=label)


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """Put the axes' legend below all panels."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def first_seed(rows: Rows) -> Rows:
    """Return the first seed's rows; all of them where rows have no seed."""
    return rows.where(seed=rows[0]["seed"]) if rows and "seed" in rows[0] else rows

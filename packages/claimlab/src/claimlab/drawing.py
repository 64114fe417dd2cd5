"""Figures: one style for the house, drawn through matplotlib's objects and never through its global state.

Figures carry their caption as their label (`panels(caption=...)`). They are saved as SVG whose bytes depend on what is
drawn alone: no date, and identifiers from a fixed salt.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from cycler import cycler
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "ours": "#0b6e9e",  # the thesis's method
    "baseline": "#d1495b",  # plain averaging, plain backprop
    "third": "#2f8f6b",
    "fourth": "#c98a14",
    "fifth": "#7b5aa6",
    "sixth": "#7a5c46",
    "reference": "#8a8f98",  # chance, oracle, printed value: lines that nobody measured
    "ink": "#20242c",
}
"""Colours by role, told apart under the common colour blindnesses: the first two also differ in lightness."""

STYLE: dict[str, Any] = {
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same picture on every machine
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 10,
    "axes.labelcolor": COLOURS["ink"],
    "axes.edgecolor": "#5b616b",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=[COLOURS[role] for role in list(COLOURS)[:6]]),
    "grid.color": "#e6e8eb",
    "grid.linewidth": 0.8,
    "xtick.color": "#5b616b",
    "ytick.color": "#5b616b",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "text.color": COLOURS["ink"],
    "svg.hashsalt": "claimlab",
    "svg.fonttype": "path",  # text looks the same where the font is missing
}
"""matplotlib's settings while figures are made and saved; they hold nowhere else."""

WIDTH = 7.2
"""Inches across a figure: the report's text width."""


def colour(index: int) -> str:
    """Return the colour of the index-th curve; after six they come round again.

    >>> colour(0) == COLOURS["ours"]
    True
    """
    return COLOURS[list(COLOURS)[index % 6]]


def house_style() -> AbstractContextManager[None]:
    """Let matplotlib make and save figures in `STYLE` within it; an experiment's `figures` are called inside."""
    import matplotlib as mpl  # noqa: PLC0415  # a worker starts without it

    return mpl.rc_context(STYLE)  # pyright: ignore[reportArgumentType] # the stubs want each key as a literal


def panels(
    columns: int = 1, rows: int = 1, *, caption: str = "", width: float | int = WIDTH, height: float | int | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure in the house's style with its axes row by row.

    Args:
        columns: panels side by side.
        rows: panels above each other.
        caption: a sentence that the report prints below the figure.
        width: of the whole figure, in inches.
        height: of the whole figure, in inches; chosen to go with the panels if None.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # a worker starts without it

    tall = height if height is not None else rows * (0.62 * width / columns if columns > 1 else 0.5 * width)
    with house_style():
        figure = Figure(figsize=(width, tall), layout="constrained")
        figure.set_label(caption)
        grid: np.ndarray[Any, np.dtype[Any]] = figure.subplots(rows, columns, squeeze=False)
    return figure, list(grid.flat)


def band(
    axes: Axes, x: ArrayLike, curves: ArrayLike, label: str, colour: str, spread: Literal["range", "quartiles"] = "range"
) -> None:
    """Draw the median over seeds as a line and their spread as a band.

    Args:
        axes: to draw on.
        x: (points,) positions.
        curves: (seeds, points) values; NaN where a seed has none.
        label: for the legend.
        colour: of both; see `COLOURS`.
        spread: the band reaches from the least to the greatest seed, or from the first to the third quartile.

    Raises:
        ValueError: if the curves do not have one row per seed and one column per point.
    """
    positions, values = np.asarray(x, dtype=np.float64), np.asarray(curves, dtype=np.float64)
    if values.ndim != 2 or values.shape[1:] != positions.shape:
        found = f"{values.shape} for {positions.size} points"
        raise ValueError(f"`curves` should have shape (seeds, points). Found {found}. Stack one curve per seed.")
    levels = (0, 50, 100) if spread == "range" else (25, 50, 75)
    low, middle, high = np.nanpercentile(values, levels, axis=0)
    axes.plot(positions, middle, color=colour, label=label, linewidth=STYLE["lines.linewidth"])
    axes.fill_between(positions, low, high, color=colour, alpha=0.18, linewidth=0)


@dataclass(frozen=True)
class Animation:
    """A moving picture that an experiment draws, beside its figures.

    Args:
        caption: a sentence that the report prints below it.
        gif: the file's bytes.

    Raises:
        ValueError: if the bytes are not a GIF.
    """

    caption: str
    gif: bytes

    def __post_init__(self) -> None:
        if not self.gif.startswith(b"GIF8"):
            raise ValueError(f"`gif` should be the bytes of a GIF. Found {self.gif[:8]!r}. Save it as one.")

"""Maps of empowerment as pictures, and what noise in the sensors does to it."""

import numpy as np

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.learners.plots import Axes, AxesImage, Figure, first_seed, picture

_TITLES = {"maze": "a maze", "none": "an open room", "pushable": "with a box to push", "fixed": "with a fixed box"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's maps and all seeds' curve."""
    return {"maps": _maps(first_seed(rows)), "noise": _noise(rows)}


def _maps(rows: Rows) -> Figure:
    figure, axes = panels(
        4, 1, caption="Empowerment in bits; the number above a map is its largest, the three rooms have one scale, and black "
        "cells are walls or the box. First seed.",
        height=2.9,
    )  # fmt: skip
    found = {world: _map(rows.where(kind="cell", world=world)) for world in _TITLES}
    rooms = [found[world] for world in ("none", "pushable", "fixed")]
    shared = (min(np.nanmin(one) for one in rooms), max(np.nanmax(one) for one in rooms))
    for axis, (world, title) in zip(axes, _TITLES.items(), strict=True):
        low, high = (np.nanmin(found[world]), np.nanmax(found[world])) if world == "maze" else shared
        image = _draw(axis, found[world], (float(low), float(high)))
        figure.colorbar(image, ax=axis, orientation="horizontal", pad=0.03, label="bits")
        axis.set_title(f"{title}\n{np.nanmax(found[world]):.2f} bits", fontsize=8)
    return figure


def _map(cells: Rows) -> np.ndarray:
    places = [(int(row), int(column)) for row, column in zip(cells["row"], cells["column"], strict=True)]
    side = max(max(place) for place in places) + 1 + min(min(place) for place in places)  # a wall at both ends, or none
    found = np.full((side, side), np.nan)
    for place, bits in zip(places, cells.values("bits"), strict=True):
        found[place] = np.nan if bits is None else bits
    return found


def _draw(axis: Axes, found: np.ndarray, limits: tuple[float, float]) -> AxesImage:
    axis.set_facecolor(COLOURS["ink"])
    picture(axis)
    return axis.imshow(found, cmap="viridis", vmin=limits[0], vmax=limits[1])


def _noise(rows: Rows) -> Figure:
    figure, (axis, beside) = panels(
        2, 1, caption="Mean empowerment on a slippery floor by the sensors' noise, and how far ahead it must look to follow "
        "closeness centrality in a maze; median and range over seeds.",
        height=2.7,
    )  # fmt: skip
    band(axis, *rows.where(kind="sensor").curves("noise", "bits"), "capacity", COLOURS["ours"])
    axis.set(xlabel="share of readings that are drawn from all places", ylabel="bits", ylim=(0, None))
    band(beside, *rows.where(kind="centrality").curves("n", "rho"), "rho", COLOURS["third"])
    beside.set(xlabel="n, steps ahead", ylabel="Spearman's rho with closeness", ylim=(0, 1))
    return figure

"""A timeline: true frames in a row and, aligned below, the predictions that were matched with them (figures 2.7 and 2.8)."""

import json
from collections.abc import Sequence

import numpy as np

from claimlab import COLOURS, Row, Rows, number, panels
from mechlearn_zoo.experiments.skips.timeline import pictures
from mechlearn_zoo.learners.plots import Axes, Figure

SHOWN = 22
"""True frames in a timeline: a long skip and some frames on either side."""

_BETWEEN = 1.3
"""From true frames to predictions, in widths of a frame."""


def draw_timeline(rows: Rows) -> Figure:
    """Draw true frames above and, aligned below, the predictions that were matched with them."""
    true, predicted = pictures.recorded(rows)
    start = _portion([row for row, _ in predicted], len(true))
    window = range(start, min(start + SHOWN, len(true)))
    part = _moving_part(true[window.start : window.stop])
    tall = (part[0].stop - part[0].start) / (part[1].stop - part[1].start)
    figure, (axes,) = panels(
        caption="A portion of a test episode, of the seed with the highest label accuracy: true frames above; below, the "
        "predictions of a model that goes on from its own predictions, each below the frame it was matched with; cut to where "
        "something moves. The darker a line, the better the frame fits, in pixel loss. Where nothing stands below, the model "
        "skipped.",
        width=13.0,
        height=13.0 * (2.0 * tall + _BETWEEN + 0.6) / (SHOWN + 1.2),
    )
    rail = [number(row, "t") - start for row, _ in predicted if int(number(row, "t")) in window]
    axes.plot([-0.6, *rail], [0.0] * (len(rail) + 1), color=COLOURS["ink"], linewidth=0.8, zorder=1)
    for t in window:
        _picture(axes, true[t][part], float(t - start), tall + _BETWEEN)
    for row, picture in predicted:
        if int(number(row, "t")) in window:
            _picture(axes, picture[part], number(row, "t") - start, 0.0)
            _lines(axes, row, window, 0.5 * tall)
    axes.set(xlim=(-0.6, len(window) - 0.4), ylim=(-0.55 * tall, 1.55 * tall + _BETWEEN), aspect="equal")
    axes.set_yticks([tall + _BETWEEN, 0.0], ["true", "predicted"], fontsize=14)
    axes.set_xticks([t - start for t in window], [str(t) for t in window], fontsize=12)
    axes.set_xlabel("frame", fontsize=14)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


def _portion(predicted: Sequence[Row], length: int) -> int:
    """The first frame of a portion with a long skip in its middle: the longest that leaves room on both sides."""
    skips = [(int(number(row, "from")), int(number(row, "t"))) for row in predicted]
    some = [(before, after) for before, after in skips if after - before <= SHOWN - 4] or skips
    before, after = max(some, key=lambda skip: skip[1] - skip[0])
    return max(0, min((before + after + 1 - SHOWN) // 2, length - SHOWN))


def _moving_part(shown: Sequence[pictures.Picture], margin: int = 3) -> tuple[slice, slice]:
    """Rows and columns in which the pictures are not all the same, and a few around them."""
    stack = np.stack(shown).astype(int)
    moving = (stack != stack[0]).any(axis=(0, 3))
    if not moving.any():
        moving[:] = True
    ends = [(int(where.min()), int(where.max())) for where in moving.nonzero()]
    rows, columns = (slice(max(0, low - margin), high + 1 + margin) for low, high in ends)
    return rows, slice(columns.start, min(columns.stop, moving.shape[1]))


def _picture(axes: Axes, picture: pictures.Picture, x: float, y: float) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415  # a worker starts without it

    half = 0.45
    tall = half * picture.shape[0] / picture.shape[1]
    axes.imshow(picture, extent=(x - half, x + half, y - tall, y + tall), aspect="auto", interpolation="nearest", zorder=2)
    edge = Rectangle((x - half, y - tall), 2 * half, 2 * tall, fill=False, edgecolor="#b5b9c0", linewidth=0.6, zorder=3)
    axes.add_patch(edge)


def _lines(axes: Axes, row: Row, window: range, bottom: float) -> None:
    """Curves to the frames of a prediction's window, as dark as its likelihood in comparison with the best."""
    from matplotlib.patches import PathPatch  # noqa: PLC0415  # a worker starts without it
    from matplotlib.path import Path  # noqa: PLC0415  # a worker starts without it

    losses = np.array(json.loads(str(row["losses"])), dtype=np.float64)
    strengths = np.exp(-(losses - losses.min()) / 4)
    x, first = number(row, "t") - window[0], int(number(row, "from")) + 1
    middle, top = bottom + (_BETWEEN - 0.05) / 2, bottom + _BETWEEN - 0.05
    for t, strength in enumerate(strengths, start=first):
        if t in window and strength > 0.02:
            end = t - window[0]
            curve = Path([(x, bottom), (x, middle), (end, middle), (end, top)], [Path.MOVETO, *[Path.CURVE4] * 3])
            patch = PathPatch(curve, fill=False, edgecolor=COLOURS["ours"], alpha=float(strength), linewidth=2.4, zorder=1)
            axes.add_patch(patch)

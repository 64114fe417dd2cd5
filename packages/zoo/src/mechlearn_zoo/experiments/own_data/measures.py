"""From recorded scores to differences between methods, paired by seed, and their picture; in points of AUC."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, EachSeed, Measure, Measurement, Row, Rows, Scalar, bootstrap, number, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POOLED = "pooled network"
Cell = Mapping[str, Scalar]


def differences(rows: Rows, method: str, over: str, cell: Cell) -> list[float]:
    """Return a method's score less another's for each seed, mean over the new sites of a cell."""
    scores = rows.where(kind="score", **cell)
    found: list[float] = []
    for group in scores.by("seed").values():
        one, other = (group.where(method=name)["score"] for name in (method, over))
        if one and len(one) == len(other):
            found.append(float(np.mean(one) - np.mean(other)))
    return found


def difference(method: str, cell: Cell, over: str = POOLED) -> Measure:
    """Return a measure: `differences`, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = differences(rows, method, over, cell)
        return bootstrap(found, np.mean) if found else None

    return measure


def on_average(method: str, cells: Sequence[Cell], over: str = POOLED) -> Measure:
    """Return a measure: the mean over cells of `differences`, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = [differences(rows, method, over, cell) for cell in cells]
        return bootstrap(np.mean(found, 0).tolist(), np.mean) if all(found) else None

    return measure


def extreme(measures: Sequence[Measure], pick: Callable[..., Measurement | None] = min) -> Measure:
    """Return a measure: of several the one with the least value, or the most; those of which rows say nothing are left out."""

    def measure(rows: Rows) -> Measurement | None:
        found = [one for each in measures if (one := each(rows)) is not None]
        return pick(found, key=_value, default=None)

    return measure


def _value(one: Measurement) -> float | int:
    return one.value


def least(
    methods: Sequence[str], over: Sequence[str], cells: Sequence[Cell], pick: Callable[..., Measurement | None] = min
) -> Measure:
    """Return a measure: the smallest mean difference over all pairs of methods and all cells, with that pair's interval.

    Means over seeds choose the pair and the cell. The least of each seed would be chosen by chance, too, and its mean is never
    above that of any cell: where a claim holds by the one and not by the other, its row says so.
    """
    return extreme([difference(one, cell, other) for one in methods for other in over for cell in cells], pick)


most = partial(least, pick=max)
"""As `least`: the largest."""


def share_of_gain(method: str, of: str, share: float, cells: Sequence[Cell]) -> Measure:
    """Return a measure: what a method gains on pooled training less a share of another's gain, in the cell where that is least.

    The cell is the one whose mean over seeds is least. Only cells count in which the other's gain is above 0 with its whole
    interval; without any there is nothing to say.
    """

    def beyond(rows: Rows, cell: Cell) -> Measurement | None:
        gain = difference(of, cell)(rows)
        own, other = (differences(rows, one, POOLED, cell) for one in (method, of))
        if gain is None or gain.low <= 0 or len(own) != len(other):
            return None
        return bootstrap([one - share * two for one, two in zip(own, other, strict=True)], np.mean)

    return extreme([partial(beyond, cell=cell) for cell in cells])


def gains(rows: Rows, cells: Mapping[str, Cell], caption: str, over: str = POOLED) -> Figure:
    """Draw every method's difference from one of them with its interval over seeds, a panel a cell."""
    scores = rows.where(kind="score")
    methods = [str(name) for name in dict.fromkeys(row["method"] for row in scores) if name != over]
    columns = min(len(cells), 3)
    lines = -(-len(cells) // columns)
    figure, axes = panels(columns, lines, caption=caption, height=2.9 * lines)
    for axis in axes[len(cells) :]:
        axis.set_visible(False)
    for axis, (title, cell) in zip(axes, cells.items(), strict=False):
        base = scores.where(method=over, **cell)["score"]
        for place, method in enumerate(reversed(methods)):
            found = differences(rows, method, over, cell)
            if found:
                one = bootstrap(found, np.mean)
                colour = COLOURS["ours"] if method in ("AND-mask", "conflict rule", "Cochran's Q", "vote") else COLOURS["sixth"]
                axis.plot([one.low, one.high], [place, place], color=colour)
                axis.plot([one.value], [place], "o", color=colour, markersize=4)
        axis.set_yticks(range(len(methods)), list(reversed(methods)), fontsize=7)
        axis.axvline(0.0, color=COLOURS["reference"], linewidth=0.8)
        axis.set_title(f"{title}: {over} {np.mean(base):.1f}" if base else title, fontsize=8)
        axis.set_xlabel(f"points over the {over}", fontsize=8)
        axis.grid(axis="x", color="#e6e8eb")
    return figure


def share(word: str, boards: Collection[str], counts: Callable[[Rows, Row], bool] = lambda rows, row: True) -> Measure:
    """Return a measure: how often a word is said on some boards; a seed's verdicts are a unit of the interval.

    Args:
        word: of the verdict.
        boards: on which.
        counts: whether a verdict does, from the seed's rows and its own.
    """
    return EachSeed(lambda seed: _mean([float(one["word"] == word) for one in verdicts(seed, boards) if counts(seed, one)]))


def mean_of(key: str, boards: Collection[str], said: str | None = None) -> Measure:
    """Return a measure: the mean of a number of the verdicts that say a word, or of all; a seed's is a unit of the interval."""
    return EachSeed(lambda seed: _mean([number(one, key) for one in verdicts(seed, boards) if said in (None, one["word"])]))


def verdicts(rows: Rows, boards: Collection[str]) -> list[Row]:
    """Return the rows of verdicts on some boards."""
    return [row for row in rows.where(kind="verdict") if row["board"] in boards]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None

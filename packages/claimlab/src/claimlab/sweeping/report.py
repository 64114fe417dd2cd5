"""The report of a sweep: one HTML file that needs nothing else, and its figures beside it.

The figures show which ranges matter, and every trial's value against each of them.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claimlab.drawing import COLOURS, colour, panels
from claimlab.running.pictures import svg
from claimlab.running.storage import write_atomically
from claimlab.showing.rendering import render
from claimlab.sweeping.outcome import Outcome
from claimlab.sweeping.ranges import LogUniform, Range
from claimlab.sweeping.search import Done
from claimlab.sweeping.studies import Trial
from claimlab.values import written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3
"""Slices side by side."""


def write_report(done: Done, found: list[Outcome], command: str) -> tuple[Path, list[Path]]:
    """Write `report.html` and `figures/` into a sweep's folder, and return their paths."""
    (done.folder / "figures").mkdir(exist_ok=True)
    paths, pictures = list[Path](), list[dict[str, str]]()
    for name, figure in figures(done, found).items():
        content = svg(figure)
        paths.append(done.folder / "figures" / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}.svg")
        write_atomically(paths[-1], content)
        uri = f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
        pictures.append({"uri": uri, "caption": str(figure.get_label())})
    report = done.folder / "report.html"
    write_atomically(report, render("sweep.html.jinja", _values(done, found, command, pictures)))
    return report, paths


def _values(done: Done, found: list[Outcome], command: str, pictures: list[dict[str, str]]) -> dict[str, Any]:
    sweep = done.sweep
    return {
        "sweep": sweep,
        "found": found,
        "ranges": {name: one.words for name, one in sweep.ranges.of.items()},
        "settings": {one.method: {name: written(value) for name, value in one.fields.items()} for one in found},
        "trials": {one.method: done.studies.trials(one.method) for one in found},
        "pictures": pictures,
        "waiting": len(done.waiting),
        "command": command,
    }


def figures(done: Done, found: list[Outcome]) -> dict[str, Figure]:
    """Return the figures by name; importance only where enough trials tell, slices only of methods that draw from a range."""
    some = [(place, one) for place, one in enumerate(found) if done.sweep.ranges.drawn(one.method)]
    drawn = {f"slices-{one.method}": _slices(done, one, place) for place, one in some}
    told = [one for one in found if one.importance]
    return ({"importance": _importance(done, told)} if told else {}) | drawn


def _importance(done: Done, found: list[Outcome]) -> Figure:
    names = list(done.sweep.ranges.of)
    caption = "Share of what the objective varies by, over all trials that came to their end (PED-ANOVA)."
    figure, (axes,) = panels(caption=caption, height=0.9 + 0.28 * len(names) * max(1, len(found) / 2))
    thick = 0.8 / len(found)
    for place, one in enumerate(found):
        at = [index + (place - (len(found) - 1) / 2) * thick for index in range(len(names))]
        shares = [one.importance.get(name, 0.0) for name in names]
        axes.barh(at, shares, height=thick * 0.9, color=colour(place), label=one.method)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="importance", xlim=(0, 1))
    if len(found) > 1:
        axes.legend()
    return figure


def _slices(done: Done, one: Outcome, place: int) -> Figure:
    ranges = done.sweep.ranges.drawn(one.method)
    columns = min(COLUMNS, len(ranges))
    rows = -(-len(ranges) // columns)
    caption = f"{one.method}: every trial's value against each setting. Circle: the best. Hollow: ended early."
    figure, all_axes = panels(columns, rows, caption=caption, height=2.3 * rows)
    trials = done.studies.trials(one.method)
    for axes, (name, among) in zip(all_axes, ranges.items(), strict=False):
        _slice(axes, name, among, trials, place)
        if one.best is not None and one.best.value is not None:
            x = _places(among, [one.best], name)
            axes.scatter(x, [one.best.value], s=90, facecolors="none", edgecolors=COLOURS["ink"], linewidths=1.2, zorder=3)
    for axes in all_axes[len(ranges) :]:
        axes.set_visible(False)
    for axes in all_axes[: len(ranges) : columns]:
        axes.set_ylabel(", ".join(done.sweep.ranges.objective.columns).replace("_", " "))
    return figure


def _slice(axes: Axes, name: str, among: Range, trials: list[Trial], place: int) -> None:
    for state, face in (("complete", colour(place)), ("pruned", "none")):
        some = [one for one in trials if one.state == state and one.value is not None]
        values = [one.value or 0.0 for one in some]
        axes.scatter(_places(among, some, name), values, s=18, facecolors=face, edgecolors=colour(place))
    axes.set_title(name.replace("_", " "))
    if isinstance(among, LogUniform):
        axes.set_xscale("log")
        axes.set_xlim(among.low, among.high)
    elif _is_listed(among):
        options = list(among.grid())
        axes.set_xticks(range(len(options)), [written(option) for option in options], rotation=30, ha="right")
        axes.set_xlim(-0.5, len(options) - 0.5)


def _places(among: Range, trials: list[Trial], name: str) -> list[float]:
    options = list(among.grid())
    values = [one.chosen[name] for one in trials]
    return [float(options.index(value)) if _is_listed(among) else float(value or 0) for value in values]


def _is_listed(among: Range) -> bool:
    return not hasattr(among, "low")

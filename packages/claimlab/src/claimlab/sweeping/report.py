"""What a sweep came to, and its report: one HTML file that needs nothing else, and its figures beside it.

The figures show which ranges matter, and every trial's value against each of them.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from claimlab.claims import Measurement, bootstrap
from claimlab.drawing import COLOURS, colour, panels
from claimlab.rows import Rows, Scalar
from claimlab.running.pictures import svg
from claimlab.running.storage import write_atomically
from claimlab.showing.rendering import data_uri, render
from claimlab.sweeping.declared import Last, LogUniform, Range, of_test
from claimlab.sweeping.search import Done, Fresh
from claimlab.sweeping.studies import Trial
from claimlab.values import written


@dataclass(frozen=True)
class Outcome:
    """What was found for a method: how many trials ended how, the best one and its fields of the config.

    `fresh` has by name what these do on fresh seeds: the objective, and the last number of each test column.
    """

    method: str
    tally: dict[str, int]
    best: Trial | None
    fields: dict[str, Any]
    fresh: dict[str, Measurement]
    importance: dict[str, float]


def outcomes(done: Done) -> list[Outcome]:
    """Return what was found for every method."""
    found = list[Outcome]()
    for method in done.sweep.methods:
        states, best = [one.state for one in done.studies.trials(method)], done.best(method)
        tally = {state: states.count(state) for state in ("complete", "pruned", "failed", "running")}
        fields = done.sweep.ranges.fields(method, best.chosen, done.sweep.config) if best else {}
        runs = [one for one in done.fresh if one.trial.method == method]
        found.append(Outcome(method, tally, best, fields, _fresh(done, runs), importance(done, method)))
    return found


def _fresh(done: Done, runs: list[Fresh]) -> dict[str, Measurement]:
    objective = done.sweep.ranges.objective
    found = {", ".join(objective.columns): [objective.of(run.rows) for run in runs]}
    columns = dict.fromkeys(key for run in runs for row in run.rows for key in row if of_test(key))
    found |= {column: [Last(column)(Rows(run.rows)) for run in runs] for column in columns}
    return {
        name: bootstrap([value for value in values if value is not None])
        for name, values in found.items()
        if values and None not in values
    }


def importance(done: Done, method: str) -> dict[str, float]:
    """Return by range the share of the objective's variance that it explains, greatest first (PED-ANOVA, Watanabe et al. 2023).

    None where fewer than four trials came to their end, or all alike.
    """
    trials = [one for one in done.studies.trials(method) if one.state == "complete"]
    if len(trials) < 4 or len({one.value for one in trials}) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Optuna calls experimental
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()  # Optuna's default has changed
        found = optuna.importance.get_param_importances(done.studies.by_method[method], evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}


def as_values(chosen: dict[str, Scalar]) -> str:
    """Return a setting in words."""
    return ", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in chosen.items())


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
        pictures.append({"uri": data_uri(paths[-1].name, content), "caption": str(figure.get_label())})
    report = done.folder / "report.html"
    values = {
        "sweep": done.sweep,
        "found": found,
        "ranges": {name: one.words for name, one in done.sweep.ranges.of.items()},
        "settings": {one.method: {name: written(value) for name, value in one.fields.items()} for one in found},
        "trials": {one.method: done.studies.trials(one.method) for one in found},
        "pictures": pictures,
        "waiting": len(done.waiting),
        "command": command,
    }
    write_atomically(report, render("sweep.html.jinja", values))
    return report, paths


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

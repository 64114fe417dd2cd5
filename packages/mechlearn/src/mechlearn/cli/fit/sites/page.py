"""The report of `mechlearn fit sites`: the verdict, three pictures, the audit, and sites as rows of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mechlearn.cli.fit.page import number, template
from mechlearn.tables.transport import Transport

COLOURS = ("var(--plus)", "var(--no)", "var(--yes)", "var(--open)")
"""Of candidates and of ways to use labelled rows, in their order."""

LEFT, RIGHT = 160, 620
"""Ends of the forest plot's scale."""


def sites_page(found: Transport, facts: Mapping[str, Any]) -> str:
    """Return the report's HTML, from an answer and its `target`, `command`, and `features` of the audit."""
    shown = _shown(found)
    sentences = found.sentences
    return template("sites.html.jinja").render(
        {
            **facts,
            "verdict": sentences,
            "score": found.score_name,
            "error": found.error_name,
            "classes": found.task == "classification",
            "event": found.event,
            "colours": COLOURS,
            "forest": forest(found, shown),
            "curve": curve_picture(found),
            "means": means_picture(found),
            "drop": _drop(found),
            "candidates": _candidates(found),
            "shown": shown,
            "kept": found.kept,
            "sites": _sites(found, shown),
            "failures": list(map(str, found.failures)),
            "notes": list(found.notes),
        }
    )


def _shown(found: Transport) -> list[str]:
    """The candidate that the verdict predicts, the yardstick, and the best other candidate: three at most."""
    means = {name: one.mean for name, one in found.candidates.items() if math.isfinite(one.mean)}
    first = next(iter(found.candidates))
    same = found.candidates[first].scores  # the best simple candidate's dots would hide those of the one that it always is
    others = [name for name in means if name not in (first, found.kept, "constant") and found.candidates[name].scores != same]
    others.sort(key=lambda name: -means[name])
    return [*dict.fromkeys([found.asked, first, *found.own[:1], *others])][:3]


def forest(found: Transport, shown: Sequence[str]) -> dict[str, Any]:
    """Return places of each site's scores, the random folds' score and the next site's interval; worst sites first."""
    first = found.candidates[shown[0]]
    names = sorted(found.sites, key=lambda name: (first.scores[name] is None, first.scores[name] or 0.0))
    known = [name for name in names if any(found.candidates[one].scores[name] is not None for one in shown)]
    values = [score for one in shown for name in known if (score := found.candidates[one].scores[name]) is not None]
    ends = [] if first.next_site is None else [first.next_site.low, first.next_site.high]
    values = [*values, *ends, *([first.random] if math.isfinite(first.random) else [])] or [0.0, 1.0]
    if found.task == "regression":  # one site far below 0 must not squeeze all others
        values = [max(value, -1.0) for value in values]
    low, high = min(values), max(values)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def place(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (max(value, low) - low) / ((high - low) or 1.0), 1)

    rows = [
        {
            "name": name,
            "y": 20 + 20 * index,
            "dots": [
                {"x": place(score), "value": score, "name": one, "place": at}
                for at, one in enumerate(shown)
                if (score := found.candidates[one].scores[name]) is not None
            ],
        }
        for index, name in enumerate(known)
    ]
    bottom = 20 * len(known) + 12
    missing = len(names) - len(known)
    return {
        "width": 640,
        "height": bottom + 32,
        "bottom": bottom,
        "rows": rows,
        "names": list(shown),
        "random": place(first.random) if math.isfinite(first.random) else None,
        "band": None if first.next_site is None else (place(first.next_site.low), place(first.next_site.high)),
        "ticks": [(place(value), f"{value:g}") for value in ticks],
        "missing": f"{missing} sites have no {found.score_name}." if missing else "",
    }


def curve_picture(found: Transport) -> dict[str, Any] | None:
    """Return places of the points gained by labelled rows, and of the room."""
    if found.curve is None:
        return None
    sizes = [one.rows for one in next(iter(found.curve.points.values()))]
    gains = [one.gain for points in found.curve.points.values() for one in points]
    room = found.room
    ends = [] if room is None else [room.mean, *([] if room.interval is None else [room.interval.low, room.interval.high])]
    ends = [min(max(value, 4 * min(gains) - 2), 4 * max(gains) + 2) for value in ends]  # an interval may be far wider
    ticks = _ticks(min([-0.5, *gains, *ends]), max([1.0, *gains, *ends]))
    low, high = ticks[0], ticks[-1]

    def at(gain: float) -> float:
        return round(250 - 230 * (min(max(gain, low), high) - low) / (high - low), 1)

    places = {0: 50.0} | {size: 50 + 290 * (index + 1) / len(sizes) for index, size in enumerate(sizes)}
    lines = [
        {"name": name, "points": [(50.0, at(0.0)), *((places[one.rows], at(one.gain)) for one in points)]}
        for name, points in found.curve.points.items()
    ]
    return {
        "lines": lines,
        "sizes": [(place, str(size)) for size, place in places.items()],
        "ticks": [(at(value), f"{value:g}") for value in ticks],
        "room": None if room is None else at(room.mean),
        "band": None if room is None or room.interval is None else (at(room.interval.low), at(room.interval.high)),
    }


def means_picture(found: Transport) -> dict[str, Any] | None:
    """Return places of each site's predicted and observed mean in a square."""
    sites = [one for one in found.means if math.isfinite(one.said)]
    if not sites:
        return None
    numbers = [value for one in sites for value in (one.said, one.found)]
    low, high = (ticks := _ticks(min(numbers), max(numbers)))[0], ticks[-1]
    width = (high - low) or 1.0
    dots = [
        {
            "x": round(50 + 290 * (one.said - low) / width, 1),
            "y": round(270 - 260 * (one.found - low) / width, 1),
            "title": f"{one.name}: predicted {one.said:.3g}, observed {one.found:.3g}",
        }
        for one in sites
    ]
    return {"dots": dots, "low": f"{low:.3g}", "high": f"{high:.3g}"}


def _drop(found: Transport) -> dict[str, Any] | None:
    if found.drop is None:
        return None
    intervals = found.drop.intervals
    ends = {name: (None, None) if one is None else (one.low, one.high) for name, one in intervals.items()}
    parts = [{"name": name, "mean": value, "ends": ends[name]} for name, value in found.drop.mean.items()]
    loss = "the log loss" if found.task == "classification" else "the squared error, as a share of the target's variance,"
    return {"sentence": found.drop.sentence, "parts": parts, "columns": found.drop.columns, "loss": loss}


def _candidates(found: Transport) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, one in found.candidates.items():
        ends = [None, None] if one.next_site is None else [one.next_site.low, one.next_site.high]
        known = (one.mean, *ends, one.random, one.gap, *([one.balanced] if found.task == "classification" else []), one.slope)
        numbers = [value if value is not None and math.isfinite(value) else None for value in known]
        rows.append({"name": name, "numbers": numbers, "error": one.error if math.isfinite(one.error) else None})
    return rows


def _sites(found: Transport, shown: Sequence[str]) -> list[dict[str, Any]]:
    first = found.candidates[shown[0]]
    return [
        {
            "name": one.name,
            "rows": one.rows,
            "found": f"{one.found:.2f}" if found.task == "classification" else number(one.found),
            "scores": [found.candidates[name].scores[one.name] for name in shown],
            "error": first.errors[one.name],
        }
        for one in found.means
    ]


def _ticks(low: float, high: float) -> list[float]:
    """Return at most seven round numbers around two others.

    >>> _ticks(0.49, 0.83)
    [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    """
    width = max(high - low, 1e-9)
    step = next(one for power in range(-9, 12) for one in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if width / one <= 5)
    return [round(step * place, 10) for place in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]

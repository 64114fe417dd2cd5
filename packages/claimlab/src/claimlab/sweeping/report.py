"""The report of a sweep: one HTML file that needs nothing else, and its figures beside it."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from claimlab.running.pictures import svg
from claimlab.running.storage import write_atomically
from claimlab.showing.rendering import render
from claimlab.sweeping.figures import figures
from claimlab.sweeping.outcome import Outcome
from claimlab.sweeping.search import Done
from claimlab.values import written


def write_report(done: Done, found: list[Outcome], command: str) -> tuple[Path, list[Path]]:
    """Writes `report.html` and `figures/` into a sweep's folder.

    Returns:
        The report's path, and the figures'.
    """
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

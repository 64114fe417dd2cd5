"""The report: everything below a folder of runs as one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import jinja2

from craik.lab.errors import UsageError
from craik.lab.running.recorded import RecordedRun, recorded_runs
from craik.lab.running.storage import ensure_file, write_atomically
from craik.lab.showing.wording import duration, interval, number, numerals


def write_report(directory: Path, path: Path | None = None) -> Path:
    """Writes an HTML file from every finished run below a folder.

    Args:
        directory: the folder of runs; a report over recorded ones leaves it as it is if `path` is elsewhere.
        path: the file; `DIRECTORY/report.html` if None.

    Returns:
        The report's path.

    Raises:
        UsageError: the directory does not exist or holds no finished run, or the file cannot be written.
        LabError: a run's files cannot be read.
    """
    runs = recorded_runs(directory)
    if not runs:
        raise UsageError(f"a report needs at least one finished run, but {directory} holds none; craik run NAME makes one")
    path = path or directory / "report.html"
    ensure_file(path)
    write_atomically(path, render(runs))
    return path


def render(runs: Sequence[RecordedRun]) -> str:
    """The report's HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("craik.lab.showing", "."),
        autoescape=True,  # sentences of experiments are text, whatever they contain
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, duration=duration, numerals=numerals)
    current = [run for run in runs if not run.older]
    verdicts = Counter(claim.verdict for run in current for claim in run.claims)
    template = environment.get_template("report.html.jinja")
    older = [run for run in runs if run.older]
    return template.render(current=current, older=older, verdicts=verdicts, interval=interval)

"""The report: everything below a folder of runs as one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import jinja2

from craik.harness.errors import UsageError
from craik.harness.recorded import RecordedRun, recorded_runs
from craik.harness.storage import ensure_writable, write_atomically
from craik.harness.wording import duration, interval, number, numerals


def write_report(directory: Path) -> Path:
    """Writes `DIRECTORY/report.html` from every finished run below it.

    Returns:
        The report's path.

    Raises:
        UsageError: the directory does not exist, cannot be written or holds no finished run.
        HarnessError: a run's files cannot be read.
    """
    runs = recorded_runs(directory)
    if not runs:
        raise UsageError(f"a report needs at least one finished run, but {directory} holds none; craik run NAME makes one")
    ensure_writable(directory)
    path = directory / "report.html"
    write_atomically(path, render(runs))
    return path


def render(runs: Sequence[RecordedRun]) -> str:
    """The report's HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("craik.harness", "."),
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

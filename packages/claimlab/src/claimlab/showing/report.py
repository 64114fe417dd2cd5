"""The report: everything below a folder of runs as one HTML file that needs nothing else."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from claimlab.errors import LabError, UsageError
from claimlab.experiment import listing, load
from claimlab.rows import Rows
from claimlab.running.run import Run
from claimlab.running.runfiles import check_package, find_runs
from claimlab.running.storage import ensure_file, read_file, write_atomically
from claimlab.showing.evidence import labels
from claimlab.showing.facts import explanations
from claimlab.showing.folding import Folded, folded, tallies, verdicts, weighed
from claimlab.showing.judging import Checked, checked
from claimlab.showing.rendering import data_uri, render


def write_report(directory: Path, path: Path | None = None, found: Checked | None = None) -> Path:
    """Write an HTML file from every finished run below a folder, `report.html` there if no path is named, and return its path.

    `found` are its runs, checked; those that lie there, unchecked and with nothing imported, if None.
    """
    found = found or checked(find_runs(directory), None)
    if not found.runs:
        raise UsageError(f"A report should have a finished run. Found none in {directory}. Make one with the command run.")
    path = path or directory / "report.html"
    ensure_file(path)
    write_atomically(path, page(found, explanations(directory)))
    return path


def page(found: Checked, explained: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the report's HTML; `explained` stands beside a verdict that a claim does not hold, by the claim's id."""
    runs = found.runs
    current = [run for run in runs if not run.is_older]
    named: dict[str, list[Run]] = {}
    for run in current:
        named.setdefault(run.recipe.name, []).append(run)
    groups = [(some, folded(some)) for some in named.values()]
    everywhere = verdicts(one for _, claims in groups for one in claims)
    groups = [(some, weighed(claims, everywhere)) for some, claims in groups]
    counts = Counter(one.claim.verdict for _, claims in groups for one in claims)
    systems, homes = dict[str, list[Folded]](), families(current, found.package)
    for some, claims in groups:
        systems.setdefault(homes.get(some[0].recipe.name, "gone"), []).extend(claims)
    shown = [(run, shown_figures(run, run.rows(), found.package)) for run in current]
    apart = [run for run in runs if run.is_older]
    for run in apart:
        run.recorded()
    anchors = {run.folder: f"{run.recipe.name}-{place}" for place, run in enumerate(runs)}
    values = {"current": shown, "groups": groups, "apart": apart, "verdicts": counts, "tallies": tallies(systems)}
    values |= {"explained": explained, "anchors": anchors, "labels": labels(current), "unchecked": found.unchecked}
    return render("report.html.jinja", values)


def families(runs: Iterable[Run], package: str | None) -> dict[str, str]:
    """Return the families of experiments as their sources lie today, by the experiment's name; none of what cannot be read.

    Of another package than the one that may be imported, it is the package.
    """
    found = {run.recipe.name: run.recipe.package for run in runs if run.recipe.package != package}
    try:
        return {one.name: one.family for one in listing(package)} | found if package else found
    except (LabError, OSError, LookupError, TypeError, ValueError, SyntaxError):
        return found


@dataclass(frozen=True)
class Figures:
    """A run's figures as data URIs, each with its caption, and why some are missing.

    In an image of its own a figure's identifiers cannot clash and its scripts cannot run.
    """

    drawn: tuple[tuple[str, str], ...]
    missing: str = ""


def shown_figures(run: Run, rows: Rows, package: str | None) -> Figures:
    """Return the figures of a run: its files, else drawn from its rows by its experiment, if that may be imported."""
    figures = run.judged.figures if run.judged else ()
    with contextlib.suppress(OSError):  # a file is not there or is none
        return Figures(tuple((data_uri(one.file, read_file(run.folder / one.file)), one.caption) for one in figures))
    from claimlab.running.pictures import drawn  # noqa: PLC0415  # matplotlib, where something must be drawn

    try:
        check_package(run, package)
        experiment = load(run.recipe.name, run.recipe.package).part_of(run.recipe.preset)
        return Figures(tuple((data_uri(one.file, content), one.caption) for one, content in drawn(experiment, rows)))
    except (LabError, OSError, LookupError, TypeError, ValueError) as error:
        names = ", ".join(one.name for one in figures)
        return Figures((), f"{names}: neither recorded nor to be drawn from the rows today ({type(error).__name__}: {error}).")

"""The report: everything below a folder of runs as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from claimlab.errors import LabError, UsageError
from claimlab.experiment import listing, load
from claimlab.rows import Rows
from claimlab.running.run import Picture, Run
from claimlab.running.runfiles import check_package, find_runs
from claimlab.running.storage import ensure_file, read_file, write_atomically
from claimlab.showing.evidence import labels
from claimlab.showing.facts import explanations
from claimlab.showing.folding import Folded, folded, tallies, verdicts, weighed
from claimlab.showing.judging import Checked, checked
from claimlab.showing.rendering import render


def write_report(directory: Path, path: Path | None = None, found: Checked | None = None) -> Path:
    """Write an HTML file from every finished run below a folder, and return its path.

    Args:
        directory: the folder of runs; a report over recorded ones leaves it as it is if `path` is elsewhere.
        path: the file; `DIRECTORY/report.html` if None.
        found: its runs, checked; those that lie there, unchecked and with nothing imported, if None.
    """
    found = found or checked(find_runs(directory), None)
    if not found.runs:
        raise UsageError(f"A report should have a finished run. Found none in {directory}. Make one with the command run.")
    path = path or directory / "report.html"
    ensure_file(path)
    write_atomically(path, page(found, explanations(directory)))
    return path


def page(found: Checked, explained: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the report's HTML.

    Args:
        found: all runs.
        explained: what stands beside a verdict that a claim does not hold, by the claim's id.
    """
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
    values = {"current": shown, "groups": groups, "apart": apart, "verdicts": counts, "tallies": tallies(systems)}
    values |= {"explained": explained, "anchors": anchors(runs), "labels": labels(current), "unchecked": found.unchecked}
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


def anchors(runs: Iterable[Run]) -> dict[Path, str]:
    """Return the name that the report's links to a run lead to, by its folder.

    Runs in several places, such as a record and a run of the same settings, may have folders of one name: from the second on
    a name has its number.
    """
    found, seen = dict[Path, str](), Counter[str]()
    for run in runs:
        parts = (run.folder.parents[1].name, "older", run.folder.name) if run.is_older else (run.folder.name,)
        name = "-".join([run.recipe.name, *parts])
        seen[name] += 1
        found[run.folder] = name if seen[name] == 1 else f"{name}-{seen[name]}"
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
    kept = [(_uri(one, content), one.caption) for one in figures if (content := _own(run, one)) is not None]
    if len(kept) == len(figures):
        return Figures(tuple(kept))
    from claimlab.running.pictures import drawn  # noqa: PLC0415  # matplotlib, where something must be drawn

    try:
        check_package(run, package)
        experiment = load(run.recipe.name, run.recipe.package).part_of(run.recipe.preset)
        return Figures(tuple((_uri(one, content), one.caption) for one, content in drawn(experiment, rows)))
    except (LabError, OSError, LookupError, TypeError, ValueError) as error:
        names = ", ".join(one.name for one in figures)
        return Figures((), f"{names}: neither recorded nor to be drawn from the rows today ({type(error).__name__}: {error}).")


def _own(run: Run, picture: Picture) -> bytes | None:
    """Return a figure's content; None where its file is not there or is none."""
    try:
        return read_file(run.folder / picture.file)
    except OSError:
        return None


def _uri(picture: Picture, content: bytes) -> str:
    kind = "gif" if picture.file.endswith(".gif") else "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"

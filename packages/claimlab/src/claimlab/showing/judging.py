"""Recorded rows judged by the present claims: when a condition changes, its verdict follows without a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from claimlab.claims import JudgedClaim, judge
from claimlab.errors import LabError
from claimlab.experiment import listing, load
from claimlab.rows import Rows
from claimlab.running.run import Run
from claimlab.running.runfiles import check_package, find_runs, keep, read_run
from claimlab.running.storage import locked


class Checked(NamedTuple):
    """Recorded runs, their verdicts computed from their rows where that may be done: the package alone was imported.

    `unchecked` are the folders of runs whose verdicts are those that were found there.
    """

    runs: list[Run]
    package: str | None
    unchecked: frozenset[Path]


def checked(runs: Iterable[Run], package: str | None) -> Checked:
    """Compute the verdicts of runs of one package from their rows; others, and what was set apart, stay as they were found."""
    found, unchecked = list[Run](), set[Path]()
    for run in runs:
        try:
            found.append(judged_again(run, "" if run.is_older or package is None else package))
        except LabError:
            found.append(run)
            unchecked.add(run.folder)
    return Checked(found, package, frozenset(unchecked))


def judged_again(run: Run, package: str) -> Run:
    """Return the run with the verdicts that its experiment's present claims compute from its rows.

    A claim that was judged alike but for rounding stays as it is written: another processor adds up in another order.
    """
    check_package(run, package)
    if run.judged is None:
        return run
    claims = load(run.recipe.name, package).part_of(run.recipe.preset).claims
    rows, before = run.rows(), {one.id: one for one in run.judged.claims}
    anew = [judge(claim, rows, run.recipe.preset) for claim in claims]
    kept = tuple(before[one.id] if one.id in before and _alike(asdict(before[one.id]), asdict(one)) else one for one in anew)
    return replace(run, judged=replace(run.judged, claims=kept))


def _alike(one: Any, other: Any) -> bool:  # noqa: ANN401  # what a judged claim is made of
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


def judge_again(directory: Path, package: str) -> list[Run]:
    """Write the present claims' verdicts beside every recorded run of a package below a folder, and say which changed.

    Rows, commits and seeds stay as they are, and so do runs that another source made and that were set apart. A run that
    others wrote meanwhile is judged as it is now; one that is as it was judged is not touched, nor locked.
    """
    changed: list[Run] = []
    for run in find_runs(directory):
        again = run if run.is_older or run.recipe.package != package else judged_again(run, package)
        if again == run:
            continue
        with locked(run.folder):
            now = read_run(run.folder)
            again = again if now == run else judged_again(now, package)
            if again != now:
                keep(again)
                changed.append(again)
    return changed


def never_run(runs: list[Run], package: str) -> dict[str, list[JudgedClaim]]:
    """Return the claims of the experiments that no run is of, "not measured", by the experiment's name."""
    known = {run.recipe.name for run in runs}
    missing = [one.name for one in listing(package) if one.name not in known]
    return {name: [judge(claim, Rows(()), "quick") for claim in load(name, package).every_claim] for name in missing}

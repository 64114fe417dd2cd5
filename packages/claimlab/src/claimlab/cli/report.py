"""`report`: the report of a folder of runs, and the pages that are made of records."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from claimlab.cli.answers import claims_json, print_json, shown
from claimlab.cli.options import directory_argument, named_path, package, package_if_any, package_option
from claimlab.running.run import Run
from claimlab.running.runfiles import find_runs
from claimlab.showing.evidence import confirmed_words, labels, made_words, older_words, whole
from claimlab.showing.facts import explanations
from claimlab.showing.judging import checked, judge_again
from claimlab.showing.pages import write_pages
from claimlab.showing.report import write_report
from claimlab.showing.terminal import print_verdicts
from claimlab.showing.wording import counted, plain


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    directory_argument(parser)
    parser.add_argument("--out", type=named_path, metavar="FILE", help="the report; default DIR/report.html")
    parser.add_argument("--judge", action="store_true", help="let the present claims judge the recorded rows first")
    parser.add_argument("--history", action="store_true", help="print what was tried, and conditions that were others before")
    parser.add_argument("--pages", action="store_true", help="write docs/claims.md and verdicts into READMEs too")
    package_option(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Write the report and show every run's verdicts."""
    where = package_if_any(options)  # before anything is imported from it
    judged = [shown(one.folder) for one in judge_again(options.directory, package(options))] if options.judge else []
    found = checked(find_runs(options.directory), where)
    path = write_report(options.directory, options.out, found)
    pages = write_pages(options.directory, package(options)) if options.pages else []
    runs = [one for one in found.runs if not one.is_older]
    if options.json:
        written: dict[str, Any] = {"report": shown(path), "pages": [shown(page) for page in pages], "judged": judged}
        shown_runs = [run_json(one, one.folder not in found.unchecked) for one in runs]
        print_json({**written, "explained": explanations(options.directory), "runs": shown_runs})
        return 0
    names = labels(runs)
    for one in runs:
        _print(one, names[one.folder], options.history, one.folder not in found.unchecked)
    for one in judged:
        print(f"judged  {one} anew")
    print(f"report  {shown(path)}" + "".join(f"\npage    {shown(page)}" for page in pages))
    return 0


def run_json(run: Run, checked: bool) -> dict[str, Any]:
    """Return one run in the answer of `report --json`; `checked` says whether its verdicts were computed from its rows."""
    recipe = run.recipe
    commits = {"made": run.made, "confirmed": [one for one in run.confirmed if one.outcome != "differs"]}
    evidence = {key: list(dict.fromkeys(one.code.commit for one in some if one.code.commit)) for key, some in commits.items()}
    return {
        "name": recipe.name,
        "preset": recipe.preset,
        "checked": checked,
        "changed": recipe.changed,
        "seconds": run.judged.seconds if run.judged else 0.0,
        "older": list(run.older),
        "witnesses": [{"commit": one.code.commit, "outcome": one.outcome, "whole": whole(one)} for one in run.confirmed],
        "claims": [claim | evidence for claim in claims_json(run.claims)],
    }


def _print(run: Run, label: str, history: bool, checked: bool) -> None:
    title = f"{run.recipe.name}, {label}, {counted(len(run.judged.seeds if run.judged else run.seeds), 'seed')}"
    print_verdicts(run.claims, ", ".join(filter(None, [title, older_words(run)])), checked=checked)
    print(plain(f"made at {made_words(run)}, {confirmed_words(run)}\n"))
    for claim in run.claims if history else ():
        told = [*(f"Asked before: {one}" for one in claim.earlier), *([f"Tried: {claim.tried}"] if claim.tried else [])]
        print(plain("\n  ".join([claim.id, *told]) + "\n") if told else "", end="")

"""From the command line's options to an answer."""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mechlearn.cli.fit.output import in_order, teller
from mechlearn.tables.reading import column, digest, read_part, read_trajectories
from mechlearn.tables.reading_in import Doubt, check_target, is_missing, nearest, refusals, refuse_all
from mechlearn.tables.reports import Answer, Question, agreement_answer, distill_answer, skips_answer
from mechlearn.tables.saving.parts import Parts

CODE = """from mechlearn.agreement import Agreement, AndMask

agreement = Agreement(model, AndMask(0.8))
losses = loss(model(x), y)        # one for each row
optimizer.zero_grad()
agreement.backward(losses, site)  # for losses.mean().backward()
optimizer.step()"""

STEPPED = """from mechlearn.skips import Dynamics, Greedy, displacement, match
from mechlearn.losses import SquaredError

matching = Greedy(8, scale=displacement(trajectories, 8))  # leave out the scale for the thesis' own
matched = match(Dynamics(model, SquaredError()), trajectories, matching)
matched.loss.backward()           # model: a state to a coming one"""


MATTERS = (
    "kind", "target", "task", "environment", "model", "candidates", "test_environment", "privileged", "in_time", "trajectory",
    "time", "ahead", "drop", "labelled", "budget", "seed",
)  # fmt: skip
"""Options that decide what the results on the way are."""


def ask(options: argparse.Namespace, folder: Path) -> tuple[Answer, dict[str, Any]]:
    """Return the answer, and the facts of its report.

    The folder's `parts` keep what is there already when the same command is given again: the same data, options, versions and
    source of mechlearn. Anything else has parts of its own.
    """
    data = digest(options.file)
    parts = Parts(folder / "parts" / _key(options, data))
    progress = None if options.json or not sys.stderr.isatty() else teller(parts)
    settings = {"seed": options.seed, "budget": 60 * options.budget, "anonymous": options.anonymous}
    question = Question(options.target or "", options.task, **settings, progress=progress, parts=parts)
    if options.kind == "skips":
        trajectories = read_trajectories(options.file, options.trajectory, options.time)
        answer = skips_answer(trajectories, question, options.ahead)
    else:
        answer = _of_table(options, question)
    code = {"agreement": CODE, "distill": None, "skips": STEPPED}[options.kind]
    facts: dict[str, Any] = {**answer.facts, "command": command_of(options), "code": code}
    facts["notes"] = [f"Budget: {options.budget:g} minutes of computing, for all candidates together.", *facts["notes"]]
    model = replace(answer.model, facts={**answer.model.facts, "data": data})
    return replace(answer, model=model), in_order(facts)


def check_names(options: argparse.Namespace) -> None:
    """Reject a file that is not there or cannot be read, and columns that it does not have, as `ask` does."""
    if options.kind == "skips":
        read_trajectories(options.file, options.trajectory, options.time)
        return
    keys = (options.environment,) if options.environment else ()
    columns = read_part(options.file, keys, options.target).columns
    for name in (options.target, *keys):
        column(columns, name)


def question_of(options: argparse.Namespace) -> str:
    """Return a digest of what is asked: kind, file and target. Settings, and what the file holds, may change."""
    what = [options.kind, str(options.file.resolve()), options.target]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]


def _key(options: argparse.Namespace, data: str) -> str:
    asked = {name: getattr(options, name) for name in MATTERS}
    versions = {name: version(name) for name in ("torch", "numpy", "scikit-learn")}
    made = {"data": data, "source": _source(), "versions": {"python": platform.python_version(), **versions}}
    return hashlib.sha256(json.dumps({**asked, **made}, sort_keys=True).encode()).hexdigest()[:12]


def _source() -> str:
    """Return a digest of the package's own files: parts that an edited source made are not taken for its own."""
    folder, found = Path(__file__).parents[2], hashlib.sha256()
    for path in sorted(path for suffix in ("py", "c") for path in folder.rglob(f"[!.]*.{suffix}")):
        found.update(f"{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def columns_of_file(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return a table's columns without those to drop and, if asked, without rows that have no target, and notes on both."""
    loaded = read_part(options.file, (options.environment,) if options.environment else (), options.target)
    columns, notes = loaded.columns, loaded.notes
    column(columns, options.target)
    for pattern in options.drop:
        for name in _matching(pattern, columns, options.target, options.environment):
            del columns[name]
    if not {*columns} - {options.target, options.environment}:
        found = f"none that {'--drop leaves' if options.drop else f'{options.file.name} has'}"
        raise ValueError(f"Something besides target and environment should be there to learn from. Found {found}. Keep some.")
    _refuse(columns, {name: why for name, why in loaded.unclear.items() if name in columns}, options)
    if options.labelled:
        columns, left_out = _labelled(columns, options)
        notes += left_out
    return columns, notes


def _refuse(columns: Mapping[str, Any], unclear: Mapping[str, str], options: argparse.Namespace) -> None:
    """Reject all that cannot be used, target and inputs, in one list with the command that continues without it."""
    named, target = (options.target, options.environment), columns[options.target]
    clear = {name: values for name, values in columns.items() if name not in named and name not in unclear}
    refused = {**refusals(clear), **unclear}
    drops = [word for name in refused if name not in named for word in ("--drop", name)]
    try:
        if options.target not in unclear:
            check_target(target, options.target, options.task, gaps=options.labelled)
    except ValueError as error:
        refused[options.target] = str(error)
    if not refused:
        return
    gone = is_missing(target)
    mended = options.target not in refused or bool(gone.any() and not gone.all())
    more = [*drops, "--labelled"] if mended and options.target in refused else drops
    what = "Mend them, or leave all out" if mended else f"Mend {options.target}, and mend the others or leave them out"
    refuse_all(refused, f"{what}: {command_of(options, more, path=str(options.file))}")


def _of_table(options: argparse.Namespace, question: Question) -> Answer:
    columns, notes = columns_of_file(options)
    if options.kind == "agreement":
        sites = column(columns, options.environment)
        rest = {name: values for name, values in columns.items() if name != options.environment}
        return _noted(agreement_answer(rest, sites, question, options.test_environment), notes)
    sites = None
    if options.environment:
        sites = column(columns, options.environment)
        del columns[options.environment]
    check_target(columns[options.target], options.target, options.task)
    known = [_matching(pattern, columns, options.target) for pattern in options.privileged or ()]
    together = list(dict.fromkeys(name for names in known for name in names))
    return _noted(distill_answer(columns, known if options.in_time else [together], question, sites=sites), notes)


def _labelled(columns: dict[str, Any], options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Rows whose target is known, and what was left out; cells are checked before, as data rows in sentences are the file's."""
    target = columns[options.target]
    check_target(target, options.target, options.task, gaps=True)
    known = ~is_missing(target)
    if known.all():
        return columns, []
    note = Doubt(
        f"{(~known).sum()} of {len(known)} rows have no {options.target} and are left out. If what is missing goes with what "
        "it would have been, the others do not speak for them."
    )
    return {name: values[known] for name, values in columns.items()}, [note]


def _noted(answer: Answer, notes: list[str]) -> Answer:
    return replace(answer, facts={**answer.facts, "notes": [*notes, *answer.facts["notes"]]})


def _matching(pattern: str, columns: Mapping[str, Any], target: str, environment: str | None = None) -> list[str]:
    """Columns that a pattern means: of those that it matches not the ones that the command names elsewhere."""
    others = [name for name in columns if name not in (target, environment)]
    found = [pattern] if pattern in others else fnmatch.filter(others, pattern)  # names, too, have brackets
    if not found and environment is not None and (pattern == environment or fnmatch.fnmatch(environment, pattern)):
        raise ValueError(
            f"What --environment names cannot be dropped, and is no input anyway. Found only it for {pattern!r}. Leave this "
            "--drop out."
        )
    if not found and (pattern == target or fnmatch.fnmatch(target, pattern)):
        raise ValueError(
            f"The target can neither be dropped nor be privileged, as it is what is predicted. Found only it for {pattern!r}. "
            "Name another column, or another --target."
        )
    if not found:
        raise ValueError(f"A pattern should match a column. Found none for {pattern!r}. {nearest(pattern, others)}")
    return found


def command_of(options: argparse.Namespace, more: Sequence[str] = (), path: str | None = None) -> str:
    """Return the command that makes the same answer again, as a shell takes it; without a site's name where they are masked.

    Of the file it has the path, or the name alone if None, as reports have it; `more` are further words.
    """
    words = ["mechlearn", "fit", options.kind, path or options.file.name]
    for name in (*(name for name in MATTERS if name != "kind"), "anonymous"):
        value = getattr(options, name)
        if name == "test_environment" and value is not None and options.anonymous:
            value = "SITE"
        words += _option(f"--{name.replace('_', '-')}", value)
    return shlex.join([*words, *more])


def _option(flag: str, value: Any) -> list[str]:  # noqa: ANN401  # of any option
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, list):
        return [word for one in value for word in _option(flag, one)]
    text = f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]

"""`mechlearn fit`: will a model survive the next site, and do agreement, privileged columns or adaptive skips help?"""

from __future__ import annotations

import argparse
import importlib
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mechlearn.cli.common import (
    OUT,
    CommandError,
    UsageError,
    ensure_file,
    helped,
    print_json,
    refuse,
    suggestion,
    whole_number,
    write_text,
)

SENTENCE = "ask data of your own: will a model survive the next site, and what helps"
"""What the command does."""

KINDS = ("sites", "agreement", "distill", "skips")
"""What it asks about."""

QUESTIONS = """Will my model survive the next site, and what can be won there?
  mechlearn fit sites FILE --target COLUMN --environment COLUMN
Does learning what sites agree on help?
  mechlearn fit agreement FILE --target COLUMN --environment COLUMN
Do columns help that are known in training only?
  mechlearn fit distill FILE --target COLUMN --privileged PATTERN
Does it help to choose which future frame to predict?
  mechlearn fit skips FILE --trajectory COLUMN
"""
"""What may be asked, with a command that asks it."""

EXAMPLE = "Run: mechlearn fit agreement data.csv --target y --environment site"
"""A command that is whole."""

BUDGET = 3.0
"""Minutes if not said."""

ASKED = "asked"
"""The file beside a model that says by a digest which question it answers."""

OF_TABLES = ("target", "task", "environment", "drop", "labelled", "anonymous")
OF = {
    "sites": (*OF_TABLES, "model", "candidates"),
    "agreement": (*OF_TABLES, "test_environment"),
    "distill": (*OF_TABLES, "privileged", "in_time"),
    "skips": ("trajectory", "time", "ahead"),
}
"""By what is asked: the options that it reads, beside those of all. Any other would be accepted and do nothing."""

INSTEAD = {
    ("sites", "privileged"): "--drop these columns.",
    ("sites", "test_environment"): "Every site is left out once.",
    ("agreement", "privileged"): "--drop these columns, or ask mechlearn fit distill.",
    ("distill", "test_environment"): "Leave the rows of this site out of the file.",
    ("skips", "drop"): "Leave these columns out of the file.",
}
"""Ways out where leaving an option out would train on what it was to keep away."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Its options, by the question that they belong to."""
    parser.usage = "mechlearn fit QUESTION FILE [options]"
    parser.description, parser.formatter_class = QUESTIONS, argparse.RawDescriptionHelpFormatter
    parser.add_argument("kind", metavar="QUESTION", nargs="?", help=", ".join(KINDS))
    files = "a .csv, .tsv, .xlsx, .parquet or .npz table; skips: also .npy, or a folder with a file for each trajectory"
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help=files)
    _declare_table(parser.add_argument_group("the table (all but skips)").add_argument)
    add = parser.add_argument_group("sites").add_argument
    own = "a scikit-learn estimator of your own, as mine:pipeline for pipeline in mine.py"
    add("--model", metavar="MODULE:NAME", help=own)
    further = "further candidates, as forest,AND-mask; also mixed model, screening, IRM, and more"
    add("--candidates", metavar="NAME,NAME", action="append", help=further)
    add = parser.add_argument_group("agreement").add_argument
    add("--test-environment", metavar="SITE", help="a site that is used once, to test the result")
    add = parser.add_argument_group("distill").add_argument
    add("--privileged", metavar="PATTERN", action="append", help="columns known in training only, as 'lab_*'")
    add("--in-time", action="store_true", help="each --privileged names a step in time, in their order")
    add = parser.add_argument_group("skips").add_argument
    add("--trajectory", metavar="COLUMN", help="which trajectory a row belongs to")
    add("--time", metavar="COLUMN", help="orders the frames; default the order of the file")
    add("--ahead", metavar="N", type=whole_number, help="frames ahead to predict; default at most 32")
    add = parser.add_argument_group("all").add_argument
    add("--budget", metavar="MINUTES", type=float, default=BUDGET, help="of computing, for all candidates together; default 3")
    add("--seed", type=whole_number, default=0, metavar="N", help="of everything random; default 0")
    add("--out", type=Path, metavar="DIR", help=f"folder for report, model and parts; default {OUT}/fit-FILE")


def _declare_table(add: Callable[..., argparse.Action]) -> None:
    add("--target", metavar="COLUMN", help="the column to predict")
    add("--task", choices=("classification", "regression"), help="of the target; default from its values")
    add("--environment", metavar="COLUMN", help="where a row comes from; distill: rows that folds keep together")
    add("--drop", metavar="PATTERN", action="append", default=[], help="columns to leave out, such as names")
    add("--labelled", action="store_true", help="leave out rows whose target is missing")
    add("--anonymous", action="store_true", help="call sites 'site 1', 'site 2', ... in all that is written")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Reads, asks, writes the report and the model, and says the verdict."""
    if helped(options):
        return 0
    refuse(rest)
    _check(options)
    try:
        importlib.import_module("sklearn")  # an extra's
    except ImportError as error:
        raise CommandError("mechlearn fit needs scikit-learn. Found none. Run: pip install 'mechlearn[tables]'.") from error
    start = time.perf_counter()
    if options.kind == "sites":
        from mechlearn.cli.fit.sites import answer_sites  # noqa: PLC0415  # PyTorch is needed from here on only

        return answer_sites(options, start)
    from mechlearn.cli.fit.inputs import ask, check_names, question_of  # noqa: PLC0415
    from mechlearn.cli.fit.output import content_of, say  # noqa: PLC0415
    from mechlearn.cli.fit.page import answer_page  # noqa: PLC0415
    from mechlearn.tables.saving import save  # noqa: PLC0415

    folder = options.out or OUT / f"fit-{options.file.stem}"
    asked = question_of(options)
    try:
        if options.out is None and _is_another(folder, asked):
            check_names(options)  # a name that is mistyped is no other question
            raise UsageError(
                f"A folder should keep the model of one question: its kind, file and target. Found another one's in {folder}. "
                "Name a folder with --out, or this one to replace it."
            )
        answer, facts = ask(options, folder)
        model = save(answer.model, folder / "model")
        write_text(folder / ASKED, asked)
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(str(error)) from error
    report = folder / "report.html"
    ensure_file(report)
    write_text(report, answer_page(facts))
    content = content_of(answer, model, report)
    if options.json:
        print_json(content)
    else:
        say(answer, content, time.perf_counter() - start)
    return 0


def _is_another(folder: Path, asked: str) -> bool:
    """Whether a folder's model answers another question; one with other settings, or of a file that grew, is the same."""
    path = folder / ASKED
    return (folder / "model" / "card.json").exists() and path.exists() and path.read_text(encoding="utf-8") != asked


def _check(options: argparse.Namespace) -> None:
    if options.kind not in KINDS:
        found, way_out = (repr(options.kind), suggestion(options.kind, KINDS)) if options.kind else ("nothing", EXAMPLE)
        raise UsageError(f"mechlearn fit should be asked about sites, agreement, distill or skips. Found {found}. {way_out}")
    if options.file is None:
        raise UsageError(f"mechlearn fit should be given a table. Found no file. {EXAMPLE}")
    _check_kind(options)
    needed = {
        "sites": ("target", "environment"),
        "agreement": ("target", "environment"),
        "distill": ("target", "privileged"),
        "skips": (),
    }[options.kind]
    for name in needed:
        if not getattr(options, name):
            raise UsageError(f"mechlearn fit {options.kind} should be given --{name}. Found none. See --help.")
    if options.kind != "skips" and options.environment == options.target:
        raise UsageError(f"Target and environment should be two columns. Found {options.target!r} for both. Name another.")
    if options.in_time and len(options.privileged or ()) < 2:
        raise UsageError("--in-time should come with a --privileged for each step in time. Found fewer than two. See --help.")
    if not (options.budget > 0 and math.isfinite(options.budget)):
        raise UsageError(f"--budget should be above 0 minutes and finite. Found {options.budget:g}. The default is 3.")


def _check_kind(options: argparse.Namespace) -> None:
    """Reject options of another kind than the one asked about."""
    for name in dict.fromkeys(name for names in OF.values() for name in names):
        value = getattr(options, name)
        if name in OF[options.kind] or value is None or value is False or value == []:
            continue
        *others, last = [kind for kind in KINDS if name in OF[kind]]
        kinds = f"{', '.join(others)} and {last}" if others else last
        way_out = INSTEAD.get((options.kind, name), "Leave it out.")
        flag = f"--{name.replace('_', '-')}"
        raise UsageError(
            f"{flag} should come with mechlearn fit {kinds}. Found it with mechlearn fit {options.kind}. {way_out}"
        )

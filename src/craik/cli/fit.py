"""`craik fit`: does agreement, do columns known in training only, or do adaptive skips help on data of one's own?"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from craik.cli.answers import print_json, shown
from craik.cli.options import OUT, helped, refuse
from craik.lab.errors import LabError, UsageError
from craik.lab.values import whole_number

if TYPE_CHECKING:
    from craik.estimators.answering import Answer, Question

SENTENCE = "ask data of your own: does it help, and which columns disagree"
"""What the command does."""

CODE = """from craik.agreement import Agreement, AndMask

agreement = Agreement(model, AndMask(0.8))
losses = loss(model(x), y)        # one for each row
optimizer.zero_grad()
agreement.backward(losses, site)  # for losses.mean().backward()
optimizer.step()"""

STEPPED = """from craik.skips import Dynamics, Greedy, displacement, match
from craik.losses import SquaredError

matching = Greedy(8, scale=displacement(trajectories, 8))  # leave out the scale for the thesis' own
matched = match(Dynamics(model, SquaredError()), trajectories, matching)
matched.loss.backward()           # model: a state to a coming one"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.usage = "craik fit agreement|distill|skips FILE [options]"
    kinds = "sites that must agree, privileged columns, or trajectories"
    parser.add_argument("kind", metavar="agreement|distill|skips", nargs="?", help=kinds)
    files = "a .csv, .tsv, .parquet or .npz table; skips: also .npy, or a folder with a file for each trajectory"
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help=files)
    parser.add_argument("--target", metavar="COLUMN", help="the column to predict")
    parser.add_argument(
        "--task", choices=("classification", "regression"), help="what the target is; from its values if not said"
    )
    parser.add_argument("--environment", metavar="COLUMN", help="agreement: the column that says where a row comes from")
    parser.add_argument(
        "--test-environment", metavar="SITE", help="agreement: a site that has no part in anything but a last look"
    )
    parser.add_argument(
        "--privileged", metavar="PATTERN", action="append", help="distill: columns known in training only, as 'lab_*'"
    )
    parser.add_argument("--trajectory", metavar="COLUMN", help="skips: the column that says whose frame a row is")
    parser.add_argument("--time", metavar="COLUMN", help="skips: the column to order frames by; that of the file if not said")
    parser.add_argument(
        "--ahead", metavar="N", type=whole_number, help="skips: frames ahead to predict; at most 32 if not said"
    )
    parser.add_argument("--drop", metavar="PATTERN", action="append", default=[], help="columns to leave out, such as names")
    parser.add_argument("--budget", metavar="MINUTES", type=float, default=3.0, help="for all candidates together; default 3")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of everything random; default 0")
    parser.add_argument("--anonymous", action="store_true", help="call sites 'site 1', 'site 2', ... in all that is written")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder for the report and the model; default {OUT}/fit-FILE")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Reads, asks, writes the report and the model, and says the verdict."""
    if helped(options):
        return 0
    refuse(rest)
    _check(options)
    _needed()
    from craik.estimators.saving import save  # noqa: PLC0415  # needed from here on only
    from craik.lab.showing.answers import write_answer  # noqa: PLC0415

    start = time.perf_counter()
    folder = options.out or OUT / f"fit-{options.file.stem}"
    try:
        answer, facts = _ask(options)
        model = save(answer.model, folder / "model")
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(str(error)) from error
    report = write_answer(facts, folder / "report.html")
    content = _content(answer, model, report)
    if options.json:
        print_json(content)
    else:
        _say(answer, content, time.perf_counter() - start)
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.kind not in ("agreement", "distill", "skips"):
        raise UsageError(f"craik fit asks about agreement, distill or skips, but found {options.kind!r}; --help tells more")
    if options.file is None:
        raise UsageError(
            "craik fit needs a table, but found no file; craik fit agreement data.csv --target y --environment site"
        )
    needed = {"agreement": ("target", "environment"), "distill": ("target", "privileged"), "skips": ()}[options.kind]
    for name in needed:
        if not getattr(options, name):
            raise UsageError(f"craik fit {options.kind} needs --{name}, but found none; --help tells more")
    if options.kind == "agreement" and options.environment == options.target:
        raise UsageError(f"target and environment must be two columns, but found {options.target!r} for both; name another")
    if options.budget <= 0:
        raise UsageError(f"--budget must be above 0 minutes, but found {options.budget:g}; the default is 3")


def _needed() -> None:
    try:
        importlib.import_module("sklearn")  # an extra's
    except ImportError as error:
        raise LabError("craik fit needs scikit-learn, but found none; pip install 'craik[sklearn,experiments]'") from error


def _ask(options: argparse.Namespace) -> tuple[Answer, dict[str, Any]]:
    from craik.estimators.answering import Question  # noqa: PLC0415

    settings = {"seed": options.seed, "budget": 60 * options.budget, "anonymous": options.anonymous, "progress": _told(options)}
    question = Question(options.target or "", options.task, **settings)
    answer = _of_trajectories(options, question) if options.kind == "skips" else _of_table(options, question)
    code = {"agreement": CODE, "distill": None, "skips": STEPPED}[options.kind]
    facts: dict[str, Any] = {**answer.facts, "command": _command(options), "code": code}
    facts["notes"] = [f"Budget: {options.budget:g} minutes, split evenly over the candidates.", *facts["notes"]]
    from craik.estimators.reading import digest  # noqa: PLC0415

    return type(answer)(answer.facts, answer.verdict, _with_digest(answer, digest(options.file))), facts


def _of_trajectories(options: argparse.Namespace, question: Question) -> Answer:
    from craik.estimators.answering import skips_answer  # noqa: PLC0415
    from craik.estimators.reading import read_trajectories  # noqa: PLC0415

    return skips_answer(read_trajectories(options.file, options.trajectory, options.time), question, options.ahead)


def _of_table(options: argparse.Namespace, question: Question) -> Answer:
    from craik.estimators.answering import agreement_answer, distill_answer  # noqa: PLC0415
    from craik.estimators.reading import column, read_table  # noqa: PLC0415

    columns = read_table(options.file)
    column(columns, options.target)
    for pattern in options.drop:
        for name in _matching(pattern, columns, options.target):
            del columns[name]
    if options.kind == "agreement":
        sites = column(columns, options.environment)
        rest = {name: values for name, values in columns.items() if name != options.environment}
        return agreement_answer(rest, sites, question, options.test_environment)
    known = [name for pattern in options.privileged or () for name in _matching(pattern, columns, options.target)]
    return distill_answer(columns, known, question)


def _with_digest(answer: Answer, digest: str) -> Any:  # noqa: ANN401  # a Model
    from dataclasses import replace  # noqa: PLC0415

    return replace(answer.model, facts={**answer.model.facts, "data": digest})


def _matching(pattern: str, columns: Mapping[str, Any], target: str) -> list[str]:
    found = [name for name in fnmatch.filter(columns, pattern) if name != target]
    if not found:
        from craik.estimators.tables import nearest  # noqa: PLC0415

        raise ValueError(f"A pattern should match a column. Found none for {pattern!r}. {nearest(pattern, columns)}")
    return found


def _told(options: argparse.Namespace) -> Any:  # noqa: ANN401  # a function, or None
    if options.json or not sys.stderr.isatty():
        return None
    start = time.perf_counter()

    def told(done: int, total: int) -> None:
        left = (time.perf_counter() - start) / done * (total - done)
        print(f"\r{done} of {total} fits, {left:.0f} s left ", end="" if done < total else "\n", file=sys.stderr, flush=True)

    return told


def _command(options: argparse.Namespace) -> str:
    words = ["craik fit", options.kind, options.file.name]
    said = ("target", "environment", "trajectory", "time", "ahead")
    words += [f"--{name} {getattr(options, name)}" for name in said if getattr(options, name)]
    words += [f"--privileged '{pattern}'" for pattern in options.privileged or ()]
    return " ".join(words)


def _content(answer: Answer, model: Path, report: Path) -> dict[str, Any]:
    verdict = answer.verdict
    features = [one for one in answer.facts.get("features") or () if one["flagged"] or one["screened"]]
    names = answer.facts.get("site_names") or ()
    return {
        "verdict": verdict.word,
        "method": answer.facts["kept"],
        "gain": verdict.gain,
        "low": verdict.low,
        "high": verdict.high,
        "sites": verdict.sites,
        "disagreeing": [
            {"column": one["column"], "score": one["score"], "signs": dict(zip(names, one["signs"], strict=True))}
            for one in features
        ],
        "model": shown(model),
        "report": shown(report),
    }


def _say(answer: Answer, content: Mapping[str, Any], seconds: float) -> None:
    print(answer.facts["sentence"])
    for sentence in answer.facts["advice"]:
        print(sentence)
    places = "6.3f" if "skip" in answer.facts["candidates"][0] else "6.1f"
    for one in answer.facts["candidates"]:
        print(f"  {one['name']:<34} {one['mean']:{places}}  worst {one['worst']:{places}}")
    print(f"report {content['report']}\nmodel  {content['model']}\n{seconds:.0f} s")

"""What `craik fit` says: how far it is, the verdict, and the object for scripts."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from craik.cli.answers import shown

if TYPE_CHECKING:
    from craik.estimators.answering import Answer
    from craik.estimators.saving.parts import Parts


def teller(parts: Parts) -> Callable[[int, int], None]:
    """Return what prints how far a comparison is, and how long it will take by what has been made since it began."""
    start = time.perf_counter()

    def told(done: int, total: int) -> None:
        made = done - parts.found
        there = f", {parts.found} of them there already" if parts.found else ""
        left = f", {(time.perf_counter() - start) / made * (total - done):.0f} s left" if made > 0 and done < total else ""
        end = "" if done < total else "\n"
        print(f"\r{done} of {total} fits{there}{left}   ", end=end, file=sys.stderr, flush=True)

    return told


def content_of(answer: Answer, model: Path, report: Path) -> dict[str, Any]:
    """Return the object that `--json` prints."""
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


def say(answer: Answer, content: Mapping[str, Any], seconds: float) -> None:
    """Print the verdict, what to do, notes on what the table may not be meant to hold, and a line for each candidate."""
    from craik.estimators.tables import CLASSES, COPIES, IDENTIFIERS, TELLING  # noqa: PLC0415  # needed from here on only

    print(answer.facts["sentence"])
    for sentence in answer.facts["advice"]:
        print(sentence)
    for note in answer.facts["notes"]:
        if any(words in note for words in (CLASSES, COPIES, IDENTIFIERS, TELLING)):
            print(note)
    unit = answer.facts["unit"]
    print(f"{unit[:1].upper()}{unit[1:]}, on what had no part in training:")
    places = "6.3f" if "skip" in answer.facts["candidates"][0] else "6.1f"
    for one in answer.facts["candidates"]:
        print(f"  {one['name']:<34} {one['mean']:{places}}  worst {one['worst']:{places}}")
    print(f"report {content['report']}\nmodel  {content['model']}\n{seconds:.0f} s")

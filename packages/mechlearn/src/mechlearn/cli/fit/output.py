"""What `mechlearn fit` says: how far it is, the verdict, and the object for scripts."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mechlearn.cli.common import plain, shown
from mechlearn.tables.reading_in import Doubt
from mechlearn.tables.reports import Answer
from mechlearn.tables.saving.parts import Parts

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


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


def in_order(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report's facts with sites that are all numbers by their values: 2 before 10; elsewhere they lie as texts do."""
    ordered = dict(facts)
    for names, parts, values in (("site_names", "features", "signs"), ("held_out", "candidates", "scores")):
        if facts.get(names):
            places = _places(facts[names])
            ordered[names] = [facts[names][place] for place in places]
            ordered[parts] = [{**one, values: [one[values][place] for place in places]} for one in facts[parts]]
    if facts.get("differences"):
        listed = list(facts["differences"].items())
        ordered["differences"] = dict(listed[place] for place in _places([name for name, _ in listed]))
    if facts.get("sites"):
        ordered["sites"] = _sorted(facts["sites"])
    if facts.get("calibration"):
        ordered["calibration"] = {**facts["calibration"], "sites": _sorted(facts["calibration"]["sites"])}
    return ordered


def _sorted(sites: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [sites[place] for place in _places([one["name"] for one in sites])]


def _places(names: Sequence[str]) -> list[int]:
    """Where to find what comes first, second, ...: numbers by value, before them what is in brackets; others as they are."""
    places = list(range(len(names)))
    numbers = {place: float(names[place]) for place in places if _NUMBER.fullmatch(names[place])}
    if any(place not in numbers and not names[place].startswith("(") for place in places):
        return places
    return sorted(places, key=lambda place: (place in numbers, numbers.get(place, 0.0), names[place]))


def content_of(answer: Answer, model: Path, report: Path) -> dict[str, Any]:
    """Return the object that `--json` prints."""
    verdict = answer.verdict
    features = [one for one in answer.facts.get("features") or () if one["flagged"] or one["screened"]]
    names = answer.facts.get("site_names") or ()
    return {
        "verdict": verdict.word,
        "sentence": answer.facts["sentence"],
        "advice": list(answer.facts["advice"]),
        "notes": list(answer.facts["notes"]),
        "method": answer.facts["kept"],
        "against": verdict.against,
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
    doubts = (note for note in answer.facts["notes"] if isinstance(note, Doubt))
    for sentence in (answer.facts["sentence"], *answer.facts["advice"], *doubts):
        print(plain(sentence))
    unit = answer.facts["unit"]
    print(f"{unit[:1].upper()}{unit[1:]}, on what had no part in training:")
    places = "6.3f" if "skip" in answer.facts["candidates"][0] else "6.1f"
    for one in answer.facts["candidates"]:
        print(f"  {plain(one['name']):<34} {one['mean']:{places}}  worst {one['worst']:{places}}")
    print(f"report {content['report']}\nmodel  {content['model']}\n{seconds:.0f} s")

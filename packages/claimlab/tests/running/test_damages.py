"""Damaged records: each is a sentence that names the file, or healed; no half or doubled seed is accepted."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from claimlab import cli
from claimlab.errors import LabError
from claimlab.experiment import load
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from claimlab.running.recovering import recover

ROWS, RUN, CLAIMS = "rows.jsonl.gz", "run.json", "claims.json"


def raw(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(change(path.read_bytes())) and None


def lines(change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def _change(path):
        found = gzip.decompress(path.read_bytes()).decode().splitlines()
        path.write_bytes(gzip.compress("".join(line + "\n" for line in change(found)).encode()))

    return _change


def content(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def _change(path):
        found = json.loads(path.read_text())
        change(found)
        path.write_text(json.dumps(found))

    return _change


def remove(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def row(**values) -> Callable[[Path], None]:
    """The second line with other values."""
    return lines(lambda found: [found[0], json.dumps({**json.loads(found[1]), **values}), *found[2:]])


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000

DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "no rows": (ROWS, remove),
    "rows: a folder": (ROWS, folder),
    "rows: empty": (ROWS, raw(lambda data: b"")),
    "rows: cut at 30 %": (ROWS, raw(lambda data: data[: int(0.3 * len(data))])),
    "rows: cut at 60 %": (ROWS, raw(lambda data: data[: int(0.6 * len(data))])),
    "rows: cut at the last byte": (ROWS, raw(lambda data: data[:-1])),
    "rows: longer": (ROWS, raw(lambda data: data + b"more")),
    "rows: zeros": (ROWS, raw(lambda data: bytes(len(data)))),
    "rows: garbage": (ROWS, raw(lambda data: b"\xff\xfe garbage\nmore")),
    "rows: half a seed, cut at a line's end": (ROWS, lines(lambda found: found[:-1])),
    "rows: half a line": (ROWS, lines(lambda found: [*found[:-1], found[-1][:20]])),
    "rows: the first line is gone": (ROWS, lines(lambda found: found[1:])),
    "rows: a line is gone": (ROWS, lines(lambda found: [*found[:1], *found[2:]])),
    "rows: a line twice": (ROWS, lines(lambda found: [found[0], *found])),
    "rows: a seed twice": (ROWS, lines(lambda found: [*found, *found[3:]])),
    "rows: the first seed twice": (ROWS, lines(lambda found: [*found, *found[:3]])),
    "rows: all twice": (ROWS, lines(lambda found: [*found, *found])),
    "rows: two lines in another order": (ROWS, lines(lambda found: [found[1], found[0], *found[2:]])),
    "rows: seeds interleaved": (ROWS, lines(lambda found: [found[0], found[3], *found[1:3], *found[4:]])),
    "rows: one seed is gone": (ROWS, lines(lambda found: found[:3])),
    "rows: a foreign seed": (ROWS, lines(lambda found: [*found, '{"seed": 7, "seconds": 0.0, "step": 0, "value": 1.0}'])),
    "rows: another number": (ROWS, row(value=123.0)),
    "rows: NaN": (ROWS, row(value=float("nan"))),
    "rows: a list in a row": (ROWS, row(value=[1])),
    "rows: a seed that is text": (ROWS, row(seed="0")),
    "rows: a seed that is true": (ROWS, row(seed=True)),
    "rows: seconds that are text": (ROWS, row(seconds="long")),
    "rows: a line that is a list": (ROWS, lines(lambda found: [found[0], "[1]", *found[2:]])),
    "rows: a key twice": (ROWS, lines(lambda found: [found[0].replace('"step"', '"step": 9, "step"'), *found[1:]])),
    "rows: nested without end": (ROWS, lines(lambda found: [*found, DEEP])),
    "rows: a blank line": (ROWS, lines(lambda found: [*found[:3], "", *found[3:]])),
    "no run.json": (RUN, remove),
    "run.json: a folder": (RUN, folder),
    "run.json: empty": (RUN, raw(lambda data: b"")),
    "run.json: cut": (RUN, raw(lambda data: data[: len(data) // 2])),
    "run.json: a list": (RUN, raw(lambda data: b"[]")),
    "run.json: no text": (RUN, raw(lambda data: b"\xff\xfe" + data)),
    "run.json: nested without end": (RUN, raw(lambda data: DEEP.encode())),
    "run.json: another format": (RUN, content(lambda found: found.update(format=3))),
    "run.json: no format": (RUN, content(lambda found: found.pop("format"))),
    "run.json: NaN": (RUN, content(lambda found: found.update(wall_seconds=float("nan")))),
    "run.json: a key twice": (RUN, raw(lambda data: data.replace(b'"format"', b'"format": 2, "format"', 1))),
    "run.json: no name": (RUN, content(lambda found: found.pop("name"))),
    "run.json: a name that is a number": (RUN, content(lambda found: found.update(name=3))),
    "run.json: made is a number": (RUN, content(lambda found: found.update(made=3))),
    "run.json: made says no seeds": (RUN, content(lambda found: found["made"][0].pop("seeds"))),
    "run.json: seeds that are text": (RUN, content(lambda found: found["made"][0].update(seeds="01"))),
    "run.json: a seed twice": (RUN, content(lambda found: found["made"][0].update(seeds=[0, 0, 1]))),
    "run.json: a seed below 0": (RUN, content(lambda found: found["made"][0].update(seeds=[-1, 0, 1]))),
    "run.json: a key too many": (RUN, content(lambda found: found["made"][0].update(extra=1))),
    "run.json: no seed in config": (RUN, content(lambda found: found["config"].pop("seed"))),
    "run.json: a setting of no field": (RUN, content(lambda found: found["settings"][0].update(name="nothing"))),
    "run.json: sums that are text": (RUN, content(lambda found: found.update(rows={"0": "abc"}))),
    "run.json: sums of no seed": (RUN, content(lambda found: found.update(rows={"x": [3, "abc"]}))),
    "claims.json: a folder": (CLAIMS, folder),
    "claims.json: empty": (CLAIMS, raw(lambda data: b"")),
    "claims.json: cut": (CLAIMS, raw(lambda data: data[: len(data) // 2])),
    "claims.json: a list": (CLAIMS, raw(lambda data: b"[]")),
    "claims.json: nested without end": (CLAIMS, raw(lambda data: DEEP.encode())),
    "claims.json: a verdict that is none": (CLAIMS, content(lambda found: found["claims"][0].update(verdict="maybe"))),
    "claims.json: a number that is text": (CLAIMS, content(lambda found: found["claims"][0].update(measured="much"))),
    "claims.json: a seed that was not made": (CLAIMS, content(lambda found: found.update(seeds=[0, 1, 2]))),
    "claims.json: seconds that are text": (CLAIMS, content(lambda found: found.update(seconds="long"))),
    "claims.json: claims are a number": (CLAIMS, content(lambda found: found.update(claims=1))),
    "claims.json: a figure without a file": (CLAIMS, content(lambda found: found["figures"][0].pop("file"))),
}

HEALED = {"rows: longer"}
"""What comes after the rows is no part of them."""

NO_TELLING = {"rows: a foreign seed", "no run.json"}
"""The report cannot see these: rows of a seed that nobody vouches for are not shown, and without run.json there is no run."""


def test_a_damaged_record_is_named_or_healed(package, tmp_path, monkeypatch, capsys):
    """All damages in one test: the run is made once, as processes take time."""
    monkeypatch.chdir(tmp_path)
    planned = plan(load("counter-walk", package), "quick", {}, 2, package)
    run = execute(planned, planned.folder(tmp_path / "whole"), jobs=2)
    rows, source = run.recorded(), run.made[0].code.source
    capsys.readouterr()
    wrong = list[str]()
    for name, (file, damage) in DAMAGES.items():
        out = tmp_path / "damaged" / "".join(c if c.isalnum() else "-" for c in name)
        shutil.copytree(tmp_path / "whole", out)
        folder = planned.folder(out)
        damage(folder / file)
        wrong += [
            f"{name}: {fault}"
            for fault in (_report(out, folder, file, name, capsys), _again(planned, folder, file, rows, source))
            if fault
        ]
    assert wrong == []
    assert len(DAMAGES) >= 45


def _report(out: Path, folder: Path, file: str, name: str, capsys) -> str:
    """What is wrong with what the report says."""
    status = cli.main(["report", str(out)])
    said = capsys.readouterr().err
    if status == 0:
        return "" if name in NO_TELLING | HEALED else "the report accepts it"
    if "No command should end like this" in said or "Traceback" in said or said.count("\n") != 1:
        return f"the report says {said!r}"
    return "" if str(folder / file) in said or name == "no run.json" else f"the report does not name the file: {said!r}"


def _again(planned, folder: Path, file: str, rows: dict, source: str) -> str:
    """What is wrong with where the same command goes on."""
    events = []
    try:
        _, seeds = recover(planned, folder, source, events.append)
    except (LabError, OSError) as error:
        return "" if str(folder / file) in f"{error}" else f"the run does not name the file: {error}"
    kept = {seed: some for seed, some in seeds.items() if seed in rows}
    if any(some != rows[seed] for seed, some in kept.items()) or set(seeds) - set(rows):
        return "the run keeps a seed that is not whole"
    lost = file != CLAIMS and kept.keys() != rows.keys()
    return "the run says nothing of what it discards" if lost and not events and (folder / file).exists() else ""

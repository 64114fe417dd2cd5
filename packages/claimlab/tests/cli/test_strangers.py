"""Folders of strangers: data that no command obeys. Nothing outside them is written, deleted, imported or read."""

import gzip
import hashlib
import json
import os
import shutil
import sys
import time

import pytest

from claimlab import cli
from claimlab.experiment import load
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from fake_copies import forget

COMMIT = "0123456789abcdef" * 2 + "01234567"
SECRET = "a secret of the user's"


def content(file, change):
    """A change of a JSON file's object."""

    def _change(folder, outside):
        path = folder / file
        found = json.loads(path.read_text())
        change(found, outside)
        path.write_text(json.dumps(found))

    return _change


def run_json(change):
    return content("run.json", change)


def claims_json(change):
    return content("claims.json", change)


def made(**values):
    return run_json(lambda found, outside: found["made"][0].update(values))


def link(name, target=""):
    """A link in the run's folder that leads out of it."""

    def _change(folder, outside):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(outside / target)

    return _change


def raw(file, text):
    return lambda folder, outside: (folder / file).write_bytes(text)


def pipe(name):
    def _change(folder, outside):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return _change


def last_word(path):
    """A text in the place of run.json's number of seconds."""
    return lambda folder, outside: (folder / "run.json").write_text(
        (folder / "run.json").read_text().replace('"wall_seconds": ', f'"wall_seconds": {path}, "unused": ')
    )


PLANTED = {
    # git's options, other places, other packages
    "commit: an option": made(commit="--output=sentinel"),
    "commit: an option to a path": run_json(lambda found, outside: found["made"][0].update(commit=f"--output={outside}/kept")),
    "commit: a branch": made(commit="HEAD"),
    "commit: short": made(commit="0123456"),
    "commit: large letters": made(commit=COMMIT.upper()),
    "commit: a line more": made(commit=COMMIT + "\n"),
    "commit: a number": made(commit=7),
    "commit: of no checkout": made(commit=COMMIT),
    "source: a folder": run_json(lambda found, outside: found["made"][0].update(source=f"{outside}/x")),
    "source: above": made(source="../../../"),
    "source: two dots": made(source=".."),
    "source: a NUL": made(source="a\0b"),
    "beside: an option": run_json(lambda found, outside: found["confirmed"].append({**witness(found), "beside": "--output=x"})),
    "package: antigravity": run_json(lambda found, outside: found.update(package="antigravity.x")),
    "package: this": run_json(lambda found, outside: found.update(package="this")),
    "package: relative": run_json(lambda found, outside: found.update(package="..x")),
    "package: a path": run_json(lambda found, outside: found.update(package=str(outside))),
    "package: planted": run_json(lambda found, outside: found.update(package="planted_package.experiments")),
    # links and what is no file
    "figures: a link": link("figures"),
    "committed: a link": link(".committed"),
    "prepared: a link": link(".prepared"),
    "older: a link": link("older"),
    "a picture: a link": link("figures/walk.svg", "secret.svg"),
    "rows: a link": link("rows.jsonl.gz", "secret.svg"),
    "run.json: a link": link("run.json", "secret.svg"),
    "claims.json: a link": link("claims.json", "secret.svg"),
    "lock: a link": link(".lock", "secret.svg"),
    "status: a link": link(".status.json", "secret.svg"),
    "status's other: a link": link(".status.json.tmp", "secret.svg"),
    "a partial: a link": link("seed-1.partial.jsonl", "secret.svg"),
    "run.json: a pipe": pipe("run.json"),
    "rows: a pipe": pipe("rows.jsonl.gz"),
    # pictures of other places
    "picture: absolute": claims_json(lambda found, outside: found["figures"][0].update(file=f"{outside}/secret.svg")),
    "picture: above": claims_json(lambda found, outside: found["figures"][0].update(file="figures/../../../secret.svg")),
    "picture: another kind": claims_json(lambda found, outside: found["figures"][0].update(file="run.json")),
    # numbers that are none, sizes that nobody has
    "seeds: a hundred thousand": run_json(lambda found, outside: found["made"][0].update(seeds=list(range(10**5)))),
    "seeds: large": made(seeds=[10**30]),
    "seeds: negative": made(seeds=[-1]),
    "seeds: halves": made(seeds=[0.5]),
    "wall_seconds: 1e400": last_word("1e400"),
    "wall_seconds: 10^400": last_word("1" + "0" * 400),
    "wall_seconds: many digits": last_word("1" * 5000),
    "wall_seconds: NaN": last_word("NaN"),
    "config: nested": run_json(lambda found, outside: found["config"].update(mode=[[[["x"]]]])),
    "run.json: deep": raw("run.json", b'{"format": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
    "run.json: large": raw("run.json", b" " * (2**26 + 1)),
    "rows: a bomb": raw("rows.jsonl.gz", gzip.compress(bytes(2**28))),
    "n: negative": claims_json(lambda found, outside: found["claims"][0].update(n=-1)),
    "n: none": claims_json(lambda found, outside: found["claims"][0].update(n=0)),
    "ends: the wrong way": claims_json(lambda found, outside: found["claims"][0].update(low=9.0, high=-9.0)),
    "a verdict without a number": claims_json(lambda found, outside: found["claims"][0].update(measured=None)),
    "older: a million": claims_json(lambda found, outside: found.update(older=[0] * 10**6)),
}

FINE = {"commit: of no checkout", "package: this", "package: antigravity", "package: planted", "committed: whole"}
"""Records that are read: nothing in them is obeyed."""


def witness(found):
    """A witness as run.json has it."""
    one = {key: found["made"][0][key] for key in ("seeds", "commit", "changes", "source", "hardware", "processor", "threads")}
    return {**one, "rows": [1, 1], "outcome": "equal", "difference": 0.0, "where": "", "time": "2026-01-01T00:00:00Z"}


def traces(folder):
    """What stands in a folder: names, contents, times of change."""
    found = {path.relative_to(folder).as_posix(): path.lstat() for path in sorted(folder.rglob("*"))}
    return {
        name: (stat.st_mtime_ns, hashlib.sha256((folder / name).read_bytes()).hexdigest() if (folder / name).is_file() else "")
        for name, stat in found.items()
    }


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of Unix")
def test_nothing_outside_of_a_planted_folder_is_written_deleted_imported_or_read(package, tmp_path, monkeypatch, capsys):
    """One test: the run is made once, as processes take time."""
    monkeypatch.chdir(tmp_path)
    planned = plan(load("counter-walk", package), "quick", {}, 1, package)
    execute(planned, planned.folder(tmp_path / "whole"))
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("secret.svg", "walk.gif", "run.txt"):
        (outside / name).write_text(SECRET)
    (tmp_path / "planted_package").mkdir()
    (tmp_path / "planted_package" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("antigravity", "this", "planted_package"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    before, slow = traces(outside), list[str]()
    for name, plant in PLANTED.items():
        out = tmp_path / "planted"
        shutil.copytree(tmp_path / "whole", out)
        plant(planned.folder(out), outside)
        for words in (
            ("report", str(out)),
            ("report", str(out), "--package", package),
            ("status", str(out)),
            ("verify", str(out), "--both", "--minutes", "1"),
            ("clean", str(out), "--older", "--half"),
            ("run", "counter-walk", "--seeds", "1", "--package", package, "--out", str(out)),
        ):
            if words[0] == "run" and "link" not in name and "source" not in name:
                continue  # a process each
            start = time.process_time()
            status = cli.main(list(words))
            said = "".join(capsys.readouterr())
            assert "No command should end like this" not in said, (name, words, said)
            assert SECRET not in said, (name, words)
            assert status != 0 or name in FINE or words[0] not in ("report",), (name, words, said)
            slow += [f"{name}: {words[0]}"] if time.process_time() - start > 10 else []
            forget(package)
        report = out / "report.html"
        assert not report.exists() or SECRET not in report.read_text()
        assert traces(outside) == before, name
        assert not {"antigravity", "planted_package"} & set(sys.modules), name
        shutil.rmtree(out)
    assert slow == []
    assert not list(tmp_path.glob("*sentinel*"))

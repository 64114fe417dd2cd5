"""What comes through the doors: signals, words that are none, records that would like to be obeyed, other systems."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from claimlab.running.storage import LOCK
from claimlab.running.watching.status import STATUS
from claimlab.running.workers.descendants import descendants
from fake_commands import alive, wait_for


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("signals", "status", "name"),
    [
        ([signal.SIGTERM], 143, "SIGTERM"),
        ([signal.SIGHUP, signal.SIGHUP], 129, "SIGHUP"),
        ([signal.SIGINT, signal.SIGINT, signal.SIGTERM], 130, "Ctrl-C"),
    ],
)
def test_a_signal_ends_the_command_with_a_sentence(asleep, command, package, tmp_path, signals, status, name):
    process, folder = asleep("--json")
    workers = descendants(process.pid)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.01)
    out, said = process.communicate(timeout=30)
    assert process.returncode == status, said
    found = json.loads(out)
    assert found["status"] == status
    assert found["error"].startswith(f"stopped by {name}; 1 of 2 seeds are recorded in ")
    assert said.splitlines()[-1] == f"claimlab: {found['error']}"
    assert "Traceback" not in said
    wait_for(lambda: not any(map(alive, workers)))
    assert sorted(path.name for path in folder.iterdir()) == [LOCK, STATUS, "rows.jsonl.gz", "run.json"]
    words = ("--package", package, "--out", tmp_path / "runs", "--mode", "sleep", "--jobs", "1", "--seeds", "1")
    again = command("run", "counter-walk", *words)  # the lock is free
    assert (again.wait(60), again.communicate()[1].count("recorded before")) == (0, 1)


def test_an_empty_list_is_one(claimlab):
    status, out, _ = claimlab("run", "counter-walk", "--widths", "", "--seeds", "1", "--json")
    facts = json.loads(Path(next(p for p in json.loads(out)["artifacts"] if p.endswith("run.json"))).read_text())
    assert (status, facts["config"]["widths"]) == (0, [])


def spoiled(claimlab, change) -> Path:
    """A run whose claims.json was changed."""
    _, out, _ = claimlab("run", "counter-walk", "--seeds", "1", "--json")
    path = Path(next(p for p in json.loads(out)["artifacts"] if p.endswith("claims.json")))
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path.parent


@pytest.mark.parametrize("where", ["absolute", "../", "link", "folder", "another kind"])
def test_a_report_embeds_only_the_figures_of_the_run(claimlab, package, tmp_path, where):
    secret = tmp_path / "secret.svg"
    secret.write_text("a secret")
    file = {"absolute": str(secret), "../": "../../../secret.svg", "another kind": "run.json"}.get(where, "figures/it.svg")
    folder = spoiled(claimlab, lambda content: content["figures"][0].update(file=file))
    if where == "link":
        (folder / "figures" / "it.svg").symlink_to(secret)
    if where == "folder":
        (folder / "figures" / "it.svg").mkdir()
        assert claimlab("report", "--package", package)[0] == 0
        assert Path("runs/report.html").read_text().count("data:image/svg+xml;base64,") == 1  # drawn from the rows instead
    else:
        status, _, said = claimlab("report")
        assert (status, said.count("\n")) == (1, 1)
        assert "figures/it.svg. Delete it" in said if where == "link" else "file should be a picture in figures/" in said


EVIL = "\x1b[2J\x9b31m<script>alert(1)</script> \u202e [here](javascript:alert(1)) | `x` \x07"


def test_no_record_is_obeyed_by_a_terminal_or_a_page(claimlab):
    def change(content):
        content["claims"][0].update(text=EVIL, id=EVIL, printed=EVIL, source=EVIL, tried=EVIL, condition=EVIL)

    spoiled(claimlab, change)
    for words in (("report",), ("report", "--json")):
        status, out, said = claimlab(*words)
        assert status == 0
        assert not {"\x1b", "\x9b", "\x07"} & set(out + said)
    page = Path("runs/report.html").read_text()
    assert "<script>" not in page
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(page)


def test_no_record_ends_a_cell_or_a_span_of_markdown(claimlab, package, monkeypatch):
    from claimlab.showing.rendering import cell, code

    shown = cell(EVIL)
    assert "<script>" not in shown
    assert "](" not in shown
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(shown)
    assert "`" not in code(EVIL)
    assert "\n" not in code("a\nb")
    assert cell("a | b") == "a \\| b"


@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_a_lock_that_is_a_link_empties_no_other_file(claimlab, tmp_path, link):
    _, out, _ = claimlab("run", "counter-walk", "--seeds", "1", "--json")
    lock = Path(json.loads(out)["artifacts"][0]).parent / LOCK
    target = tmp_path / "target"
    target.write_text("precious")
    lock.unlink()
    lock.symlink_to(target) if link == "symbolic" else os.link(target, lock)
    status, _, said = claimlab("run", "counter-walk", "--seeds", "2")
    assert (status, target.read_text()) == (1, "precious")
    assert (f"{lock.name}. Delete it." if link == "hard" else "Found a link at") in said


def test_a_temporary_file_that_is_a_link_is_not_written_through(tmp_path):
    from claimlab.running.storage import write_atomically

    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / f".claims.json.{os.getpid()}.tmp").symlink_to(target)
    write_atomically(tmp_path / "claims.json", "new")
    assert (target.read_text(), (tmp_path / "claims.json").read_text()) == ("precious", "new")


ELSEWHERE = """
import signal, os
sys.modules["fcntl"] = None
del signal.pthread_sigmask, signal.SIGHUP, os.sysconf, os.sched_getaffinity
"""
"""What Windows lacks, taken away from this process: not Windows, but what claimlab can be asked about it here."""


def test_a_run_needs_nothing_that_only_some_systems_have(command, package, tmp_path):
    words = ("--package", package, "--out", tmp_path / "runs", "--seeds", "1", "--json")
    process = command("run", "counter-walk", *words, before=ELSEWHERE)
    out, said = process.communicate(timeout=90)
    assert process.returncode == 0, said
    assert json.loads(out)["name"] == "counter-walk"

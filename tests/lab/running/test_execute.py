import getpass
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from craik.lab.errors import LabError, UsageError
from craik.lab.experiment import load
from craik.lab.running.execute import Event, execute, plan
from craik.lab.running.storage import locked
from fake_experiments import folder_of


def run(package, out, events=None, *, seeds=2, jobs=2, preset="quick", **overrides):
    planned = plan(load("counter-walk", package), preset, overrides, seeds)
    return execute(planned, out, jobs, events.append if events is not None else lambda event: None)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def kinds(events: list[Event]) -> dict[str, list[int | None]]:
    found: dict[str, list[int | None]] = {}
    for event in events:
        found.setdefault(event.kind, []).append(event.seed)
    return {kind: sorted(seeds, key=str) for kind, seeds in found.items()}


def test_a_run_leaves_everything(package, tmp_path):
    events: list[Event] = []
    result = run(package, tmp_path / "runs", events)
    assert result.folder == tmp_path / "runs" / "counter-walk" / result.plan.id
    assert sorted(str(path.relative_to(result.folder)) for path in result.folder.rglob("*") if path.is_file()) == [
        "claims.json",
        "config.json",
        "figures/walk.svg",
        "rows.jsonl",
    ]
    assert set(result.artifacts) == {path for path in result.folder.rglob("*") if path.is_file()}
    rows = lines(result.folder / "rows.jsonl")
    assert rows == result.rows
    assert [(row["seed"], row["step"], row["value"]) for row in rows] == [
        (seed, step, seed + step) for seed in (0, 1) for step in (0, 1, 2)
    ]
    assert list(rows[0])[:2] == ["seed", "seconds"]
    assert [claim.verdict for claim in result.claims] == ["holds", "does not hold", "not measured"]
    assert kinds(events) == {"started": [0, 1], "advanced": [0, 0, 0, 1, 1, 1], "finished": [0, 1]}
    last = [event for event in events if event.kind == "advanced" and event.seed == 1][-1]
    assert (last.fraction, last.text) == (1.0, "value 3.00")


def test_what_is_written_down_says_where_it_came_from(package, tmp_path):
    result = run(package, tmp_path / "runs", steps=4, widths=(1, 2))
    config = json.loads((result.folder / "config.json").read_text())
    claims = json.loads((result.folder / "claims.json").read_text())
    assert config["config"] == {**config["config"], "steps": 4, "widths": [1, 2], "seed": 0}
    assert config["overrides"] == claims["overrides"] == {"steps": 4, "widths": [1, 2]}
    assert config["command"] == "craik run counter-walk --preset quick --seeds 2 --steps 4 --widths 1,2"
    assert {"torch", "numpy", "python", "craik"} == set(config["computed"][0]["versions"])
    assert "core" in claims["hardware"]
    assert (claims["seeds"], claims["preset"]) == ([0, 1], "quick")
    assert claims["seconds"] == round(sum(row["seconds"] for row in result.rows if row["step"] == 3), 3)
    private = {str(tmp_path), str(Path.home()), platform.node(), f"/{getpass.getuser()}"}
    written = "".join((result.folder / file).read_text() for file in ("config.json", "claims.json", "rows.jsonl"))
    assert [word for word in private if word and word in written] == []


def test_the_same_command_again_computes_nothing(package, tmp_path):
    log = tmp_path / "log"
    first = run(package, tmp_path / "runs", log=str(log))
    before = {path: path.read_bytes() for path in first.artifacts}
    events: list[Event] = []
    second = run(package, tmp_path / "runs", events, log=str(log))
    assert kinds(events) == {"reused": [0, 1]}
    assert sorted(log.read_text().split()) == ["0", "1"]
    assert second.computed == ()
    assert {path: path.read_bytes() for path in second.artifacts} == before


def test_more_seeds_are_added_to_those_there_are(package, tmp_path):
    log = tmp_path / "log"
    two = run(package, tmp_path / "runs", log=str(log))
    five = run(package, tmp_path / "runs", seeds=5, log=str(log))
    assert (five.folder, five.computed) == (two.folder, (2, 3, 4))
    assert sorted(log.read_text().split()) == list("01234")
    assert five.rows[: len(two.rows)] == two.rows
    assert five.claims[0].n == 5
    again = run(package, tmp_path / "runs", log=str(log))  # fewer: judged on fewer, and nothing is thrown away
    assert (again.claims[0].n, again.rows) == (2, two.rows)
    assert {row["seed"] for row in lines(two.folder / "rows.jsonl")} == set(range(5))
    history = json.loads((two.folder / "config.json").read_text())["computed"]
    assert sorted(seed for entry in history for seed in entry["seeds"]) == list(range(5))


def test_the_number_of_processes_changes_no_row(package, tmp_path):
    one, three = (run(package, tmp_path / str(jobs), seeds=3, jobs=jobs) for jobs in (1, 3))
    assert [{**row, "seconds": 0} for row in one.rows] == [{**row, "seconds": 0} for row in three.rows]


def test_a_reworded_claim_is_judged_anew_on_recorded_rows(package, tmp_path):
    log = tmp_path / "log"
    first = run(package, tmp_path / "runs", log=str(log))
    path = folder_of(package) / "counter_walk.py"
    path.write_text(path.read_text().replace("m.value > 1", "m.value > 100"))
    sys.modules.pop(f"{package}.counter_walk")
    os.utime(path, (0, 0))
    second = run(package, tmp_path / "runs", log=str(log))
    assert second.folder == first.folder
    assert (first.claims[0].verdict, second.claims[0].verdict) == ("holds", "does not hold")
    assert sorted(log.read_text().split()) == ["0", "1"]


def test_an_edit_while_a_run_goes_on_is_found(package, tmp_path):
    planned = plan(load("counter-walk", package))
    path = folder_of(package) / "_shared" / "deep.py"
    path.write_text(path.read_text().replace("2 * x", "3 * x"))  # workers that start now would import this
    with pytest.raises(LabError, match="was edited"):
        execute(planned, tmp_path / "runs")
    assert not planned.folder(tmp_path / "runs").exists()


def test_the_id_names_config_first_seed_and_source(package, tmp_path):
    experiment = load("counter-walk", package)
    plain = plan(experiment)
    assert plan(experiment, seeds=7).id == plan(experiment, overrides={"steps": 3}).id == plain.id
    others = [plan(experiment, overrides={"steps": 4}), plan(experiment, overrides={"seed": 1}), plan(experiment, "paper")]
    path = folder_of(package) / "_shared" / "deep.py"
    path.write_text(path.read_text().replace("2 * x", "x + x"))
    assert len({plain.id, plan(experiment).id, *(other.id for other in others)}) == 5


def test_the_first_seed_is_a_setting(package, tmp_path):
    result = run(package, tmp_path / "runs", seed=10)
    assert sorted({row["seed"] for row in result.rows}) == [10, 11]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"preset": "quik"}, "did you mean quick"),
        ({"seeds": 0}, "at least one seed"),
        ({"overrides": {"seed": -1}}, "between 0 and 2\\^63, but found --seed -1"),
        ({"overrides": {"seed": 2**63 - 1}}, "between 0 and 2\\^63"),
        ({"overrides": {"steps": -1}}, "steps must not be negative"),
    ],
)
def test_a_plan_that_cannot_be(package, arguments, sentence):
    with pytest.raises(UsageError, match=sentence):
        plan(load("counter-walk", package), **arguments)


def test_bad_places_and_numbers_are_found_before_any_work(package, tmp_path):
    (tmp_path / "file").write_text("")
    log = tmp_path / "log"
    with pytest.raises(UsageError, match="must be writable"):
        run(package, tmp_path / "file" / "runs", log=str(log))
    with pytest.raises(UsageError, match="--jobs 0"):
        run(package, tmp_path / "runs", jobs=0, log=str(log))
    assert not log.exists()


def test_two_processes_do_not_write_one_run(package, tmp_path):
    planned = plan(load("counter-walk", package))
    planned.folder(tmp_path).mkdir(parents=True)
    with locked(planned.folder(tmp_path)), pytest.raises(LabError, match="one process at a time"):
        execute(planned, tmp_path)


@pytest.mark.parametrize(
    ("mode", "sentence", "kept"),
    [
        ("raise", r"counter-walk, seed 1: .*RuntimeError: the walk fell off", [0]),
        ("die", r"counter-walk with seed 1 was ended by SIGKILL; memory", [0]),
        ("nan", r"seed 0: .*finite.*'value' is nan", []),
        ("object", r"seed 0: .*'value' is a object", []),
        ("empty", r"seed 0: .*at least one row", []),
    ],
)
def test_a_failed_seed_is_named_and_whole_ones_stay(package, tmp_path, mode, sentence, kept):
    events: list[Event] = []
    with pytest.raises(LabError, match=sentence):
        run(package, tmp_path, events, jobs=1, mode=mode)
    assert [event.seed for event in events if event.kind == "failed"] == [1 if kept else 0]
    left = [path for path in tmp_path.rglob("*") if path.is_file() and tmp_path / "source" not in path.parents]
    assert {path.name for path in left} == ({"config.json", "rows.jsonl"} if kept else set())
    assert {row["seed"] for path in left if path.name == "rows.jsonl" for row in lines(path)} == set(kept)


def test_after_a_failure_nothing_new_starts_and_what_runs_ends(package, tmp_path):
    events: list[Event] = []
    with pytest.raises(LabError, match="seed 1"):
        run(package, tmp_path, events, seeds=6, jobs=2, mode="raise")
    found = kinds(events)
    assert found["failed"] in ([1], [1, 3])
    assert set(found["started"]) < set(range(6))
    assert set(found["started"]) == {*found["failed"], *found["finished"]}


def start(package, tmp_path, *words: str) -> subprocess.Popen:
    code = "import sys; from craik.cli import main; sys.exit(main(sys.argv[2:], package=sys.argv[1]))"
    command = [sys.executable, "-c", code, package, "run", "counter-walk", *words, "--out", str(tmp_path / "runs")]
    environment = {**os.environ, "PYTHONPATH": str(folder_of(package).parent)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def half_run(package, tmp_path) -> tuple[subprocess.Popen, Path]:
    """A command whose seed 0 is recorded and whose seed 1 sleeps after two rows."""
    process = start(package, tmp_path, "--mode", "sleep", "--jobs", "1")
    folder = tmp_path / "runs" / "counter-walk"

    def sleeps():
        partials = list(folder.glob("*/seed-1.partial.jsonl"))
        return partials and len(partials[0].read_text().splitlines()) == 2

    wait_for(sleeps)
    return process, next(folder.iterdir())


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads processes from /proc, which is Linux's")
def test_a_killed_run_goes_on_where_it_was_killed(package, tmp_path):
    process, folder = half_run(package, tmp_path)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(alive, workers)))  # nobody computes for a parent that is gone
    assert (folder / "seed-1.partial.jsonl").exists()

    again = start(package, tmp_path, "--mode", "sleep", "--jobs", "1")
    wait_for(lambda: len(children(again.pid)) > 1)  # the resource tracker and seed 1
    again.send_signal(signal.SIGINT)
    _, said = again.communicate(timeout=60)
    assert "discarded seed 1, half-written in" in said
    assert "seed 0: recorded before" in said
    assert said.splitlines()[-1].startswith("craik: stopped by Ctrl-C; 1 of 2 seeds are recorded")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads processes from /proc, which is Linux's")
def test_ctrl_c_ends_the_workers_and_keeps_whole_seeds(package, tmp_path):
    process, folder = half_run(package, tmp_path)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert said.splitlines()[-1].startswith("craik: stopped by Ctrl-C; 1 of 2 seeds are recorded")
    assert "Traceback" not in said
    wait_for(lambda: not any(map(alive, workers)))
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "rows.jsonl"]
    assert {row["seed"] for row in lines(folder / "rows.jsonl")} == {0}


def test_half_written_seeds_are_discarded_and_computed_again(package, tmp_path):
    log = tmp_path / "log"
    first = run(package, tmp_path / "runs", log=str(log))
    whole = (first.folder / "rows.jsonl").read_text()
    (first.folder / "rows.jsonl").write_text("".join(whole.splitlines(keepends=True)[:3]))  # seed 0 alone
    (first.folder / "seed-1.partial.jsonl").write_text('{"seed": 1, "seconds": 0.1, "step": 0, "va')
    events: list[Event] = []
    second = run(package, tmp_path / "runs", events, log=str(log))
    assert next(event.text for event in events if event.kind == "notice").startswith("discarded seed 1, half-written")
    assert sorted(log.read_text().split()) == ["0", "1", "1"]
    assert [{**row, "seconds": 0} for row in second.rows] == [{**row, "seconds": 0} for row in first.rows]


def test_a_damaged_seed_is_discarded_and_computed_again(package, tmp_path):
    log = tmp_path / "log"
    first = run(package, tmp_path / "runs", seeds=3, log=str(log))
    path = first.folder / "rows.jsonl"
    path.write_text(path.read_text()[:-20])
    events: list[Event] = []
    second = run(package, tmp_path / "runs", events, seeds=3, log=str(log))
    assert "discarded seed 2" in next(event.text for event in events if event.kind == "notice")
    assert second.computed == (2,)
    assert len(lines(path)) == len(first.rows)


def test_a_file_of_nothing_but_damage_is_said(package, tmp_path):
    first = run(package, tmp_path / "runs", seeds=1)
    (first.folder / "rows.jsonl").write_bytes(b"\xff\xfe garbage")
    events: list[Event] = []
    assert run(package, tmp_path / "runs", events, seeds=1).computed == (0,)
    assert "discarded 1 unreadable line" in next(event.text for event in events if event.kind == "notice")


def test_figures_that_are_no_longer_drawn_go(package, tmp_path):
    result = run(package, tmp_path / "runs")
    (result.folder / "figures" / "old.svg").write_text("<svg/>")
    run(package, tmp_path / "runs")
    assert [path.name for path in (result.folder / "figures").iterdir()] == ["walk.svg"]

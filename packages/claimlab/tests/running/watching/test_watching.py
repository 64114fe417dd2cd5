import json

import pytest

from claimlab import cli, runs
from claimlab.errors import UsageError
from claimlab.experiment import load
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from claimlab.running.recovering import store
from claimlab.running.storage import locked
from claimlab.running.watching.status import STATUS, Going, Seed, clean, status
from claimlab.running.watching.tracking import _Tail, json_lines, tracked
from fake_commands import wait_for
from fake_copies import edit


def test_what_is_done_what_failed_and_what_was_confirmed_is_told(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = run()
    with pytest.raises(Exception, match="the walk fell off"):
        run(mode="raise")
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.json").write_text("{")
    broken, done, failed = status(tmp_path / "runs")
    assert (done.state, done.done, done.wanted, done.left, done.words) == ("finished", 2, 2, None, "not confirmed since")
    assert done.folder == made.folder
    assert (failed.state, failed.done, failed.label) == ("failed", 1, "quick, mode raise")
    assert "the walk fell off" in failed.words
    assert (broken.state, str(broken.folder / "run.json") in broken.words) == ("damaged", True)
    assert cli.main(["status"]) == 0
    assert "failed" in capsys.readouterr().out
    assert cli.main(["status", "--json"]) == 0
    states = [one["state"] for one in json.loads(capsys.readouterr().out)["runs"]]
    assert states == ["damaged", "finished", "failed"]
    assert cli.main(["status", "nowhere"]) == 2


def test_what_ends_by_an_error_of_the_experiments_own_has_failed(run, tmp_path, monkeypatch):
    def draws(*_, **__):
        raise AttributeError("no such column")

    monkeypatch.setattr("claimlab.running.execute.judge", draws, raising=True)
    with pytest.raises(AttributeError):
        run()
    (found,) = status(tmp_path / "runs")
    assert (found.state, found.words) == ("failed", "AttributeError: no such column")


def test_seeds_that_were_not_asked_for_are_not_counted(run, tmp_path):
    run(seeds=3)
    run(seeds=2)
    (found,) = status(tmp_path / "runs")
    assert (found.done, found.wanted) == (2, 2)


def test_what_runs_and_what_was_killed_differ_by_the_lock(command, package, tmp_path):
    words = ("--package", package, "--out", tmp_path / "runs", "--mode", "sleep", "--jobs", "1")
    process = command("run", "counter-walk", *words)
    wait_for(lambda: (tmp_path / "runs").is_dir() and any(one.done == 1 for one in status(tmp_path / "runs")))
    (going,) = status(tmp_path / "runs")
    assert (going.state, going.done, going.wanted) == ("running", 1, 2)
    (kept,) = clean(tmp_path / "runs", older=False, half=True, dry_run=True)[:1]
    assert kept.why_kept == "a process writes this run"
    process.kill()
    process.communicate()
    (killed,) = status(tmp_path / "runs")
    assert (killed.state, killed.left) == ("killed", None)
    assert "the same command continues" in killed.words
    gone = clean(tmp_path / "runs", older=False, half=True, dry_run=False)
    assert STATUS in {one.path.name for one in gone}
    (after,) = status(tmp_path / "runs")
    assert (after.state, after.done) == ("unfinished", 1)


def test_the_time_that_is_left_is_told_from_what_was_computed():
    at = {"0": Seed("reused", 1.0), "1": Seed("finished", 1.0), "2": Seed("advanced", 0.5), "3": Seed("started")}
    assert Going("walk", "quick", (0, 1, 2, 3, 4), seconds=30.0, at=at).left == pytest.approx(30 / 1.5 * 2.5)
    assert Going("walk", "quick", (0, 1), at={}).left is None


def test_older_seeds_go_when_that_is_asked_for(run, package, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(seeds=1)
    edit(package, "steps.py", "2 * x", "x + x")
    made = run(seeds=1)
    (apart,) = (made.folder / "older").iterdir()
    assert cli.main(["clean", "--older", "--dry-run"]) == 0
    assert f"would go  {apart.relative_to(tmp_path)}" in capsys.readouterr().out
    assert apart.is_dir()
    with locked(made.folder):
        (stays,) = clean(tmp_path / "runs", older=True, half=False, dry_run=False)
    assert "Found another that writes" in stays.why_kept
    assert apart.is_dir()
    assert cli.main(["clean", "runs", "--older", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["gone"], found["dry_run"], found["kept"]) == ([str(apart.relative_to(tmp_path))], False, [])
    assert found["bytes"] > 0
    assert not (made.folder / "older").exists()
    assert len(made.rows()) == 3
    assert cli.main(["clean", "runs"]) == 2
    assert "should have --older, --half or both" in capsys.readouterr().err


def test_rows_are_loaded_beside_their_settings(run, tmp_path):
    made = run(steps=2, widths=(1, 2))
    run(seeds=1, name="drunkard")
    found = runs.table(tmp_path / "runs")
    walk = [row for row in found if row["experiment"] == "counter-walk"]
    assert [(row["seed"], row["step"], row["value"]) for row in walk] == [(0, 0, 0.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)]
    assert walk[0] | {"seconds": 0} == walk[0] | {
        "experiment": "counter-walk",
        "preset": "quick",
        "run": made.folder.relative_to(tmp_path / "runs").as_posix(),
        "commit": "no commit",
        "config.steps": 2,
        "config.widths": "1,2",
        "config.limit": None,
        "seconds": 0,
    }
    with pytest.raises(UsageError, match=r"Found no folder .*nowhere"):
        runs.load(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="Found 'excel'"):
        runs.load(tmp_path, "excel")


def test_a_rows_own_column_does_not_hide_where_it_comes_from(run, tmp_path):
    made = run(seeds=1)
    rows = {0: [{**row, "run": "mine"} for row in made.recorded()[0]]}
    store(made, rows)
    found = runs.table(tmp_path / "runs")[0]
    assert (found["run"], found["row.run"]) == (made.folder.relative_to(tmp_path / "runs").as_posix(), "mine")


@pytest.mark.parametrize(
    "frame", [pytest.param(name, marks=pytest.mark.extra("frames", name)) for name in ("pandas", "polars")]
)
def test_rows_are_a_frame(run, tmp_path, frame):
    run(steps=2)
    run(seeds=1, name="drunkard")
    found = runs.load(tmp_path / "runs", frame)
    assert len(found) == 4 + 5
    assert sorted(set(found["experiment"])) == ["counter-walk", "drunkard"]
    assert float(found["value"].max()) == 2.0


def test_events_are_lines_of_json(run, tmp_path):
    run(seeds=1)
    with json_lines(tmp_path / "logs" / "events.jsonl") as hear:
        for event in run.events:
            hear(event)
    found = [json.loads(line) for line in (tmp_path / "logs" / "events.jsonl").read_text().splitlines()]
    assert [one["kind"] for one in found] == ["started", "advanced", "advanced", "advanced", "finished"]
    assert set(found[1]) >= {"time", "kind", "seed", "fraction", "text", "rows", "seconds"}
    with pytest.raises(UsageError, match="--json-log should be writable"), json_lines(tmp_path):
        pass


def told(package, tmp_path, tool):
    planned = plan(load("drunkard", package), "quick", {}, 1, package)
    folder = planned.folder(tmp_path / "runs")
    with tracked(tool, planned, folder) as hear:
        return execute(planned, folder, 1, hear)


@pytest.mark.extra("tracking", "tensorboard")
def test_numbers_go_to_tensorboard(package, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = told(package, tmp_path, "tensorboard")
    board = EventAccumulator(str(run.folder / "tensorboard" / "seed-0")).Reload()
    sides = {f"{row['side']}/place" for row in run.rows()}
    assert set(board.Tags()["scalars"]) == sides
    found = [one.value for tag in sides for one in board.Scalars(tag)]
    assert sorted(found) == pytest.approx(sorted(run.rows()["place"]), rel=1e-6)


@pytest.mark.extra("tracking", "mlflow")
def test_numbers_go_to_mlflow(package, tmp_path):
    from mlflow.tracking import MlflowClient

    run = told(package, tmp_path, "mlflow")
    client = MlflowClient((run.folder.parent / "mlruns").as_uri())
    experiment = client.get_experiment_by_name("drunkard")
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.data.params["rows"] == "5"
    assert found.info.status == "FINISHED"
    places = [m.value for side in ("left/place", "right/place") for m in client.get_metric_history(found.info.run_id, side)]
    assert sorted(places) == sorted(run.rows()["place"])


def test_a_row_that_is_half_written_is_waited_for(tmp_path):
    seen = []

    path = tmp_path / "seed-0.partial.jsonl"
    tail = _Tail(path, (lambda *said: seen.append(said), lambda: None))
    tail.send()
    path.write_text('{"seed": 0, "seconds": 0.1, "side": "left", "x": 1}\n{"seed": 0, "sec')
    tail.send()
    assert seen == [("left/x", 1.0, 0)]
    path.write_text(path.read_text() + 'onds": 0.2, "side": "left", "x": 2}\n')
    tail.send()
    assert seen == [("left/x", 1.0, 0), ("left/x", 2.0, 1)]

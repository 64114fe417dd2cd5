import dataclasses
import getpass
import gzip
import json
import platform
import re
import shutil
import signal
from pathlib import Path

import pytest

from claimlab.errors import LabError, UsageError
from claimlab.experiment import load
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from claimlab.running.provenance.source_tree import Code
from claimlab.running.runfiles import read_run
from claimlab.running.storage import LOCK, locked
from claimlab.running.verification.verify import verify
from claimlab.running.watching.status import STATUS
from claimlab.running.workers.descendants import descendants
from fake_commands import alive, wait_for
from fake_copies import edit, folder_of


def planned(package, preset="quick", seeds=None, **overrides):
    return plan(load("counter-walk", package), preset, overrides, seeds, package)


def text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in text(path).splitlines()]


def without_time(rows) -> list[dict]:
    return [{**row, "seconds": 0} for row in rows]


def left(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in (LOCK, STATUS))
    return sorted(str(path.relative_to(folder)) for path in files)


def kinds(run) -> dict[str, list[int | None]]:
    """The seeds of each kind of event of the last run."""
    found: dict[str, list[int | None]] = {}
    for event in run.events:
        found.setdefault(event.kind, []).append(event.seed)
    return {kind: sorted(seeds, key=str) for kind, seeds in found.items()}


def notices(run) -> list[str]:
    return [event.text for event in run.events if event.kind == "notice"]


def test_a_run_leaves_everything(run, package, tmp_path):
    result = run()
    assert result.folder == tmp_path / "runs" / "counter-walk" / planned(package).label
    assert left(result.folder) == ["claims.json", "figures/walk.svg", "rows.jsonl.gz", "run.json"]
    assert {str(path.relative_to(result.folder)) for path in result.artifacts} == set(left(result.folder))
    rows = lines(result.folder / "rows.jsonl.gz")
    assert rows == result.rows()
    assert [(row["seed"], row["step"], row["value"]) for row in rows] == [
        (seed, step, seed + step) for seed in (0, 1) for step in (0, 1, 2)
    ]
    assert list(rows[0])[:2] == ["seed", "seconds"]
    assert [claim.verdict for claim in result.claims] == ["holds so far", "does not hold so far", "not measurable here"]
    assert kinds(run) == {"started": [0, 1], "advanced": [0, 0, 0, 1, 1, 1], "finished": [0, 1]}
    last = [event for event in run.events if event.kind == "advanced" and event.seed == 1][-1]
    assert (last.fraction, last.text) == (1.0, "value 3.00")
    assert read_run(result.folder) == dataclasses.replace(result, recipe=read_run(result.folder).recipe)


def test_what_is_written_down_says_where_it_came_from(run, package, tmp_path):
    result = run(steps=4, widths=(1, 2))
    facts = json.loads((result.folder / "run.json").read_text())
    claims = json.loads((result.folder / "claims.json").read_text())
    assert facts["config"] == {**facts["config"], "steps": 4, "widths": [1, 2], "seed": 0}
    assert facts["changed"] == {"steps": 4, "widths": [1, 2]}
    assert facts["command"] == f"claimlab run counter-walk --package {package} --preset quick --seeds 2 --steps 4 --widths 1,2"
    (made,) = facts["made"]
    assert {"python", "numpy", "claimlab"} <= set(made["versions"])
    assert "core" in made["hardware"]
    assert (made["seeds"], len(made["source"])) == ([0, 1], 64)
    assert made["implementation"] == {f"{package}.walks.counter.run": "by hand"}
    assert made["data"] == {"walks.bin": "d1ce"}
    assert (made["commit"], made["changes"], facts["confirmed"]) == (None, False, [])
    assert (claims["seeds"], claims["preset"], claims["older"]) == ([0, 1], "quick", [])
    assert claims["seconds"] == round(sum(row["seconds"] for row in result.rows() if row["step"] == 3), 3)
    private = {str(tmp_path), str(Path.home()), platform.node(), f"/{getpass.getuser()}"}
    written = "".join((result.folder / file).read_text() for file in ("run.json", "claims.json"))
    written += text(result.folder / "rows.jsonl.gz")
    assert [word for word in private if word and word in written] == []


def test_the_same_command_again_computes_nothing(run):
    first = run()
    before = {path: path.read_bytes() for path in first.artifacts}
    second = run()
    assert kinds(run) == {"reused": [0, 1]}
    assert {path: path.read_bytes() for path in second.artifacts} == before


def test_more_seeds_are_added_to_those_there_are(run):
    two = run()
    first = two.rows()
    five = run(seeds=5)
    assert five.folder == two.folder
    assert kinds(run)["started"] == kinds(run)["finished"] == [2, 3, 4]
    assert five.rows()[: len(first)] == first
    assert (five.claims[0].n, five.claims[0].verdict) == (5, "holds")
    again = run()  # fewer: judged on fewer, and nothing is thrown away
    assert (again.claims[0].n, again.rows()) == (2, first)
    assert {row["seed"] for row in lines(two.folder / "rows.jsonl.gz")} == set(range(5))
    assert again.seeds == (0, 1, 2, 3, 4)


def test_the_number_of_processes_changes_no_row(run, tmp_path):
    one = without_time(run(seeds=3, jobs=1).rows())
    shutil.rmtree(tmp_path / "runs")
    assert without_time(run(seeds=3, jobs=3).rows()) == one


def test_seeds_of_another_source_are_set_apart_and_made_again(run, package):
    first = run()
    source, rows = first.made[0].code.source, first.rows()
    edit(package, "steps.py", "2 * x", "3 * x")
    second = run()
    assert kinds(run)["started"] == [0, 1]
    assert "seeds 0, 1 of" in notices(run)[0]
    assert second.older == ()
    assert [row["value"] for row in second.rows()] != [row["value"] for row in rows]
    apart = read_run(second.folder / "older" / source[:6])
    assert (apart.is_older, apart.rows(), apart.claims) == (True, rows, first.claims)
    assert [one.code.source for one in apart.made] == [source]
    assert [one.code.source == source for one in second.made] == [False]


def test_older_seeds_are_kept_where_that_is_asked_for_and_shown(run, package):
    first = run()
    edit(package, "counter/claims.py", "value above 1", "value above 100")
    edit(package, "steps.py", "2 * x", "x * 2")  # claims alone make no seed older
    second = run(seeds=3, keep_older=True)
    assert second.folder == first.folder
    assert kinds(run)["started"] == [2]
    assert "kept, and shown as older" in notices(run)[0]
    assert (second.older, len(second.made)) == ((0, 1), 2)
    assert (first.claims[0].verdict, second.claims[0].verdict) == ("holds so far", "does not hold so far")
    assert not (second.folder / "older").exists()


def test_what_is_set_apart_joins_what_was(run, package):
    first = run(seeds=1)
    edit(package, "steps.py", "2 * x", "3 * x")
    run(seeds=1)
    edit(package, "steps.py", "3 * x", "2 * x")
    back = run(seeds=3).rows()
    edit(package, "steps.py", "2 * x", "4 * x")
    last = run(seeds=1)
    older = sorted(path.name for path in (last.folder / "older").iterdir())
    assert len(older) == 2
    apart = read_run(last.folder / "older" / first.made[0].code.source[:6])
    assert (apart.seeds, apart.rows()) == ((0, 1, 2), back)


def test_seeds_that_were_set_apart_come_back_with_their_source(run, package):
    first = run()
    edit(package, "steps.py", "2 * x", "3 * x")
    run(seeds=1)
    edit(package, "steps.py", "3 * x", "2 * x")
    back = run()
    assert kinds(run)["reused"] == [0, 1]
    assert (back.rows(), back.made, back.claims) == (first.rows(), first.made, first.claims)
    assert any("took seeds 0, 1 of" in event.text for event in run.events)
    assert len(list((first.folder / "older").iterdir())) == 1  # the other source's


def test_damage_of_what_was_set_apart_is_said_where_it_is_written_anew(run, package):
    first = run()
    edit(package, "steps.py", "2 * x", "3 * x")
    run(seeds=1)
    edit(package, "steps.py", "3 * x", "2 * x")
    apart = first.folder / "older" / first.made[0].code.source[:6] / "rows.jsonl.gz"
    apart.write_bytes(gzip.compress("".join(text(apart).splitlines(keepends=True)[:-1]).encode()))
    run()
    assert any("discarded seed 1 of" in event.text and "has 2 rows, but run.json says 3" in event.text for event in run.events)
    assert kinds(run)["finished"] == [1]


def test_rows_of_no_known_source_are_discarded(run):
    first = run()
    (first.folder / "run.json").unlink()
    second = run()
    assert "run.json knows nothing of" in notices(run)[0]
    assert kinds(run)["finished"] == [0, 1]
    assert without_time(second.rows()) == without_time(lines(first.folder / "rows.jsonl.gz"))


def test_an_edit_while_a_run_goes_on_is_found(package, tmp_path, monkeypatch):
    it = planned(package)
    monkeypatch.setattr("claimlab.running.execute.code_of", lambda package, experiment: Code(None, False, "another"))
    with pytest.raises(LabError, match="was edited"):
        execute(it, it.folder(tmp_path / "runs"))
    assert left(it.folder(tmp_path / "runs")) == []


def test_a_label_names_preset_changes_and_the_settings(package):
    plain = planned(package)
    assert planned(package, seeds=7).label == planned(package, steps=3).label == plain.label
    assert re.fullmatch(r"quick-[0-9a-f]{6}", plain.label)
    changed = planned(package, steps=4, widths=(1, 2), log="/a path/to: it").label
    assert re.fullmatch(r"quick,steps=4,widths=1,2,log=-a-path-to-it-[0-9a-f]{6}", changed)
    assert len(planned(package, log="x" * 300).label) <= 100
    others = [planned(package, steps=4), planned(package, seed=1), planned(package, preset="paper")]
    assert len({plain.label, *(other.label for other in others)}) == 4


def test_records_lie_in_the_tree_of_the_experiments(package, tmp_path):
    it = planned(package)
    assert it.record(tmp_path) == tmp_path / "walks" / "counter" / it.label


def test_the_first_seed_is_a_setting(run):
    result = run(seed=10)
    assert sorted({row["seed"] for row in result.rows()}) == [10, 11]


def test_bad_places_and_numbers_are_found_before_any_work(run, tmp_path):
    with pytest.raises(UsageError, match="--jobs 0"):
        run(jobs=0)
    (tmp_path / "runs").write_text("")
    with pytest.raises(UsageError, match="should be writable"):
        run()
    assert run.events == []


def test_two_processes_do_not_write_one_run(package, tmp_path):
    folder = planned(package).folder(tmp_path)
    folder.mkdir(parents=True)
    with locked(folder), pytest.raises(LabError, match="One process at a time"):
        execute(planned(package), folder)


@pytest.mark.parametrize(
    ("mode", "sentence", "kept"),
    [
        ("raise", r"counter-walk, seed 1: .*RuntimeError: the walk fell off", [0]),
        ("die", r"counter-walk with seed 1 was ended by SIGKILL\. Memory", [0]),
        ("nan", r"seed 0: .*finite.*Found nan for 'value'", []),
        ("object", r"seed 0: .*Found a object for 'value'", []),
        ("empty", r"seed 0: .*at least one row", []),
    ],
)
def test_a_failed_seed_is_named_and_whole_ones_stay(run, package, tmp_path, mode, sentence, kept):
    with pytest.raises(LabError, match=sentence):
        run(jobs=1, mode=mode)
    assert [event.seed for event in run.events if event.kind == "failed"] == [1 if kept else 0]
    folder = planned(package, mode=mode).folder(tmp_path / "runs")
    assert left(folder) == (["rows.jsonl.gz", "run.json"] if kept else [])
    assert {row["seed"] for path in folder.glob("rows.jsonl.gz") for row in lines(path)} == set(kept)


def test_after_a_failure_nothing_new_starts_and_what_runs_ends(run):
    with pytest.raises(LabError, match="seed 1"):
        run(seeds=6, jobs=2, mode="raise")
    found = kinds(run)
    assert found["failed"] in ([1], [1, 3])
    assert set(found["started"]) < set(range(6))
    assert set(found["started"]) == {*found["failed"], *found["finished"]}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads processes from /proc, which is Linux's")
def test_a_killed_run_goes_on_where_it_was_killed(asleep, command, package, tmp_path):
    process, folder = asleep()
    workers = descendants(process.pid)
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(alive, workers)))  # nobody computes for a parent that is gone
    assert (folder / "seed-1.partial.jsonl").exists()

    options = ("--package", package, "--out", tmp_path / "runs", "--mode", "sleep", "--jobs", "1")
    again = command("run", "counter-walk", *options)
    wait_for(lambda: len(descendants(again.pid)) > 1)  # the resource tracker and seed 1
    again.send_signal(signal.SIGINT)
    _, said = again.communicate(timeout=60)
    assert "discarded seed 1, half-written in" in said
    assert "seed 0: recorded before" in said
    assert said.splitlines()[-1].startswith("claimlab: stopped by Ctrl-C; 1 of 2 seeds are recorded")


def test_half_written_seeds_are_discarded_and_computed_again(run):
    first = run()
    whole, rows = text(first.folder / "rows.jsonl.gz"), first.rows()
    (first.folder / "rows.jsonl.gz").write_bytes(gzip.compress("".join(whole.splitlines(keepends=True)[:3]).encode()))
    (first.folder / "seed-1.partial.jsonl").write_text('{"seed": 1, "seconds": 0.1, "step": 0, "va')
    second = run()
    assert notices(run)[0].startswith("seed 1, which run.json knows of, are not in")
    assert any(text.startswith("discarded seed 1, half-written") for text in notices(run))
    assert kinds(run)["started"] == [1]
    assert without_time(second.rows()) == without_time(rows)


def test_a_damaged_seed_is_discarded_and_computed_again(run):
    first = run(seeds=3)
    path, rows = first.folder / "rows.jsonl.gz", first.rows()
    path.write_bytes(gzip.compress(text(path)[:-20].encode()))
    second = run(seeds=3)
    assert "discarded seed 2" in notices(run)[0]
    assert kinds(run)["finished"] == [2]
    assert without_time(lines(path)) == without_time(second.rows()) == without_time(rows)


def test_a_file_of_nothing_but_damage_is_said(run):
    first = run(seeds=1)
    (first.folder / "rows.jsonl.gz").write_bytes(b"\xff\xfe garbage")
    run(seeds=1)
    assert kinds(run)["finished"] == [0]
    assert "discarded 1 unreadable line" in notices(run)[0]


def test_figures_that_are_no_longer_drawn_go(run):
    result = run()
    (result.folder / "figures" / "old.svg").write_text("<svg/>")
    run()
    assert [path.name for path in (result.folder / "figures").iterdir()] == ["walk.svg"]


def test_a_number_of_another_type_that_is_equal_is_the_preset(package):
    experiment = load("counter-walk", package)
    quick = experiment.presets["quick"]
    whole = dataclasses.replace(quick, config=dataclasses.replace(quick.config, shortcut_scale=1))
    experiment = dataclasses.replace(experiment, presets={"quick": whole})
    plans = [plan(experiment, "quick", given, None, package) for given in ({}, {"shortcut_scale": 1.0})]
    assert plans[0].label == plans[1].label
    assert plans[1].changed == {}


@pytest.mark.parametrize("late", [True, False])
def test_what_is_imported_after_an_edit_is_not_recorded(run, package, late):
    """A module that was loaded before the edit computes as it was, and hours of it are not thrown away."""
    module = folder_of(package) / "late.py"
    module.write_text("X = 1\n")
    lines = [f"        with open({str(module)!r}, 'w') as file: file.write('X = 2\\n')"] + [
        f"        import {package}.late"
    ] * late
    edit(package, "counter/run.py", "        value = config.seed", "\n".join([*lines, "        value = config.seed"]))
    if not late:
        assert run(seeds=1).seeds == (0,)
        return
    with pytest.raises(LabError, match="the source must stay as it is while a run goes on"):
        run(seeds=1)


def test_a_seed_that_a_witness_of_this_source_made_again_is_not_computed_again(run, package, tmp_path):
    run()
    edit(package, "steps.py", "2 * x", "x * 2")
    (found,) = verify(tmp_path / "runs", package)
    assert found.witness.outcome == "equal"
    run()
    assert kinds(run)["started"] == [1]  # the witness made seed 0 alone

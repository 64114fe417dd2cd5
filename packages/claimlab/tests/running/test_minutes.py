"""`--max-minutes`: a run stops by itself where its state is kept, and the same command goes on."""

import json
import signal

import pytest

from claimlab.errors import Interrupted
from claimlab.experiment import load
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from claimlab.running.runfiles import find_runs
from claimlab.running.watching.status import status
from fake_copies import edit, undisturbed


def test_a_seed_stops_where_it_is_kept_and_goes_on_to_the_same_rows(trainings, claimlab, tmp_path):
    words = ("run", "walker", "--package", trainings, "--pause", "0.3", "--seeds", "1", "--jobs", "1")
    found, out, said = claimlab(*words, "--max-minutes", "0.001", "--json")
    assert found == 143
    answer = json.loads(out)
    assert answer["status"] == 143
    assert answer["error"].startswith("stopped by --max-minutes 0.001; 0 of 1 seeds are recorded in runs/walker/")
    assert answer["error"].endswith("and the same command goes on from there")
    assert "walker seed 0: its state is kept" in said
    (state,) = status(tmp_path / "runs")
    assert (state.state, state.words) == ("stopped", answer["error"])
    assert len(list(tmp_path.glob("runs/walker/*/seed-0-*.checkpoint.safetensors"))) == 1
    assert not list(tmp_path.glob("runs/walker/*/*.partial.jsonl"))
    again = claimlab(*words, "--max-minutes", "0.001")
    assert again[0] == 143
    assert "goes on from its checkpoint: 0 rows" in again[2]  # the row of the step after which it stopped comes now
    found, out, said = claimlab(*words)
    assert found == 0
    assert "goes on from its checkpoint: 1 rows" in said
    (made,) = find_runs(tmp_path / "runs")
    assert {0: [{**row, "seconds": 0} for row in made.rows()]} == undisturbed(trainings, "walker", 1)


def test_a_seed_that_keeps_nothing_comes_to_its_end_and_no_other_begins(package, tmp_path):
    edit(package, "counter/run.py", "        if odd and", "        time.sleep(0.9)\n        if odd and")
    it = plan(load("counter-walk", package), "quick", {}, 2, package)
    events = []
    with pytest.raises(Interrupted, match=r"stopped by --max-minutes 0\.04; 1 of 2 seeds are recorded") as caught:
        execute(it, it.folder(tmp_path), 1, events.append, minutes=0.04)
    assert caught.value.status == 128 + signal.SIGTERM
    assert [event.seed for event in events if event.kind == "started"] == [0]
    told = [event.text for event in events if event.kind == "notice"]
    assert told == ["counter-walk seed 0: keeps nothing here, so it goes on though its time is up; Ctrl-C ends it"]
    assert len(execute(it, it.folder(tmp_path), 1, minutes=10).rows()) == 6

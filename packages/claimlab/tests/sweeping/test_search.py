import dataclasses
import json
import random
import signal
from pathlib import Path

import pytest

from claimlab import LabError
from claimlab.running.provenance.source_tree import Code, source_digest
from claimlab.running.workers import local
from claimlab.running.workers.worker import Job
from claimlab.sweeping import search as searching
from claimlab.sweeping.attempts import attempts
from claimlab.sweeping.plan import single
from claimlab.sweeping.report import figures, outcomes
from claimlab.sweeping.search import Means, search
from fake_hill import Kill, trials_of
from fake_sweeps.hills.climb.run import Config


def test_the_best_setting_runs_on_fresh_seeds(hill, here, tmp_path):
    done = search(hill(), tmp_path, Means(1))
    assert [(one.trial.method, one.seed) for one in done.fresh] == [(m, s) for m in ("up", "down") for s in (100, 101)]
    best = done.best("up")
    assert best.value == max(one.value for one in done.studies.trials("up") if one.state == "complete")
    assert done.fresh[0].rows[-1]["validation_height"] == pytest.approx(best.value + 0.1)
    assert "test_height" in done.fresh[0].rows[-1]
    assert {values["seed"] for values in here.tried} == {0, 100, 101}


def test_nothing_of_test_data_is_kept_of_a_trial(hill, here, tmp_path):
    search(hill(), tmp_path, Means(1))
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "best"]
    assert (tmp_path / "journal.jsonl") in kept
    assert not [path for path in kept if b"test_height" in path.read_bytes()]


def test_killed_at_any_row_the_same_command_ends_alike(hill, here, tmp_path):
    plan = hill(draws=("tpe", "median"))
    whole = search(plan, tmp_path / "whole", Means(1))
    generator, kills = random.Random(0), 0
    while True:
        here.until = generator.randrange(1, 12)
        try:
            found = search(plan, tmp_path / "killed", Means(1))
            break
        except Kill:
            kills += 1
    assert kills > 3
    assert trials_of(found) == trials_of(whole)
    assert [one.rows for one in found.fresh] == [one.rows for one in whole.fresh]


def test_of_a_hundred_trials_none_is_lost_or_doubled_by_restarts(hill, here, tmp_path):
    plan, generator, kills = hill(trials=50, steps=1), random.Random(1), 0
    while True:
        here.until = generator.randrange(5, 40)
        try:
            done = search(plan, tmp_path, Means(1))
            break
        except Kill:
            kills += 1
    assert kills > 5
    trials = [one for method in ("up", "down") for one in done.studies.trials(method)]
    assert [(one.method, one.number) for one in trials] == [(method, place) for method in ("up", "down") for place in range(50)]
    assert {one.state for one in trials} == {"complete", "failed"}
    assert all(len(done.studies.by_method[method].trials) == 50 for method in ("up", "down"))
    whole = sum(values["seed"] == 0 for values in here.tried)
    assert 100 <= whole <= 100 + kills  # what was under way when it was killed is computed once more


def test_more_trials_later(hill, here, tmp_path):
    search(hill(trials=2), tmp_path, Means(1))
    before = len(here.tried)
    done = search(hill(trials=3), tmp_path, Means(1))
    searched = [values for values in here.tried[before:] if values["seed"] == 0]
    assert len(searched) == 2
    assert [one.number for one in done.studies.trials("down")] == [0, 1, 2]
    again = len(here.tried)
    search(hill(trials=3), tmp_path, Means(1))
    assert len(here.tried) == again  # all is there


def test_a_setting_that_breaks_is_a_failed_trial(hill, here, tmp_path):
    done = search(hill(trials=6, draws=("grid", "none")), tmp_path, Means(1))
    failed = [one for one in done.studies.trials("up") if one.chosen["shape"] == "broken"]
    assert failed
    assert {(one.state, one.value, one.why) for one in failed} == {("failed", None, "this shape breaks")}


def test_a_method_of_which_no_trial_ends(hill, here, tmp_path):
    with pytest.raises(LabError, match=r"Found none of up \(sleep length must be non-negative\)\. Change its ranges"):
        search(hill(trials=1, steps=1, pause=-1.0), tmp_path, Means(1))


def test_trials_that_lag_behind_are_pruned(hill, here, tmp_path):
    done = search(hill(trials=12, draws=("random", "median")), tmp_path, Means(1))
    trials = done.studies.trials("up")
    pruned = [one for one in trials if one.state == "pruned"]
    assert pruned
    assert all(one.number >= 5 for one in pruned)
    assert done.best("up").state == "complete"


def test_others_trials_are_waited_for_by_nobody(hill, here, tmp_path):
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    here.until = 2
    with pytest.raises(Kill):
        search(hill(trials=1), tmp_path / "dead", Means(1, storage=url))
    here.until = None
    done = search(hill(trials=1), tmp_path / "alive", Means(1, storage=url))
    assert [(one.method, one.number) for one in done.waiting] == [("up", 0)]
    assert done.fresh == ()
    done = search(hill(trials=1), tmp_path / "alive", Means(1, storage=url, take_over=True))
    assert (done.waiting, len(done.fresh)) == ((), 4)


def test_killed_by_a_signal_no_trial_is_lost_or_doubled(command, tmp_path, hill, here):
    words = ("sweep", "climb", "--package", "fake_sweeps", "--out", tmp_path / "out", "--preset", "slow")
    words = (*words, "--trials", "2", "--sampler", "random", "--pruner", "none", "--jobs", "2", "--json")
    first = command(*words)
    for line in first.stderr:  # two have ended, two are under way
        if "trial 0" in line:
            break
    first.send_signal(signal.SIGKILL)
    first.communicate()
    out, said = command(*words).communicate(timeout=600)
    assert "recorded before" in said
    answer = json.loads(out)
    expected = search(hill(2, "slow"), tmp_path / "here", Means(1))
    assert [one["complete"] + one["failed"] for one in answer["methods"]] == [2, 2]
    assert [one["best"]["chosen"] for one in answer["methods"]] == [expected.best(m).chosen for m in ("up", "down")]
    assert [one["best"]["value"] for one in answer["methods"]] == [expected.best(m).value for m in ("up", "down")]
    left = {path.name for path in Path(answer["folder"]).iterdir()} - {".lock"}
    assert left == {"best", "figures", "journal.jsonl", "owner", "report.html"}


def test_the_best_rows_of_another_source_are_not_taken(hill, here, tmp_path, monkeypatch):
    for source in ("a" * 64, "b" * 64):
        before = len(here.tried)
        monkeypatch.setattr(searching, "code_of", lambda package, experiment, source=source: Code(None, False, source))
        search(hill(trials=1), tmp_path, Means(1, storage=f"sqlite:///{tmp_path / source[:1]}.db"))
        assert len([one for one in here.tried[before:] if one["seed"] >= 100]) == 4


def test_a_setting_that_the_config_refuses_is_a_failed_trial(hill, here, tmp_path, monkeypatch):
    made = Config.__init__

    def refuse(self, *given, **named):
        made(self, *given, **named)
        if self.y > 3:
            raise ValueError("y should be at most 3. Found more. Lower it.")

    monkeypatch.setattr(Config, "__init__", refuse)
    done = search(hill(trials=8), tmp_path, Means(1))
    trials = done.studies.trials("up")
    assert {one.state for one in trials if one.chosen["y"] > 3} == {"failed"}
    assert all(one.why.startswith("y should be at most 3. Found more") for one in trials if one.chosen["y"] > 3)
    assert len(trials) == 8
    assert done.best("up").chosen["y"] <= 3


def test_a_method_that_draws_nothing_has_no_slices(hill, here, tmp_path):
    plan = hill(trials=5)
    of = {name: one for name, one in plan.ranges.of.items() if name != "penalty"}
    methods = {"up": {"methods": ("up",)}, "down": {"methods": ("down",), "x": 0.1, "y": 5, "shape": "round"}}
    ranges = dataclasses.replace(plan.ranges, of=of, methods=methods)
    plan = dataclasses.replace(plan, experiment=dataclasses.replace(plan.experiment, ranges={"quick": ranges}))
    assert not plan.ranges.drawn("down")
    done = search(plan, tmp_path, Means(1))
    assert set(figures(done, outcomes(done))) <= {"importance", "slices-up"}


def job(tmp_path, name, source=None, **changes):
    values = {"x": 0.1, "methods": ("up",), "seed": 0, **changes}
    source, partial = source or source_digest("fake_sweeps", "climb"), tmp_path / f"{name}.partial.jsonl"
    return Job("climb", "fake_sweeps", "quick", values, 0, partial, source)


def test_real_workers_end_complete_pruned_or_failed(tmp_path):
    jobs = {"whole": {}, "pruned": {"pause": 0.2, "steps": 1000}, "broken": {"shape": "broken"}}
    waiting = ((name, job(tmp_path, name, **changes)) for name, changes in jobs.items())
    ended = {
        one.what: one for one in attempts(waiting, local.here().at_once(3), "quick", lambda one: one.what != "pruned", print)
    }
    assert {name: one.state for name, one in ended.items()} == {"whole": "complete", "pruned": "pruned", "broken": "failed"}
    assert len(ended["whole"].rows) == 4
    assert 1 <= len(ended["pruned"].rows) < 50
    assert "ValueError: this shape breaks" in ended["broken"].why
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_setting_s_fault_ends_the_sweep(tmp_path):
    with pytest.raises(LabError, match="the source must stay as it is"):
        list(
            attempts(
                iter([("edited", job(tmp_path, "edited", source="0" * 64))]), local.here(), "quick", lambda one: True, print
            )
        )


def test_single_is_the_experiment_where_nothing_else_is_said(hill):
    experiment = hill().experiment
    assert single(experiment, "quick").run is experiment.run

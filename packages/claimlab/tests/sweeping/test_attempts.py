import pytest

from claimlab.errors import LabError
from claimlab.running.provenance.source_tree import source_digest
from claimlab.running.workers.local import here
from claimlab.running.workers.worker import Job
from claimlab.sweeping.attempts import attempts
from claimlab.sweeping.plan import single


def job(tmp_path, name, source=None, **changes):
    values = {"x": 0.1, "methods": ("up",), "seed": 0, **changes}
    return Job(
        "climb",
        "fake_sweeps",
        "quick",
        values,
        0,
        tmp_path / f"{name}.partial.jsonl",
        source or source_digest("fake_sweeps", "climb"),
    )


def test_real_workers_end_complete_pruned_or_failed(tmp_path):
    jobs = {"whole": {}, "pruned": {"pause": 0.2, "steps": 1000}, "broken": {"shape": "broken"}}
    waiting = ((name, job(tmp_path, name, **changes)) for name, changes in jobs.items())
    ended = {one.what: one for one in attempts(waiting, here().at_once(3), "quick", lambda one: one.what != "pruned", print)}
    assert {name: one.state for name, one in ended.items()} == {"whole": "complete", "pruned": "pruned", "broken": "failed"}
    assert len(ended["whole"].rows) == 4
    assert 1 <= len(ended["pruned"].rows) < 50
    assert "ValueError: this shape breaks" in ended["broken"].why
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_setting_s_fault_ends_the_sweep(tmp_path):
    with pytest.raises(LabError, match="the source must stay as it is"):
        list(attempts(iter([("edited", job(tmp_path, "edited", source="0" * 64))]), here(), "quick", lambda one: True, print))


def test_single_is_the_experiment_where_nothing_else_is_said(hill):
    experiment = hill().experiment
    assert single(experiment, "quick").run is experiment.run

from dataclasses import replace

import pytest

from craik.lab.claims import Reading
from craik.lab.experiment import load
from craik.lab.running.execute import execute
from craik.lab.running.plan import plan
from craik.lab.showing.folding import folded, tally, tried
from craik.lab.showing.judging import judge_again, never_run
from fake_copies import edit


@pytest.fixture
def run(package, tmp_path):
    def _run(preset="quick", seeds=2, **overrides):
        planned = plan(load("counter-walk", package), preset, overrides, seeds, package)
        return execute(planned, planned.folder(tmp_path / "runs"), 1)

    return _run


def of(runs, name):
    return next(one for one in folded(runs) if one.claim.id == name)


def test_the_paper_s_scale_weighs_more_than_seeds_and_a_preset_more_than_changed_settings(run):
    quick, paper, changed = run(seeds=3), run("paper"), run(steps=5)
    found = of([changed, quick, paper], "counter.low")
    assert found.first.run == paper
    assert {one.run.folder for one in (*found.others, *found.twins)} == {quick.folder, changed.folder}
    assert of([changed, quick], "counter.low").first.run == quick


def test_runs_that_measured_the_same_are_named_together(run):
    quick = run()
    twin = replace(quick, recipe=replace(quick.recipe, preset="paper"))
    found = of([quick, twin], "counter.low")
    assert (found.others, found.scale) == ((), "paper and quick")


def test_what_no_run_can_measure_is_one_row_and_open(run):
    runs = [run(), run(steps=5)]
    found = of(runs, "counter.far")
    assert (found.claim.verdict, found.others, found.twins) == ("not measurable here", (), ())
    counts = tally("walks", folded(runs))
    assert (counts.claims, counts.held, counts.failed, counts.open, counts.few) == (3, (1, 0), (1, 0), 1, 2)


def test_of_open_rows_the_one_with_an_earlier_verdict_is_shown(run):
    silent = run()
    before = Reading("below 9", "Anything passed.", 3.0, "holds")
    claims = [replace(one, earlier=(before,)) if one.id == "counter.far" else one for one in silent.claims]
    speaks = replace(silent, judged=replace(silent.judged, claims=tuple(claims)))
    for runs in ([silent, speaks], [speaks, silent]):
        assert of(runs, "counter.far").claim.earlier == (before,)


def test_each_text_of_what_was_tried_stands_once(run):
    claims = folded([run()])
    same = [replace(one, first=replace(one.first, claim=replace(one.claim, tried="Much."))) for one in claims]
    assert [(len(one.ids), one.text) for one in tried(same)] == [(3, "Much.")]


def test_present_claims_judge_recorded_rows(run, tmp_path, package):
    kept = run()
    assert judge_again(tmp_path / "runs") == []
    before = (kept.folder / "rows.jsonl.gz").read_bytes()
    edit(package, "counter/claims.py", "It ends low & slow.", "It ends low.")
    (changed,) = judge_again(tmp_path / "runs")
    assert "It ends low." in {claim.text for claim in changed.claims}
    assert "It ends low." in (kept.folder / "claims.json").read_text()
    assert (kept.folder / "rows.jsonl.gz").read_bytes() == before


def test_claims_of_what_was_never_run_are_not_measured(run, package):
    found = never_run([run()], package)
    assert list(found) == ["drunkard"]
    assert {claim.verdict for claims in found.values() for claim in claims} <= {"not measured"}

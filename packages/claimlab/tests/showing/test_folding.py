from dataclasses import replace

import pytest

from claimlab.claims import Needs
from claimlab.errors import LabError
from claimlab.experiment import load
from claimlab.running.runfiles import read_run
from claimlab.running.storage import locked
from claimlab.showing import judging
from claimlab.showing.evidence import labels
from claimlab.showing.folding import folded, sentences, tallies, tally, verdicts, weighed
from claimlab.showing.judging import judge_again, judged_again, never_run
from fake_copies import edit


def of(runs, name):
    return next(one for one in folded(runs) if one.claim.id == name)


def later(run, time="2999-01-01T00:00:00Z", **changes):
    """The same run, recorded then, elsewhere, as another preset or with other claims."""
    made = tuple(replace(one, time=time) for one in run.made)
    recipe = replace(run.recipe, **{name: changes.pop(name) for name in ("preset", "settings") if name in changes})
    folder = run.folder.with_name(f"{recipe.preset}-{time[:4]}")
    return replace(run, made=made, recipe=recipe, folder=folder, **changes)


def measuring(run, value, verdict, n=2):
    """What a run judged, had it measured this of `counter.low`."""
    claims = [
        replace(one, measured=value, low=value, high=value, n=n, verdict=verdict) if one.id == "counter.low" else one
        for one in run.claims
    ]
    return replace(run.judged, claims=tuple(claims))


def test_the_paper_s_scale_weighs_more_than_seeds_and_a_preset_more_than_changed_settings(run):
    quick, paper, changed = run(seeds=3), run("paper"), run(steps=5)
    found = of([changed, quick, paper], "counter.low")
    assert found.first.run == paper
    assert {one.run.folder for one in (*found.others, *found.twins)} == {quick.folder, changed.folder}
    assert of([changed, quick], "counter.low").first.run == quick


def test_runs_that_measured_the_same_are_named_together(run):
    quick = run()
    twin = later(quick, preset="paper")
    found = of([quick, twin], "counter.low")
    assert (found.others, found.scale) == ((), "paper and quick")


def test_of_runs_that_weigh_the_same_the_one_recorded_last_comes_first(run):
    one = run()
    early = later(one, "2001-01-01T00:00:00Z", preset="zeal")
    late = later(one, preset="ample", judged=measuring(one, 5.0, "does not hold so far"))
    for runs in ([early, late], [late, early]):
        assert of(runs, "counter.low").scale == "ample"
    early, late = later(late, "2001-01-01T00:00:00Z"), later(early)
    for runs in ([early, late], [late, early]):
        assert of(runs, "counter.low").scale == "zeal"


def test_more_seeds_come_before_what_was_recorded_last(run):
    one = run()
    more = later(one, "2001-01-01T00:00:00Z", preset="more", judged=measuring(one, 5.0, "does not hold", 6))
    found = of([one, more], "counter.low")
    assert (found.scale, found.disputes) == ("more", ())


def test_equals_that_say_the_opposite_are_named(run):
    one = run()
    other = later(one, preset="other", judged=measuring(one, -5.0, "holds so far"))
    found = of([one, other], "counter.low")
    assert (found.claim.verdict, [(said.scale, said.claim.verdict) for said in found.disputes]) == (
        "does not hold so far",
        [("other", "holds so far")],
    )
    assert of([other, one], "counter.low").disputes == found.disputes
    assert tally("walks", folded([one, other])).disputed == ("counter.low",)
    agreeing = later(one, preset="other", judged=measuring(one, 5.0, "does not hold so far"))
    assert of([one, agreeing], "counter.low").disputes == ()
    heavier = later(one, preset="paper", judged=measuring(one, -5.0, "holds so far"))
    assert of([one, heavier], "counter.low").disputes == ()


def test_the_texts_size_weighs_more_by_the_presets_name_and_a_preset_as_it_is_now_more_than_as_it_was(run):
    one = run()
    sized = later(one, "2001-01-01T00:00:00Z", preset="faithful-walk", judged=measuring(one, -5.0, "holds so far"))
    assert of([one, sized], "counter.low").scale == "faithful-walk"
    settings = tuple(replace(stated, value="9") if stated.name == "steps" else stated for stated in one.recipe.settings)
    now = later(one, settings=settings, judged=measuring(one, -5.0, "holds so far"))
    found = of([one, now], "counter.low")
    assert (found.claim.verdict, found.disputes, len(found.others)) == ("holds so far", (), 1)


def test_a_preset_that_changed_after_it_was_recorded_is_told_apart(run):
    one = run()
    settings = tuple(replace(stated, value="9") if stated.name == "steps" else stated for stated in one.recipe.settings)
    now = later(one, settings=settings)
    expected = {now.folder: "quick", one.folder: f"quick {one.folder.name.rpartition('-')[2]}"}
    assert labels([one, now]) == labels([now, one]) == expected
    assert labels([one]) == {one.folder: "quick"}
    assert {said.scale for found in folded([one, now]) for said in (found.first, *found.twins)} == set(expected.values())


def test_changed_settings_are_told_as_long_as_they_are_few(run):
    few, many = run(steps=5), run(steps=5, shortcut_scale=2.0, widths=(1, 2), limit=9)
    assert labels([few])[few.folder] == "quick, steps 5"
    assert labels([many])[many.folder] == f"quick {many.folder.name.rpartition('-')[2]}"


def test_what_no_run_measures_is_one_row_and_open(run):
    runs = [run(), run(steps=5)]
    found = of(runs, "counter.far")
    assert (found.claim.verdict, found.others, found.twins) == ("not measured", (), ())
    assert {one.verdict for each in runs for one in each.claims if one.id == "counter.far"} == {"not measurable here"}
    assert of([*runs, run("paper")], "counter.far").claim.verdict == "holds so far"
    counts = tally("walks", folded(runs))
    assert (counts.claims, counts.held, counts.failed, counts.open, counts.few) == (3, (1, 1), (1, 0), 1, 2)


def with_needs(run, **needs):
    claims = [replace(one, needs=needs.get(one.id.partition(".")[2], one.needs)) for one in run.claims]
    return folded([replace(run, judged=replace(run.judged, claims=tuple(claims)))])


@pytest.mark.parametrize(
    ("needs", "verdict", "silencing"),
    [
        (Needs(premises=("counter.low",)), "says nothing", ("counter.low",)),
        (Needs(placebos=("counter.low",)), "says nothing", ("counter.low",)),
        (Needs(premises=("other.known",)), "holds so far", ()),
        (Needs(premises=("other.failing",)), "says nothing", ("other.failing",)),
    ],
)
def test_what_holds_says_nothing_where_a_need_fails(run, needs, verdict, silencing):
    claims = weighed(with_needs(run(), high=needs), {"other.known": "holds", "other.failing": "does not hold"})
    found = next(one for one in claims if one.claim.id == "counter.high")
    assert (found.claim.verdict, found.silencing) == (verdict, silencing)


def test_a_failing_placebo_does_not_excuse_a_failing_claim(run):
    elsewhere = {"other.failing": "does not hold"}
    claims = weighed(with_needs(run(), low=Needs(placebos=("other.failing",))), elsewhere)
    assert verdicts(claims)["counter.low"] == claims[1].claim.verdict == "does not hold so far"
    claims = weighed(with_needs(run(), low=Needs(premises=("other.failing",))), elsewhere)
    assert claims[1].claim.verdict == "says nothing"
    assert tally("walks", claims).silent == 1


def test_a_need_that_nobody_measured_and_a_second_question_stand_beside_the_verdict(run):
    needs = Needs(premises=("counter.far", "other.gone"), controls=("counter.low",))
    found = weighed(with_needs(run(), high=needs), {})[0]
    assert (found.claim.verdict, found.unmeasured) == ("holds so far", ("counter.far", "other.gone"))
    assert found.controlled == "does not hold"
    assert weighed(with_needs(run(), high=Needs(controls=("other.held",))), {"other.held": "holds"})[0].controlled == "holds"


def test_a_sentence_with_its_cells_counts_once(run):
    one = run()
    cells = [replace(claim, cell_of="counter.high") if claim.id == "counter.low" else claim for claim in one.claims]
    row, far = sentences(folded([replace(one, judged=replace(one.judged, claims=tuple(cells)))]))
    assert (row.verdict, len(row.cells), far.verdict) == ("holds in 1 of 2", 2, "not measured")
    counts = tally("walks", [*row.cells, *far.cells])
    assert (counts.claims, counts.held[0], counts.partly, counts.failed[0], counts.open) == (2, 0, (1, 1), 0, 1)


def test_families_are_summed_and_what_was_never_run_is_open(run):
    claims = folded([run()])
    walks, every = tallies({"walks": claims, "runs": []}, {"runs": 2})[1:]
    assert (walks.family, walks.claims, walks.open) == ("walks", 3, 1)
    assert (every.family, every.claims, every.held, every.open) == ("all", 5, (1, 1), 3)
    assert [one.family for one in tallies({"walks": claims})] == ["walks"]  # no sum of one


def test_present_claims_judge_recorded_rows(run, tmp_path, package):
    kept = run()
    assert judge_again(tmp_path / "runs", package) == []
    before = (kept.folder / "rows.jsonl.gz").read_bytes()
    edit(package, "counter/claims.py", "It ends low & slow.", "It ends low.")
    (changed,) = judge_again(tmp_path / "runs", package)
    assert "It ends low." in {claim.text for claim in changed.claims}
    assert "It ends low." in (kept.folder / "claims.json").read_text()
    assert (kept.folder / "rows.jsonl.gz").read_bytes() == before


def test_what_a_run_adds_while_it_is_judged_again_stays(run, tmp_path, package, monkeypatch):
    kept, experiment = run(seeds=1), load("counter-walk", package)
    changed = replace(experiment, claims=[replace(one, text="It ends.") for one in experiment.claims])

    def slow(*given):
        monkeypatch.setattr(judging, "load", lambda *given: changed)
        run(seeds=2)  # what another process does meanwhile
        return changed

    monkeypatch.setattr(judging, "load", slow)
    judge_again(tmp_path / "runs", package)
    after = read_run(kept.folder)
    assert (after.seeds, after.judged.seeds, {one.text for one in after.claims}) == ((0, 1), (0, 1), {"It ends."})
    monkeypatch.setattr(judging, "load", load)
    with locked(kept.folder), pytest.raises(LabError, match="Found another that writes"):
        judge_again(tmp_path / "runs", package)


@pytest.mark.parametrize(("factor", "again"), [(1 + 1e-13, False), (1 + 1e-6, True)])
def test_a_number_that_another_processor_rounded_stays_as_it_is_written(run, package, factor, again):
    kept = run()
    claims = [replace(one, measured=one.measured and float(one.measured) * factor) for one in kept.claims]
    assert any(one.measured for one in claims)
    recorded = replace(kept, judged=replace(kept.judged, claims=tuple(claims)))
    assert (judged_again(recorded, package) != recorded) is again


def test_claims_of_what_was_never_run_are_not_measured(run, package):
    found = never_run([run()], package)
    assert list(found) == ["drunkard"]
    assert {claim.verdict for claims in found.values() for claim in claims} <= {"not measured"}

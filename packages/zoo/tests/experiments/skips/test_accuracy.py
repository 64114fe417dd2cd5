from dataclasses import replace

import pytest

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.skips.accuracy import EXPERIMENT, measures
from mechlearn_zoo.experiments.skips.accuracy import run as skips_accuracy
from mechlearn_zoo.experiments.skips.accuracy.printed import PRINTED, with_printed


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return replace(
        EXPERIMENT.presets["quick"].config, methods=("asi", "fixed-2"), episodes=6, validation_episodes=4, test_episodes=5,
        evaluations=160, checks=2, kernels=8, max_steps=3, cache=str(tmp_path_factory.mktemp("cache")),
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows(tiny):
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in skips_accuracy.run(replace(tiny, seed=seed)))


def test_every_method_spends_the_same_budget(tiny, rows):
    for method in tiny.methods:
        curve = [row for row in rows if row["method"] == method and row["kind"] == "curve" and row["seed"] == 0]
        assert len(curve) == 2
        assert tiny.evaluations <= curve[-1]["evaluations"] < tiny.evaluations + 2 * 92


def test_with_epochs_every_method_looks_at_the_same_episodes(tiny):
    rows = list(skips_accuracy.run(replace(tiny, epochs=2, checks=3)))
    for method in tiny.methods:
        curve = [row for row in rows if row["method"] == method and row["kind"] == "curve"]
        assert [row["epochs"] for row in curve] == pytest.approx([4 / 6, 8 / 6, 2])
    spent = {row["method"]: row["evaluations"] for row in rows if row["kind"] == "final"}
    assert spent["asi"] != spent["fixed-2"]


def test_final_rows_have_what_validation_would_have_stopped_at(rows):
    for row in rows:
        assert (row["kind"] == "final") == ("stopped_at" in row)
    for row in rows.where(kind="final"):
        assert 0 < row["stopped_at"] <= 1
        assert row["stopped_validation_accuracy"] >= row["validation_accuracy"]
        assert {"stopped_test_accuracy", "stopped_test_undecided", "stopped_test_rollout"} <= row.keys()


def test_looks_change_nothing_of_the_training(tiny, rows, monkeypatch):
    monkeypatch.setattr(EarlyStopping, "due", lambda stopping, share: False)
    alone = [{"seed": 0, **row} for row in skips_accuracy.run(replace(tiny, methods=("asi",)))]
    assert alone[-1]["stopped_at"] == 1.0  # nothing but the end was looked at
    former = [{name: value for name, value in row.items() if not name.startswith("stopped_")} for row in alone]
    looked = rows.where(seed=0, method="asi")
    assert [{name: row[name] for name in before} for row, before in zip(looked, former, strict=True)] == former


@pytest.mark.parametrize(
    ("change", "rule"), [({"checks": 13, "epochs": 2, "episodes": 6}, r"checks should be between 1 and 12.*Found 13")]
)
def test_settings_that_cannot_work_are_refused(tiny, change, rule):
    with pytest.raises(ValueError, match=rule):
        replace(tiny, **change)


def made_up(method, seed, accuracy, epochs, task="funnel-board"):
    curve = [
        {
            "kind": "curve",
            "task": task,
            "unit": "evaluations",
            "method": method,
            "seed": seed,
            "epochs": e,
            "validation_accuracy": accuracy,
            "evaluations": 10 * e,
        }
        for e in (1, epochs)
    ]
    return [*curve, {**curve[-1], "kind": "final", "test_accuracy": accuracy}]


def test_claims_compare_seed_by_seed():
    better = [made_up("asi", s, 0.9 + s / 100, 4) + made_up("fixed-1", s, 0.5 + s / 100, 2) for s in range(5)]
    flat = Rows(row for group in better for row in group)
    assert measures.advantage(flat, "asi", "fixed-1").value == pytest.approx(0.4)
    assert measures.advantage_per_epoch(flat, "asi", "fixed-1").value == pytest.approx(0.4)
    verdicts = {claim.id: judge(claim, flat, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts["skips-accuracy.above-1"] == "holds"
    assert verdicts["skips-accuracy.above-2"] == "not measurable here"
    assert verdicts["skips-accuracy.level"] == "holds"
    assert verdicts["skips-accuracy.per-epoch"] == "not measurable here"
    assert {c.id: judge(c, flat, "paper").verdict for c in EXPERIMENT.claims}["skips-accuracy.per-epoch"] == "holds"
    after_epochs = {claim.id: judge(claim, flat, "epochs").verdict for claim in EXPERIMENT.claims}
    assert after_epochs["skips-accuracy.per-epoch"] == "holds"
    assert after_epochs["skips-accuracy.above-1"] == "not measurable here"  # evaluations differ there


def test_a_claim_about_every_method_fails_if_one_difference_is_uncertain():
    clear, uncertain = [0.1] * 5, [0.12, 0.12, 0.12, -0.15, -0.15]
    runs = [
        made_up(method, seed, 0.5 - behind[seed], 3, "room-runner")
        for method, behind in {"asi": [0.0] * 5, "fixed-1": clear, "fixed-2": uncertain}.items()
        for seed in range(5)
    ]
    judged = {claim.id: judge(claim, [row for run in runs for row in run], "quick") for claim in EXPERIMENT.claims}
    found = judged["skips-accuracy.room-runner"]
    assert (found.verdict, found.low < 0) == ("does not hold", True)


def test_rows_of_equal_epochs_do_not_count_as_equal_evaluations():
    runs = [made_up(method, seed, accuracy, 3) for seed in range(5) for method, accuracy in (("asi", 0.9), ("fixed-1", 0.1))]
    flat = [{**row, "unit": "episodes"} for run in runs for row in run]
    judged = {claim.id: judge(claim, flat, "quick").verdict for claim in EXPERIMENT.claims}
    assert judged["skips-accuracy.above-1"] == "not measurable here"
    assert judged["skips-accuracy.level"] == "holds"


def test_an_opponent_that_has_learnt_nothing_does_not_count():
    runs = [made_up("asi", s, 0.9, 3) + made_up("fixed-1", s, 0.0, 3) + made_up("fixed-3", s, 0.5, 3) for s in range(5)]
    flat = [row for run in runs for row in run]
    judged = {claim.id: judge(claim, flat, "quick") for claim in EXPERIMENT.claims}
    trained = judged["skips-accuracy.above-3"]
    assert judged["skips-accuracy.above-1"].verdict == "not measurable here"
    assert (trained.verdict, trained.measured) == ("holds", pytest.approx(0.4))
    by_epochs = {c.id: judge(c, [{**row, "unit": "episodes"} for row in flat], "epochs") for c in EXPERIMENT.claims}
    assert by_epochs["skips-accuracy.above-1-per-epoch"].verdict == "not measurable here"
    assert by_epochs["skips-accuracy.above-3-per-epoch"].verdict == "holds"


def curve(method, seed, *values):
    rows = [
        {
            "kind": "curve",
            "task": "funnel-board",
            "unit": "episodes",
            "method": method,
            "seed": seed,
            "epochs": epoch,
            "validation_accuracy": value,
        }
        | {"evaluations": 10 * epoch}
        for epoch, value in enumerate(values, start=1)
    ]
    return [*rows, {**rows[-1], "kind": "final", "evaluations": 10}]


def test_curves_that_rise_and_fall():
    rows = Rows(curve("asi", 0, 0.5, 0.9, 0.8) + curve("fixed-1", 0, 0.0, 0.1, 0.0) + curve("fixed-2", 0, 0.3, 0.8, 0.5))
    assert measures.fall(rows, "asi") == pytest.approx(0.1)
    assert measures.fall(rows, "fixed-1") is None  # never learnt anything
    assert measures.largest_fall(rows).value == pytest.approx(0.3)
    assert measures.resilience(rows) == pytest.approx(0.3 - 0.1)
    assert measures.highest_advantage(rows, "asi", "fixed-2").value == pytest.approx(0.1)


def test_a_fall_is_that_of_a_step_which_learnt_on_every_seed():
    rows = Rows(curve("fixed-1", 0, 0.9, 0.1) + curve("fixed-1", 1, 0.0, 0.0) + curve("fixed-2", 0, 0.5, 0.4))
    assert measures.largest_fall(Rows([*rows, *curve("fixed-2", 1, 0.5, 0.4)])).value == pytest.approx(0.1)


def test_evaluations_an_epoch_are_held_against_the_cheapest_fixed_step():
    rows = spending((15, 30), (17, 34))
    found = {claim.id: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    assert found["skips-accuracy.cheaper-epochs"].measured == pytest.approx(0.32)
    assert found["skips-accuracy.cheaper"].measured == pytest.approx(32 / 33)
    assert found["skips-accuracy.cheaper"].verdict == "does not hold so far"  # on one seed it is the dearer
    assert found["skips-accuracy.unexploring-cheaper"].verdict == "not measurable here"
    there = {claim.id: judge(claim, [{**row, "task": "room-runner"} for row in rows], "quick") for claim in EXPERIMENT.claims}
    assert there["skips-accuracy.room-runner-cheaper"].measured == pytest.approx(32 / 33)
    assert there["skips-accuracy.cheaper"].verdict == "not measurable here"


def spending(*curves):
    """Rows of seeds on which ASI has spent so much after one epoch and after two, and fixed steps alike in both."""
    return [
        {"seed": seed, "kind": kind, "task": "funnel-board", "method": method, "epochs": epoch, "evaluations": spent[epoch - 1]}
        | {"test_accuracy": 0.5, "validation_accuracy": 0.4}
        for seed, ours in enumerate(curves)
        for method, spent in (("asi", ours), ("fixed-1", (50, 100)), ("fixed-2", (25, 50)), ("fixed-3", (16.5, 33)))
        for kind, epoch in (("curve", 1), ("curve", 2), ("final", 2))
    ]


def test_long_skips_of_exploring_alone_are_no_saving():
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "skips-accuracy.cheaper")
    found = judge(claim, spending(*[(5, 30)] * 6), "quick")
    assert (found.measured, found.verdict) == (pytest.approx(25 / 16.5), "does not hold")


def test_each_task_has_claims_of_its_own():
    accuracies = {"asi": 0.9, "asi-no-exploration": 0.6, "fixed-1": 0.2, "fixed-2": 0.7, "fixed-3": 0.3}
    runs = [made_up(method, s, value, 3, "room-runner") for s in range(5) for method, value in accuracies.items()]
    flat = [row for group in runs for row in group]
    judged = {claim.id: judge(claim, flat, "quick") for claim in EXPERIMENT.claims}
    assert judged["skips-accuracy.above-1"].verdict == "not measurable here"
    assert judged["skips-accuracy.room-runner"].verdict == "holds"
    assert judged["skips-accuracy.room-runner"].measured == pytest.approx(0.2)  # over the best of the others


def reaching(method, seed, *values):
    return [{**row, "evaluations": 100 * row["epochs"]} for row in curve(method, seed, *values)]


def test_the_time_to_a_level_is_counted_in_evaluations():
    rows = Rows(reaching("asi", 0, 0.0, 0.25, 0.75) + reaching("fixed-1", 0, 0.1, 0.2, 0.3) + reaching("fixed-2", 0, 0.0, 0.5))
    assert measures.evaluations_to_level(rows.where(kind="curve", method="asi")) == 250
    assert measures.evaluations_to_level(rows.where(kind="curve", method="fixed-1")) == float("inf")
    assert measures.sooner(rows).value == 250 / 200
    never = Rows(reaching("asi", 0, 0.5) + reaching("fixed-1", 0, 0.1, 0.2))
    assert measures.sooner(never).value == 100 / 200  # the fixed step's, who never gets there, are all that it spent
    assert measures.sooner(Rows(reaching("asi", 0, 0.1) + reaching("fixed-1", 0, 0.1, 0.9))).value == 1
    assert measures.sooner(Rows(reaching("asi", 0, 0.1) + reaching("fixed-1", 0, 0.1))) is None
    assert measures.sooner(Rows(reaching("asi", 0, 0.9))) is None
    assert measures.sooner(rows.where(lambda row: row["method"] != "asi")) is None  # and no fixed step stands in its place


def test_skips_without_exploration_are_compared_epoch_for_epoch():
    accuracies = {"asi": 0.9, "asi-no-exploration": 0.6, "fixed-1": 0.5, "fixed-3": 0.7}
    runs = [made_up(method, s, value, 3) for s in range(5) for method, value in accuracies.items()]
    rows = [{**row, "unit": "episodes"} for run in runs for row in run]
    found = {claim.id.split(".")[1]: judge(claim, rows, "half") for claim in EXPERIMENT.claims}
    with_it, without = found["exploration-per-epoch"], found["unexploring-per-epoch"]
    assert (with_it.measured, with_it.verdict) == (pytest.approx(0.3), "holds")
    assert (without.measured, without.verdict) == (pytest.approx(-0.1), "does not hold")
    untrained = [{**row, "test_accuracy": 0.0} if row["method"] == "asi-no-exploration" else row for row in rows]
    judged = {claim.id: judge(claim, untrained, "half").verdict for claim in EXPERIMENT.claims}
    assert judged["skips-accuracy.exploration-per-epoch"] == "not measurable here"


def test_room_runners_are_compared_at_the_end_and_with_guessing():
    runs = [curve("asi", s, 0.3, 0.9, 0.6) + curve("fixed-2", s, 0.95, 0.2, 0.3) for s in range(5)]
    rows = [{"test_accuracy": row["validation_accuracy"], **row, "task": "room-runner"} for run in runs for row in run]
    found = {claim.id.partition("room-runner-")[2]: judge(claim, rows, "room-runner") for claim in EXPERIMENT.claims}
    verdicts = {name: (found[name].measured, found[name].verdict) for name in ("per-epoch", "guessing")}
    assert verdicts == {
        "per-epoch": (pytest.approx(-0.05), "does not hold"),  # the lesser of both
        "guessing": (pytest.approx(0.6), "holds"),
    }
    assert found["per-epoch"].parts[0].measured == pytest.approx(0.3)


def looked(runs, stopped):
    """Rows of made-up runs, whose final ones have what each method is where validation stops it."""
    rows = [row for run in runs for row in run]
    return [row | ({"stopped_test_accuracy": stopped[row["method"]]} if row["kind"] == "final" else {}) for row in rows]


def test_a_lead_over_a_method_that_worsens_is_asked_where_validation_stops_both_too():
    runs = [made_up("asi", s, 0.9, 3) + made_up("fixed-1", s, 0.4, 3) + made_up("fixed-2", s, 0.0, 3) for s in range(5)]
    rows = looked(runs, {"asi": 0.9, "fixed-1": 0.95, "fixed-2": 0.9})
    found = {claim.id.split(".")[1]: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    one = found["above-1"]
    assert (one.measured, one.verdict) == (pytest.approx(-0.05), "does not hold")
    assert one.parts[0].measured == pytest.approx(0.5)
    assert found["above-2"].verdict == "not measurable here"  # whether it has learnt something is asked of its end
    rows = looked(runs, {"asi": 0.9, "fixed-1": 0.2, "fixed-2": 0.9})
    (above,) = (judge(claim, rows, "quick") for claim in EXPERIMENT.claims if claim.id.endswith("above-1"))
    assert (above.measured, above.verdict) == (pytest.approx(0.5), "holds")


def test_a_lead_over_several_is_the_least_where_validation_stops_all_too():
    accuracies = {"asi": 0.9, "asi-no-exploration": 0.8, "fixed-1": 0.3, "fixed-3": 0.4}
    runs = [made_up(method, s, value, 3, "room-runner") for s in range(5) for method, value in accuracies.items()]
    rows = [{**row, "unit": "episodes"} for row in looked(runs, accuracies | {"fixed-1": 0.85})]
    found = {claim.id.partition("room-runner-")[2]: judge(claim, rows, "room-runner") for claim in EXPERIMENT.claims}
    asked = [found[name] for name in ("per-epoch", "fixed-per-epoch", "unexploring-per-epoch")]
    assert [one.parts[0].measured for one in asked] == pytest.approx([0.1, 0.5, 0.4])
    assert [one.parts[1].measured for one in asked] == pytest.approx([0.05, 0.05, -0.05])


def test_rows_without_looks_are_asked_by_each_ones_best_check():
    runs = [curve("asi", s, 0.3, 0.8) + curve("fixed-3", s, 0.85, 0.5) for s in range(5)]
    rows = [{"test_accuracy": row["validation_accuracy"], **row} for run in runs for row in run]
    assert measures.stopped_advantage(Rows(rows), "asi", "fixed-3").value == pytest.approx(-0.05)
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id.endswith("above-3-per-epoch"))
    found = judge(claim, rows, "half")
    assert (found.measured, found.verdict) == (pytest.approx(-0.05), "does not hold")
    assert found.parts[0].measured == pytest.approx(0.3)


def test_figures_and_progress(tiny, rows):
    assert list(EXPERIMENT.figures(rows)) == ["learning-curves", "outcomes"]
    assert skips_accuracy.progress(tiny, rows[-1])[0] == 1.0


def test_the_paper_preset_has_the_printed_tables():
    """Tables A.1 and A.2, column by column; a fixed step of 3 has the settings of 2."""
    paper = EXPERIMENT.presets["paper"].config
    assert (paper.settings, paper.epochs, paper.checks, paper.gain) == ("printed", 150, 600, 0.0)
    tables = {
        "room-runner": {
            "asi": (5e-4, 15_000, 21, 7_500, "strided", 48),
            "asi-no-exploration": (5e-4, 15_000, 18, 15_000, "simple", 48),
            "fixed-1": (5e-4, 15_000, 21, 15_000, "simple", 48),
            "fixed-2": (5e-4, 15_000, 21, 15_000, "simple", 48),
        },
        "funnel-board": {
            "asi": (5e-4, 15_000, 21, 15_000, "dilated", 48),
            "asi-no-exploration": (7.5e-4, 10_000, 18, 15_000, "strided", 32),
            "fixed-1": (7.5e-4, 15_000, 21, 15_000, "dilated", 32),
            "fixed-2": (7.5e-4, 15_000, 21, 15_000, "strided", 32),
        },
    }
    names = ("learning_rate", "decay_steps", "horizon", "exploration_steps", "architecture", "kernels")
    for task, columns in tables.items():
        for method, column in columns.items():
            found = with_printed(replace(paper, task=task), method)
            assert tuple(getattr(found, name) for name in names) == column
        assert PRINTED[task]["fixed-3"] == PRINTED[task]["fixed-2"]


def test_with_printed_settings_each_method_trains_with_its_own(tiny, monkeypatch):
    seen = {}

    def record(config, method, *_):
        seen[method] = (config.architecture, config.learning_rate)
        return iter(())

    monkeypatch.setattr(skips_accuracy, "train_and_stop", record)
    list(skips_accuracy.run(replace(tiny, settings="printed")))
    assert seen == {"asi": ("dilated", 5e-4), "fixed-2": ("strided", 7.5e-4)}


def test_a_method_without_a_column_is_refused_under_printed_settings(tiny):
    with pytest.raises(ValueError, match="Found 'fixed-8'"):
        replace(tiny, methods=("asi", "fixed-8"), settings="printed")

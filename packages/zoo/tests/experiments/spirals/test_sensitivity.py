from dataclasses import fields, replace

import pytest

from claimlab import Rows, judge
from mechlearn.agreement import SignalToNoiseMask
from mechlearn_zoo.experiments.spirals.sensitivity import EXPERIMENT, measures
from mechlearn_zoo.experiments.spirals.sensitivity import run as sensitivity
from mechlearn_zoo.learners.spirals.training import Training


def test_each_variant_changes_one_choice_except_the_published_codes():
    for name, variant in sensitivity.VARIANTS.items():
        changed = {f.name for f in fields(variant) if getattr(variant, f.name) != getattr(sensitivity.BASE, f.name)}
        limit = 4 if name.startswith("shortcut scale 1,") else 2 if name == "batch 32" else 1
        assert len(changed) <= limit, name


def test_rows_figures_and_claims(monkeypatch):
    config = EXPERIMENT.presets["quick"].config
    tiny = Training(environments=3, examples=32, hidden=8, layers=1, epochs=20, batch=16)
    names = config.variants
    monkeypatch.setattr(sensitivity, "VARIANTS", dict.fromkeys(names, tiny))
    rows = Rows({"seed": 500, **row} for row in sensitivity.run(config))
    assert [row["variant"] for row in rows] == list(names)
    assert all(row["stopped_validation_accuracy"] >= row["validation_accuracy"] for row in rows)
    assert all(0 < row["stopped_at"] <= 1 and 0 <= row["stopped_test_accuracy"] <= 1 for row in rows)
    assert list(EXPERIMENT.figures(rows)) == ["variants"]
    assert EXPERIMENT.progress(config, rows[-1])[0] == 1
    assert judge(EXPERIMENT.claims[0], rows, "quick").n == 1


def test_the_root_is_a_rule_of_its_own():
    rules = [sensitivity.rule_of_variant(name, sensitivity.BASE) for name in ("as in quick", sensitivity.ROOT)]
    assert [rule.rescale for rule in rules] == [True, "root"]
    assert EXPERIMENT.presets["rescaling"].config.variants[-1] == sensitivity.ROOT


def test_a_mask_by_another_measure(monkeypatch):
    config = EXPERIMENT.presets["signal-to-noise"].config
    assert sensitivity.rule_of_variant(config.variants[-1], sensitivity.BASE) == SignalToNoiseMask(1.0, rescale=True)
    tiny = Training(environments=3, examples=32, hidden=8, layers=1, epochs=20, batch=16)
    monkeypatch.setattr(sensitivity, "VARIANTS", {"as in quick": tiny})
    monkeypatch.setattr(sensitivity, "BASE", tiny)
    rows = Rows({"seed": 700, **row} for row in sensitivity.run(config))
    axes = EXPERIMENT.figures(rows)["variants"].axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [*reversed(config.variants)]
    claim = next(claim for claim in EXPERIMENT.claims if claim.id.endswith("signal-to-noise"))
    assert judge(claim, rows, "signal-to-noise").n == 1
    assert judge(claim, rows, "quick").verdict == "not measurable here"


def test_readings_of_the_printed_best_setting(monkeypatch):
    readings, printed = sensitivity.READINGS, sensitivity.PRINTED
    assert readings["printed best"] == printed
    assert len(set(readings.values())) == 9
    for name, reading in readings.items():
        changed = {f.name for f in fields(reading) if getattr(reading, f.name) != getattr(printed, f.name)}
        words = {"rescale": "no rescaling", "shortcut_scale": "a variance", "init": "default init"}
        said = {field for field, word in words.items() if word in name}
        assert changed == ({"batch"} if name == sensitivity.TOGETHER else said)
    assert readings[sensitivity.TOGETHER].batch * printed.environments == printed.batch == 128
    tiny = Training(environments=3, examples=32, hidden=8, layers=1, epochs=20, batch=16)
    monkeypatch.setattr(sensitivity, "READINGS", dict.fromkeys(readings, tiny))
    config = EXPERIMENT.presets["printed"].config
    assert config.variants == tuple(readings)
    config = replace(config, variants=("printed best", sensitivity.TOGETHER))
    rows = Rows({"seed": 800, **row} for row in sensitivity.run(config))
    (best,) = [claim for claim in EXPERIMENT.claims if "printed-" in claim.id]
    assert judge(best, rows, "printed").n == 1
    assert judge(best, rows, "paper").verdict == "not measurable here"


def test_the_reading_is_selected_on_validation_data_and_judged_on_test_data():
    names = [name for name in sensitivity.READINGS if name != sensitivity.TOGETHER][:2]
    outcomes = [(names[0], 0.9, 0.2), (names[1], 0.8, 1.0), (sensitivity.TOGETHER, 1.0, 1.0)]
    rows = Rows(
        {"seed": 800, "kind": "outcome", "variant": name, "validation_accuracy": validation, "test_accuracy": test}
        for name, validation, test in outcomes
    )
    assert measures.best_reading(rows) == names[0]
    (best,) = [claim for claim in EXPERIMENT.claims if claim.id.endswith("printed-best")]
    assert best.measure(rows).value == 0.2
    assert measures.best_reading(Rows([])) is None


def test_a_training_is_stopped_where_validation_is_best_and_the_end_is_what_it_is_without_looks(monkeypatch):
    tiny = Training(environments=3, examples=32, hidden=8, layers=1, epochs=10, batch=16)
    monkeypatch.setattr(sensitivity, "VARIANTS", {"as in quick": tiny})
    ((row),) = sensitivity.run(sensitivity.Config(variants=("as in quick",)))
    settings = replace(tiny, seed=500)
    data, model = sensitivity.training.make_data(settings), sensitivity.training.make_model(settings)
    rule = sensitivity.rule_of_variant("as in quick", settings)
    *_, last = sensitivity.training.train(settings, model, rule, data.train, every=1)
    assert {key: row[key] for key in last._asdict()} == last._asdict()
    assert row["test_accuracy"] == sensitivity.training.accuracy(model, data.test)
    looks = [(10, 0.5, 0.1), (20, 0.9, 0.2), (30, 0.7, 0.3), (40, 0.9, 0.4)]
    made_up = Rows({"step": step, "validation_accuracy": held_out, "test_accuracy": test} for step, held_out, test in looks)
    assert sensitivity.stopped(made_up) == {"stopped_at": 0.5, "stopped_validation_accuracy": 0.9, "stopped_test_accuracy": 0.2}


def test_that_a_variant_fails_is_asked_where_it_is_stopped_too():
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "spirals-sensitivity.weight-decay"]
    row = {"seed": 0, "variant": "no L2", "test_accuracy": 0.5}
    found = judge(claim, [{**row, "stopped_test_accuracy": 0.97}], "paper")
    assert (found.measured, found.verdict) == (0.97, "does not hold so far")
    assert [one.measured for one in found.parts] == [0.5, 0.97]
    assert judge(claim, [row], "paper").verdict == "not measurable here"


def test_rescaling_is_asked_seed_by_seed():
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "spirals-sensitivity.rescaling-helps"]
    rows = [
        {"seed": seed, "variant": name, "test_accuracy": value, "stopped_test_accuracy": value}
        for seed in (0, 1)
        for name, value in (("printed best", 0.6 + seed / 10), ("printed best, no rescaling", 0.5 + seed / 10))
    ]
    rows.insert(0, {"seed": 2, "variant": "printed best, no rescaling", "test_accuracy": 0.9})
    found = judge(claim, rows, "printed")
    assert (found.measured, found.low, found.n) == (pytest.approx(0.1), pytest.approx(0.1), 2)
    assert found.verdict == "holds so far"
    assert judge(claim, rows[:2], "printed").verdict == "not measurable here"
    level = [{**row, "stopped_test_accuracy": 0.6} for row in rows]
    found = judge(claim, level, "printed")
    assert (found.measured, found.verdict) == (0, "does not hold so far")
    assert [one.measured for one in found.parts] == pytest.approx([0.1, 0])


def test_unknown_variant():
    with pytest.raises(ValueError, match=r"variants should be among 'as in quick'.*Found 'bigger'"):
        sensitivity.Config(variants=("bigger",))

from dataclasses import replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.skips.perturbation import EXPERIMENT, measures
from mechlearn_zoo.experiments.skips.perturbation import run as skips_perturbation

QUICK = EXPERIMENT.presets["quick"].config


def made_up(method, seed, before, after, **more):
    """Four checks, two before the switch."""
    values = [(False, before), (False, before), (True, after), (True, after + 0.02)]
    return [
        {"method": method, "seed": seed, "after": late, "accuracy": value, "evaluations": 10 * k, "switch": 15, "budget": 40}
        | {"epochs": k, **more}
        for k, (late, value) in enumerate(values, start=1)
    ]


def judged(rows, preset="epochs"):
    return {claim.id.split(".")[1]: judge(claim, rows, preset) for claim in EXPERIMENT.claims}


def test_what_is_lost_around_the_switch():
    rows = Rows(made_up("asi", 0, 0.9, 0.88) + made_up("fixed-2", 0, 0.8, 0.5) + made_up("fixed-3", 0, 0.9, 0.7))
    assert measures.lost(rows, "asi") == pytest.approx(0.9 - 0.89)
    found = judged(rows)
    assert [found[name].verdict for name in ("asi-holds", "fixed-loses")] == ["holds so far", "holds so far"]
    assert found["fixed-loses"].measured == pytest.approx(0.9 - 0.71)  # of the step that loses least
    measured = {"asi-holds", "fixed-loses"}
    assert {one.verdict for name, one in found.items() if name not in measured} == {"not measurable here"}
    assert judged(rows, "quick")["fixed-loses"].verdict == "not measurable here"
    assert list(EXPERIMENT.figures(rows)) == ["switch"]


def test_who_has_learnt_nothing_has_nothing_to_lose():
    rows = Rows(made_up("asi", 0, 0.0, 0.0))
    assert judged(rows)["asi-holds"].verdict == "not measurable here"


def test_a_control_tells_what_is_lost_anyway():
    more = {"accuracy_without_bounce": 0.82, "same_labels": 0.9}
    switched = made_up("fixed-2", 0, 0.8, 0.5, schedule="switch", **more)
    control = made_up("fixed-2", 0, 0.7, 0.3, schedule="standard", **more)
    rows = Rows(switched + control)
    found = judged(rows)
    assert found["beyond-control"].measured == pytest.approx(-0.1)  # more is lost without a switch
    assert found["beyond-control"].verdict == "does not hold so far"
    assert found["easier"].measured == pytest.approx(0.82 - 0.7)
    assert found["same-labels"].measured == pytest.approx(0.9)
    assert found["frozen"].measured == pytest.approx(0.02)
    assert list(EXPERIMENT.figures(rows)) == ["switch"]


def test_the_control_is_asked_of_the_step_that_loses_least():
    def both(method, seed, after):
        switched = made_up(method, seed, 0.8, after, schedule="switch")
        return switched + made_up(method, seed, 0.8, 0.8, schedule="standard")

    rows = [
        row for seed in range(6) for row in (*both("fixed-2", seed, 0.7), *(both("fixed-3", seed, 0.3) if seed < 2 else ()))
    ]
    found = judged(rows)["beyond-control"]
    assert (found.measured, found.n, found.verdict) == (pytest.approx(0.1), 6, "holds")


@pytest.mark.parametrize(
    ("same", "verdict"), [(1.0, "not measurable here"), (0.99, "not measurable here"), (0.9, "holds so far")]
)
def test_a_frozen_network_is_asked_only_where_labels_may_set_it_apart(same, verdict):
    rows = made_up("fixed-2", 0, 0.8, 0.5, accuracy_without_bounce=0.8, same_labels=same)
    assert judged(rows, "control")["frozen"].verdict == verdict


def test_a_seed_with_the_same_labels_is_left_out_of_those_that_tell():
    told = made_up("fixed-2", 0, 0.8, 0.5, accuracy_without_bounce=0.7, same_labels=0.9)
    silent = made_up("fixed-2", 1, 0.8, 0.5, accuracy_without_bounce=0.8, same_labels=1.0)
    found = judged(Rows(told + silent))["frozen"]
    assert (found.measured, found.n) == (pytest.approx(0.1), 1)


def test_a_run_with_a_control(tmp_path):
    tiny = replace(
        QUICK, methods=("asi",), episodes=4, validation_episodes=3, epochs=4, checks=4, switch=0.5,
        schedules=("switch", "standard"), kernels=8, max_steps=2, cache=str(tmp_path),
    )  # fmt: skip
    rows = list(skips_perturbation.run(tiny))
    assert [(row["schedule"], row["after"], row["epochs"]) for row in rows] == [
        (schedule, epoch > 2, epoch) for schedule in ("switch", "standard") for epoch in (1, 2, 3, 4)
    ]
    assert all(row["unit"] == "episodes" and 0 <= row["same_labels"] <= 1 for row in rows)
    # Both schedules train alike on other boards up to the switch, so their losses differ.
    assert rows[0]["loss"] != rows[4]["loss"]
    shares = [skips_perturbation.progress(tiny, row)[0] for row in rows]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert list(EXPERIMENT.figures(Rows({"seed": 0, **row} for row in rows))) == ["switch"]
    alone = list(skips_perturbation.run(replace(tiny, schedules=("switch",), without_bounce=True)))
    assert alone == rows[:4]  # boards without bounce can be measured on without a control
    unmeasured = list(skips_perturbation.run(replace(tiny, schedules=("switch",))))
    added = {"schedule", "unit", "accuracy_without_bounce", "same_labels"}
    assert unmeasured == [{key: value for key, value in row.items() if key not in added} for row in alone]


@pytest.mark.parametrize("preset", ["control", "epochs", "paper"])
def test_a_preset_that_claims_read_has_fed_in_true_frames_long_before_the_switch(preset):
    config = EXPERIMENT.presets[preset].config
    switch = config.switch * config.budget.total / config.batch
    assert config.sampling_steps + 500 <= switch
    assert "standard" in config.schedules


def test_a_run_switches_boards(tmp_path):
    tiny = replace(
        QUICK, methods=("fixed-3",), episodes=4, validation_episodes=3, evaluations=200, checks=4, switch=0.5, kernels=8,
        max_steps=2, cache=str(tmp_path),
    )  # fmt: skip
    rows = list(skips_perturbation.run(tiny))
    assert {row["after"] for row in rows} == {False, True}
    assert rows[-1]["evaluations"] >= 200
    assert skips_perturbation.progress(tiny, rows[-1])[0] == 1.0

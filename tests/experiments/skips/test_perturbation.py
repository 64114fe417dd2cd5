from dataclasses import replace

import pytest

from craik.experiments.skips.perturbation import EXPERIMENT, claims
from craik.experiments.skips.perturbation import run as skips_perturbation
from craik.lab import Rows, judge

QUICK = EXPERIMENT.presets["quick"].config


def made_up(method, seed, before, after):
    values = [(False, 0.5), (False, before), (True, after), (True, 0.95)]
    return [
        {"method": method, "seed": seed, "after": late, "accuracy": value, "evaluations": 10 * k, "switch": 15, "budget": 40}
        for k, (late, value) in enumerate(values)
    ]


def test_what_is_lost_at_the_switch():
    rows = Rows(made_up("asi", 0, 0.9, 0.88) + made_up("fixed-2", 0, 0.8, 0.5) + made_up("fixed-3", 0, 0.9, 0.9))
    assert claims.loss_at_switch(rows, "asi") == pytest.approx([0.02])
    verdicts = [judge(claim, rows, "quick") for claim in EXPERIMENT.claims]
    assert [one.verdict for one in verdicts] == ["holds so far", "holds so far"]
    assert verdicts[1].measured == pytest.approx(0.3)
    assert list(EXPERIMENT.figures(rows)) == ["switch"]


def test_a_run_switches_boards(tmp_path):
    tiny = replace(
        QUICK,
        methods=("fixed-3",),
        episodes=4,
        validation_episodes=3,
        evaluations=200,
        checks=4,
        switch=0.5,
        kernels=8,
        max_steps=2,
        cache=str(tmp_path),
    )
    rows = list(skips_perturbation.run(tiny))
    assert {row["after"] for row in rows} == {False, True}
    assert rows[-1]["evaluations"] >= 200
    assert skips_perturbation.progress(tiny, rows[-1])[0] == 1.0


@pytest.mark.parametrize("changes", [{"task": "room-runner"}, {"switch": 1.0}, {"checks": 1}, {"methods": ()}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        replace(QUICK, **changes)

"""Verdicts on motions, with two steps of training."""

from dataclasses import replace

import numpy as np
import pytest

from claimlab import Rows, judge
from mechlearn.tables.forecasts.forecasting import Tried
from mechlearn_zoo.experiments.own_data import trajectories
from mechlearn_zoo.experiments.own_data.trajectories.measures import FIXED, below_fixed
from mechlearn_zoo.experiments.own_data.trajectories.run import CLOCKED, MOTIONS, WAITING
from mechlearn_zoo.experiments.own_data.trajectories.stopping import Stopped, error

CONFIG = replace(
    trajectories.EXPERIMENT.presets["quick"].config,
    boards=("waiting ball",), count=20, coming=5, ahead=4, steps=2, evaluations=8, hidden=2,
)  # fmt: skip
CLAIMS = trajectories.EXPERIMENT.claims
METHODS = ("standing still", *FIXED, "adaptive skips", "skips relative to distance")


def test_a_tiny_run_can_be_judged_and_drawn():
    rows = Rows({**row, "seed": 100} for row in trajectories.EXPERIMENT.run(CONFIG))
    (said,) = rows.where(kind="verdict")
    errors = {(f"{row['method']} ({row['setting']})").removesuffix(" ()"): row["true"] for row in rows.where(kind="error")}
    assert len(errors) == 8
    assert said["true"] == pytest.approx(100 * (1 - errors[said["method"]] / errors[said["against"]]))
    for row in rows.where(kind="error"):
        trained = row["method"] != "standing still" and not str(row["method"]).startswith("ridge")
        assert trained == (row.get("stopped_at") in {0.5, 1.0}) == ("stopped_setting" in row)
        assert row.get("stopped_at") != 1.0 or row["stopped_setting"] != row["setting"] or row["stopped_true"] == row["true"]
    for claim in CLAIMS:
        judge(claim, list(rows), "quick")
    assert trajectories.EXPERIMENT.figures(rows)


def test_the_error_of_a_world_that_stands_still_is_how_far_it_went():
    paths = [np.array([[0.0], [1.0], [2.0]]) + start for start in (0.0, 2.0)]
    spread = np.concatenate(paths).std()
    assert error(Tried("standing still", "", np.zeros(2), np.inf, 0, None), paths, 2) == pytest.approx(2 / spread)


def test_validation_stops_a_candidate_at_one_of_its_settings_and_fixed_steps_of_the_kind_that_it_prefers(monkeypatch):
    monkeypatch.setattr("mechlearn_zoo.experiments.own_data.trajectories.stopping.error", lambda one, *_: one.skip)
    stopped = Stopped([], 4)
    for share, name, setting, chosen_on, true in (
        (0.5, "adaptive skips", "H = 2", 0.5, 3.0), (1.0, "adaptive skips", "H = 2", 0.7, 1.0),
        (0.5, "adaptive skips", "H = 4", 0.6, 2.0), (1.0, "fixed steps", "k = 1", 0.4, 1.0),
        (0.5, "one step all the way", "k = 4", 0.2, 6.0), (1.0, "one step all the way", "k = 4", 0.3, 0.5),
    ):  # fmt: skip
        stopped.look(share, Tried(name, setting, np.array([chosen_on]), true, 0, None))
    assert stopped.row("adaptive skips") == {"stopped_at": 0.5, "stopped_true": 3.0, "stopped_setting": "H = 2"}
    assert stopped.gain("adaptive skips") == 50
    assert stopped.row("standing still") == {}


def made_up(word, method, still):
    for seed in range(6):
        for board in MOTIONS:
            sign = 1.0 if word == "helps" else -1.0
            yield {
                "kind": "verdict", "seed": seed, "board": board, "word": word, "true": sign, "said": 1.0, "stopped_true": sign,
            }  # fmt: skip
            for name in METHODS:
                value = {method: 0.5, "standing still": still}.get(name, 0.8)
                yield {"kind": "error", "seed": seed, "board": board, "method": name, "true": value, "stopped_true": value}


def test_every_claim_can_fail_and_hold():
    found = {claim.id: set() for claim in CLAIMS}
    for word, method, still in (("helps", "adaptive skips", 0.9), ("as good", "fixed steps", 2.0), ("helps", METHODS[-1], 2.0)):
        for sign in (1.0, -1.0):
            rows = [
                {**row, "true": sign, "stopped_true": sign} if row["kind"] == "verdict" else row
                for row in made_up(word, method, still)
            ]
            for claim in CLAIMS:
                found[claim.id].add(judge(claim, rows, "quick").verdict)
    for name, verdicts in found.items():
        assert {"holds", "does not hold"} <= verdicts, name


def test_methods_are_held_against_the_better_of_the_fixed_steps():
    rows = Rows(made_up("helps", "one step all the way", 2.0))
    assert below_fixed("adaptive skips", WAITING)(rows).value == pytest.approx(100 * (1 - 0.8 / 0.5))
    assert below_fixed("adaptive skips", ("nowhere",))(rows) is None
    assert {*CLOCKED, *WAITING} == set(MOTIONS)

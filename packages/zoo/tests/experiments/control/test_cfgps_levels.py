from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.cfgps_levels import EXPERIMENT
from mechlearn_zoo.experiments.control.cfgps_levels.library import drifting
from mechlearn_zoo.experiments.control.cfgps_levels.run import ARMS, run

SMALL = replace(
    EXPERIMENT.presets["quick"].config,
    levels=60, logged=20, steps=6, evidence=(0, 1, 6), updates=2, histories=3, draws=4, tested=20,
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    assert all(judge(claim, rows, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["evidence", "beliefs", "search"]
    assert rows.where(kind="final").values("arm") == [*ARMS, *ARMS]
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_without_evidence_the_error_is_the_models(rows):
    for row in rows.where(kind="evaluation", evidence=0):
        assert row["error"] == pytest.approx(row["model_error"], abs=1e-12)
        assert row["off"] is None


def test_the_other_arm_is_read_where_it_is_best():
    looks = [{"seed": 0, "kind": "training", "arm": "prior", "return": value} for value in (0.1, 0.4)]
    ends = [{"seed": 0, "kind": "final", "arm": arm, "return": v} for arm, v in (("prior", 0.2), ("counterfactual", 0.3))]
    claim = next(claim for claim in EXPERIMENT.claims if claim.id.endswith(".search"))
    judged = judge(claim, looks + ends, "quick")
    assert [part.measured for part in judged.parts] == pytest.approx([0.1, -0.1])
    assert judged.verdict == "does not hold so far"


def test_policies_drift_to_corners():
    assert all(torch.allclose(policy.sum(1), torch.ones(36, dtype=torch.float64)) for policy in drifting(6))

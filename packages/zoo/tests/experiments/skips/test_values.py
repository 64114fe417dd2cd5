from dataclasses import replace

import numpy as np
import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.skips.values import EXPERIMENT
from mechlearn_zoo.experiments.skips.values import run as values
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.funnel_board.places import reader

QUICK = EXPERIMENT.presets["quick"].config
SMALL = funnel_board.PRESETS["small"]


def test_returns_are_discounted_sums_of_rewards():
    boards = funnel_board.generate(4, 5, SMALL)
    reads = reader(SMALL, np.stack([path[-1] for path in boards.paths]))
    data = values.valued(boards, reads, 0.9)
    for b in range(4):
        rewards, returns = data.rewards[b].tolist(), data.returns[b].tolist()
        assert len(rewards) == len(data.frames[b]) - 1
        landed = reads.landed(data.frames[b])
        assert landed[-1]
        assert not landed[:-1].any()
        assert rewards[-1] == pytest.approx((boards.labels[b] + 1) / 4)
        for t in range(len(rewards)):
            assert returns[t] == pytest.approx(sum(0.9**i * r for i, r in enumerate(rewards[t:])), rel=1e-5)


def test_a_tiny_run_has_a_row_for_each_method(tmp_path):
    tiny = replace(QUICK, steps=2, evaluations=12, hidden=8, episodes=5, test_episodes=3, cache=str(tmp_path))
    rows = list(values.run(tiny))
    assert [row["method"] for row in rows] == list(QUICK.methods)
    assert all(row["spent"] >= 24 and row["error"] >= 0 for row in rows)
    assert EXPERIMENT.progress(tiny, rows[-1])[0] == 1.0
    assert list(values.run(replace(tiny, methods=("regression",)))) == rows[-1:]
    assert all(row["stopped_at"] in (0.5, 1.0) and row["stopped_error"] >= 0 for row in rows)
    assert all(row["stopped_error"] == row["error"] for row in rows if row["stopped_at"] == 1)


def test_looks_change_nothing_of_a_training(tmp_path, monkeypatch):
    tiny = replace(QUICK, steps=2, evaluations=12, hidden=8, episodes=5, test_episodes=3, cache=str(tmp_path))
    tiny = replace(tiny, methods=("asi", "regression"))
    looked = list(values.run(tiny))
    monkeypatch.setattr(values.EarlyStopping, "due", lambda *_: False)
    ends = [{name: value for name, value in row.items() if not name.startswith("stopped_")} for row in looked]
    assert list(values.run(tiny)) == ends != looked


def made_up(stopped=None, **errors):
    return Rows(
        {
            "seed": seed,
            "method": name.replace("_", "-"),
            "error": error + 0.01 * seed,
            "stopped_error": (stopped or errors)[name] + 0.01 * seed,
        }
        for seed in range(6)
        for name, error in errors.items()
    )


def test_claims_can_hold_and_fail():
    good = made_up(asi=0.2, fixed_3=0.9, fixed_6=0.4, regression=0.5)
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up(asi=0.9, fixed_3=0.8, fixed_6=2.0, regression=0.4)
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}
    constant = made_up(asi=1.0, fixed_3=4.0, fixed_6=8.0, regression=1.0)
    found = {claim.id.split(".")[1]: judge(claim, constant, "quick") for claim in EXPERIMENT.claims}
    assert {name: one.verdict for name, one in found.items()} == {
        "generalises": "does not hold",
        "over-regression": "does not hold",
    }
    early = made_up(
        {"asi": 0.2, "fixed_3": 0.1, "fixed_6": 0.4, "regression": 0.1}, asi=0.2, fixed_3=0.9, fixed_6=0.4, regression=0.5
    )
    one = next(judge(claim, early, "quick") for claim in EXPERIMENT.claims if claim.id == "skips-values.over-regression")
    assert (one.measured, one.verdict) == (pytest.approx(-0.1), "does not hold")  # it is ahead where validation stops it
    assert one.parts[0].measured == pytest.approx(0.3)
    assert list(EXPERIMENT.figures(good)) == ["values"]


def test_exact_cumulants_make_exact_values():
    """What a roll-out adds up from true sums and discounts is the return."""
    boards = funnel_board.generate(2, 5, SMALL)
    reads = reader(SMALL, np.stack([path[-1] for path in boards.paths]))
    data = values.valued(boards, reads, 0.9)
    cumulants = values.Cumulants(data.rewards, 0.9)
    for b in range(2):
        at, total = 0, torch.tensor([[0.0], [1.0]], dtype=torch.float64)
        while at < len(data.rewards[b]):
            end = min(at + 5, len(data.rewards[b]))
            total = cumulants.added(total, cumulants.over([b], [at], [end]))
            at = end
        assert float(total[0, 0]) == pytest.approx(float(data.returns[b][0]), rel=1e-5)

"""Capacity and data, at a size that trains nothing."""

from dataclasses import replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.skips.capacity import EXPERIMENT, measures
from mechlearn_zoo.experiments.skips.capacity import run as capacity


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    tiny = {"hidden": (2, 4), "episodes": (3, 6), "evaluations": 20, "batch": 2, "horizon": 3, "test_episodes": 3}
    return replace(EXPERIMENT.presets["quick"].config, **tiny, cache=str(tmp_path_factory.mktemp("boards")))


def test_rows_claims_and_figures(config):
    rows = [{**row, "seed": 100} for row in capacity.run(config)]
    cells = [(e, h, m) for e in (3, 6) for h in (2, 4) for m in ("asi", "fixed-6")]
    assert [(row["episodes"], row["hidden"], row["method"]) for row in rows] == cells
    assert all(row["spent"] >= 20 for row in rows)
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["capacity"]
    assert EXPERIMENT.progress(config, rows[-1])[0] == 1
    some = replace(config, hidden=(4,), methods=("fixed-6",))
    assert [{**row, "seed": 100} for row in capacity.run(some)] == [
        row for row in rows if row["hidden"] == 4 and row["method"] == "fixed-6"
    ]


def test_looks_change_nothing_of_a_training(config, monkeypatch):
    some = replace(config, hidden=(4,), episodes=(6,))
    looked = list(capacity.run(some))
    assert all(0 < row["stopped_at"] <= 1 and 0 <= row["stopped_accuracy"] <= 1 for row in looked)
    monkeypatch.setattr(capacity.EarlyStopping, "due", lambda *_: False)
    ends = [{name: value for name, value in row.items() if not name.startswith("stopped_")} for row in looked]
    assert list(capacity.run(some)) == ends != looked


def made_up(accuracy, stopped=None):
    return [
        {"seed": seed, "method": m, "hidden": h, "episodes": e, "frequent": 0.3, "accuracy": accuracy(m, h, e)}
        | {"stopped_accuracy": (stopped or accuracy)(m, h, e)}
        for seed in range(6) for m in ("asi", "fixed-6") for h in (8, 16, 32) for e in (100, 500)
    ]  # fmt: skip


def test_claims_can_hold_and_fail():
    good = made_up(lambda m, h, e: (0.7 if h > 8 else 0.3) if m == "asi" else 0.4)
    assert measures.smallest(Rows(good), "asi") == 16
    assert measures.smallest(Rows(good), "fixed-6") == 64  # twice the largest, as none reaches it
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    early = made_up(lambda m, h, e: (0.7 if h > 8 else 0.3) if m == "asi" else 0.4, lambda m, h, e: 0.7)
    found = [one for claim in EXPERIMENT.claims if (one := judge(claim, early, "quick")).parts]  # alike, if both stop
    assert {one.verdict for one in found} == {"does not hold"}
    assert {one.parts[0].measured > one.parts[1].measured for one in found} == {True}
    bad = made_up(lambda m, h, e: 0.4 if m == "asi" else 0.7)
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}
    alike = made_up(lambda m, h, e: 0.3)  # a constant
    assert {judge(claim, alike, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}

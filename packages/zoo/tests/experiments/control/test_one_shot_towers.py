from dataclasses import replace

import pytest
import torch

from claimlab import Halves, Rows, judge
from mechlearn_zoo.experiments.control.one_shot_towers import EXPERIMENT
from mechlearn_zoo.experiments.control.one_shot_towers.run import ARMS, examples, loop, run, split
from mechlearn_zoo.experiments.control.one_shot_towers.towers import demonstrate, expert, solved

SMALL = replace(EXPERIMENT.presets["quick"].config, blocks=4, updates=2, batch=6, units=4, draws=1, tested=5)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    assert all(judge(claim, rows, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["success", "film"]
    assert set(rows.where(kind="final").values("arm")) == set(ARMS)
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1


def test_a_flat_network_that_builds_nothing_remembers_nothing():
    (claim,) = (one for one in EXPERIMENT.claims if one.id == "one-shot-towers.flat")
    for seen, verdict in ((0.0, "does not hold"), (0.9, "holds")):
        built = {("attention", "unseen"): 1.0, ("flat", "unseen"): 0.0, ("flat", "seen"): seen}
        rows = [
            {"seed": seed, "kind": "final", "arm": arm, "tasks": tasks, "success": success, "stopped_success": success}
            for seed in range(6)
            for (arm, tasks), success in built.items()
        ]
        judged = judge(claim, Rows(rows), "quick")
        assert (judged.measured, judged.verdict) == (seen, verdict)


def test_an_arm_that_stops_early_is_asked_as_well():
    claims = {claim.id: claim for claim in EXPERIMENT.claims}
    built = {"attention": (0.9, 0.9), "snapshot": (0.8, 0.95), "blind": (0.0, 0.5)}
    rows = [
        {"seed": seed, "kind": "final", "arm": arm, "tasks": "unseen", "success": end, "stopped_success": best}
        for seed in range(6)
        for arm, (end, best) in built.items()
    ]
    for name, wanted in (("last-frame", -0.05), ("demonstration", 0.5)):
        judged = judge(claims[f"one-shot-towers.{name}"], Rows(rows), "quick")
        assert judged.measured == pytest.approx(wanted)
        assert judged.verdict == "does not hold"


def test_a_look_changes_nothing_of_a_training(rows, monkeypatch):
    looked = [row for row in rows.by("seed")[1000] if row["kind"] == "final"]
    assert all(row["stopped_at"] in (0.5, 0.75, 1.0) and 0 <= row["stopped_success"] <= 1 for row in looked)
    ends = [{k: v for k, v in row.items() if k != "seed" and not k.startswith("stopped_")} for row in looked]
    monkeypatch.setattr(Halves, "due", lambda *_: False)
    assert [row for row in run(replace(SMALL, seed=1000)) if row["kind"] == "final"] == ends


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_tasks_are_split_in_halves():
    seen, unseen = split(4, 3)
    assert len(seen) == len(unseen) == 36
    assert len(torch.cat([seen, unseen]).unique(dim=0)) == 72


def test_a_network_that_knows_the_task_builds_it():
    below = split(4, 0)[1][:12]

    def told(frames, present, state, blocks):
        mover, base = expert(state.round(decimals=3), below)
        found = torch.full((12, 4, 4), -50.0)
        found[torch.arange(12), mover, base] = 50.0
        return found

    states = loop("attention", told, below, replace(SMALL, noise=0.0), torch.Generator().manual_seed(0))
    assert solved(states[-1], below).all()


def test_examples_are_moves_of_the_expert():
    below = split(4, 0)[0][:20]
    shown, moves = examples("snapshot", below, replace(SMALL, noise=0.0), torch.Generator().manual_seed(0))
    mover, base = expert(shown.state, below)
    assert torch.equal(moves, mover * 4 + base)
    assert solved(shown.frames[:, 0], below).all()
    assert demonstrate(shown.state, below).present.any()

from dataclasses import replace

import pytest
import torch
from torch import Generator

from claimlab import Rows, judge
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.mazes.temporal import EXPERIMENT
from mechlearn_zoo.experiments.mazes.temporal.run import ARMS, KINDS, keep, make, one, run, shared, value
from mechlearn_zoo.tasks.finite.scenarios import GOAL, WALL, levels

SMALL = replace(EXPERIMENT.presets["quick"].config, levels=2, unseen=3, hidden=4, steps=6)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    assert all(judge(claim, rows, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["levels"]
    assert rows.by("seed")[1000].where(last=True).values("arm") == list(ARMS)
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1
    masked, placebo = (rows.where(arm=arm, last=True)["moved"] for arm in ("temporal-mask", "random-mask"))
    assert masked == placebo


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_what_is_shared_is_what_stands_there():
    drawn = levels(3, Generator().manual_seed(0))
    features = shared(drawn)
    for k in range(3):
        board, goal = drawn.picture[k].view(6, 6), divmod(int(drawn.goal[k]), 6)
        assert int(board[goal]) == GOAL
        for cell in range(36):
            row, column = divmod(cell, 6)
            way = [(goal[0] > row) - (goal[0] < row), (goal[1] > column) - (goal[1] < column)]
            assert features[k, cell, :2].tolist() == way
            for side, (down, right) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
                r, c = row + down, column + right
                kind = int(board[r, c]) if 0 <= r < 6 and 0 <= c < 6 else WALL
                assert int(features[k, cell, 2 + KINDS * side :][:KINDS].argmax()) == kind


def test_a_level_alone_has_the_value_it_has_among_all():
    worlds = make(3, SMALL, Generator().manual_seed(0))
    network = relu_mlp((worlds.features.shape[2], 4, 4), Generator().manual_seed(1))
    with torch.no_grad():
        together = value(network, worlds.processes, worlds.features)
        alone = torch.stack([value(network, *one(worlds, number)) for number in range(3)])
    torch.testing.assert_close(together, alone)
    assert bool((together <= worlds.best + 1e-9).all())


def test_a_random_mask_takes_steps_back():
    network = torch.nn.Linear(100, 100)
    before = [parameter.detach().clone() for parameter in network.parameters()]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1)
    keep(network, before, 0.3, Generator().manual_seed(0))
    moved = torch.cat([(new - old).detach().flatten() for new, old in zip(network.parameters(), before, strict=True)])
    assert sorted(set(moved.round().tolist())) == [0, 1]
    assert float(moved.mean()) == pytest.approx(0.3, abs=0.02)


def test_masked_gradients_are_adam_with_what_the_mask_leaves():
    config = replace(SMALL, arms=EXPERIMENT.presets["gradients"].config.arms, steps=40)
    found = Rows({"seed": 1000, **row} for row in run(config))
    assert found.where(last=True).values("arm") == ["adam", "temporal-mask", "gradient-mask"]
    assert EXPERIMENT.progress(config, found[-1])[0] == 1
    assert list(EXPERIMENT.figures(found)) == ["levels"]
    whole, gradients = (found.where(arm=arm, last=True)[0] for arm in ("temporal-mask", "gradient-mask"))
    assert 0 < gradients["moved"] < 1
    assert whole["seen"] != gradients["seen"]
    # Without a threshold either is Adam.
    open_ = Rows(run(replace(config, threshold=0.0))).where(last=True)["unseen"]
    assert open_[0] == open_[1] == open_[2]


def test_the_other_arm_is_read_where_it_is_best():
    found = Rows(
        {"seed": seed, "arm": arm, "step": step, "unseen": unseen, "last": step == 3}
        for seed in (0, 1)
        for arm, curve in {"temporal-mask": (0.9, 0.6, 0.7), "adam": (0.4, 0.6 + seed / 5, 0.5)}.items()
        for step, unseen in enumerate(curve, start=1)
    )
    claim = next(claim for claim in EXPERIMENT.claims if claim.id.endswith(".unseen"))
    judged = judge(claim, found, "quick")
    assert [part.measured for part in judged.parts] == pytest.approx([0.2, 0.0])
    assert judged.verdict == "does not hold so far"


def test_a_placebo_follows_its_mask():
    with pytest.raises(ValueError, match='before "random-mask"'):
        replace(SMALL, arms=("random-mask", "temporal-mask"))

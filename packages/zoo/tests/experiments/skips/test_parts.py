from dataclasses import replace

import numpy as np
import torch

from claimlab import Rows, judge
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.skips import Cumulants, Dynamics, Greedy, match, match_parts
from mechlearn_zoo.experiments.skips.parts import EXPERIMENT, two_balls
from mechlearn_zoo.experiments.skips.parts import run as parts
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.funnel_board.places import Places, Reader

QUICK = EXPERIMENT.presets["quick"].config
TINY = replace(QUICK, steps=1, evaluations=12, hidden=8, episodes=3, test_episodes=1)
SMALL = funnel_board.PRESETS["small"]


def test_two_balls_fall_through_one_board():
    falls = two_balls.draw(SMALL, "two", 8, 5)
    reads = Reader(Places.of(SMALL), falls.floor + 0.3, SMALL.geometry.platforms)
    width = falls.frames.frame_shape[0] // 2
    starts = [reads.places.found(each)[0] for each in falls.frames.first().split(width, dim=1)]
    assert ((starts[0] - starts[1]).abs() > 1).all()
    for k, last in enumerate(falls.frames.last().split(width, dim=1)):
        assert reads.landed(last).all()
        assert torch.equal(reads.platform(last), falls.labels[:, k])
    again = two_balls.draw(SMALL, "two", 8, 5)
    assert torch.equal(again.frames.frames, falls.frames.frames)


def test_twins_keep_step():
    falls = two_balls.draw(SMALL, "twins", 3, 5)
    width = falls.frames.frame_shape[0] // 2
    assert torch.equal(falls.frames.frames[:, :, :width], falls.frames.frames[:, :, width:])
    assert torch.equal(falls.labels[:, 0], falls.labels[:, 1])
    network = parts.Network(width, falls.layouts.shape[1], TINY, torch.Generator().manual_seed(0))
    clock = Cumulants.clock(falls.frames, 0.01)
    whole = match(
        Dynamics(network.both, BinaryCrossEntropyWithLogits(), falls.layouts, cumulants=clock), falls.frames, Greedy(5)
    )
    found = match_parts(parts._parts(network, falls.layouts, clock), falls.frames, Greedy(5))
    torch.testing.assert_close(found.loss, whole.loss)  # with twins nothing is gained and nothing lost
    assert all(torch.equal(each.matched, whole.matched) for each in found.parts.values())


def test_what_is_shown_is_where_a_ball_lands_first():
    reads = Reader(Places.of(SMALL), -4.0, SMALL.geometry.platforms)
    path = np.array([[-4.0, 3.0], [-4.0, -4.4], [4.0, -4.4]])
    frames = torch.stack([reads.places.frames(path), reads.places.frames(np.array([[0.0, 3.0]] * 3))])
    assert parts._shown(parts.Trajectories(frames, torch.tensor([3, 3])), reads).tolist() == [0, -1]


def test_a_tiny_run_has_a_row_for_each_world_and_method():
    rows = list(parts.run(replace(TINY, methods=("parts", "whole"))))
    assert [(row["world"], row["method"]) for row in rows] == [(w, m) for w in ("two", "twins") for m in ("parts", "whole")]
    assert all(row["spent"] >= 12 and 0 <= row["accuracy"] <= row["landed"] <= 1 for row in rows)
    assert all(0 < row["stopped_at"] <= 1 and 0 <= row["stopped_accuracy"] <= row["stopped_landed"] for row in rows)
    assert EXPERIMENT.progress(replace(TINY, methods=("parts", "whole")), rows[-1])[0] == 1.0


def test_looks_change_nothing_of_a_training(monkeypatch):
    train, validation, test = (two_balls.draw(SMALL, "two", 2, seed) for seed in (5, 6, 7))
    reads = Reader(Places.of(SMALL), train.floor + 0.3, SMALL.geometry.platforms)
    short = replace(TINY, steps=3)
    looked = parts._compared(short, "parts", train, [validation, test], reads)
    monkeypatch.setattr(parts.EarlyStopping, "due", lambda *_: False)
    ends = parts._compared(short, "parts", train, [validation, test], reads)
    assert {name: value for name, value in looked.items() if not name.startswith("stopped_")} == ends != looked


def made_up(accuracy, rollout, stopped=None):
    return Rows(
        {
            "seed": seed,
            "world": world,
            "method": method,
            "accuracy": accuracy(world, method) + 0.01 * seed,
            "skip": 4.0,
            "rollout": rollout(method),
            "stopped_accuracy": (stopped or accuracy)(world, method) + 0.01 * seed,
            "stopped_rollout": rollout(method),
        }
        for seed in range(6)
        for world in ("two", "twins")
        for method in QUICK.methods
    )


def test_claims_can_hold_and_fail():
    good = made_up(
        lambda world, method: 0.9 if method == "parts" or world == "twins" else 0.6,
        lambda method: 30 - 10 * (method == "parts"),
    )
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up(lambda world, method: 0.5 + 0.2 * (method == "parts") * (world == "twins"), lambda method: 30)
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}
    early = made_up(
        lambda world, method: 0.9 if method == "parts" or world == "twins" else 0.6,
        lambda method: 30 - 10 * (method == "parts"),
        lambda world, method: 0.9 if (method == "parts") == (world == "twins") else 0.6,
    )  # where validation stops both, whole frames are ahead with two balls, and parts with twins
    found = {claim.id: judge(claim, early, "quick") for claim in EXPERIMENT.claims}
    assert {name for name, one in found.items() if one.verdict == "holds"} == {"skips-parts.fewer"}
    assert list(EXPERIMENT.figures(good)) == ["parts"]

import pytest
import torch

from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, Memory, evaluate, rollout, scored
from mechlearn.trajectories import Trajectories

TRUE = Trajectories.from_list([torch.arange(6.0)[:, None], torch.arange(3.0)[:, None] * 2])


def brute(predicted, true):
    table = [[float(((p - x) ** 2).mean()) for x in true] for p in predicted]
    off = [min(row) for row in table[1:]]
    cover = [min(column) for column in zip(*table, strict=True)]
    return table[-1][-1], sum(off) / len(off), sum(cover) / len(cover)


def test_scores_are_those_of_the_literal_loops(monkeypatch):
    dynamics = Dynamics(lambda x: x * 1.1 + 1.7, SquaredError())
    wanted = rollout(dynamics, TRUE.first(), max_steps=3, stop=lambda frames: frames[:, 0] > 5)
    for pairs in (1 << 20, 1):
        monkeypatch.setattr("mechlearn.skips.evaluating._PAIRS", pairs)
        found = evaluate(dynamics, TRUE, max_steps=3, stop=lambda frames: frames[:, 0] > 5)
        for b, own in enumerate(TRUE):
            expected = brute(wanted.trajectories[b], own)
            assert [float(each[b]) for each in found[:3]] == pytest.approx(expected)
    assert found.right is None
    assert found.means() == pytest.approx(
        {
            "final": float(found.final.mean()),
            "off_path": float(found.off_path.mean()),
            "coverage": float(found.coverage.mean()),
            "evaluations": wanted.evaluations / 2,
        }
    )


def test_labels_are_read_off_both():
    found = evaluate(Dynamics(lambda x: x + 2, SquaredError()), TRUE, max_steps=2, read=lambda frames: bool(frames[-1] > 4))
    assert found.right.tolist() == [False, True]  # 4 for 5, 4 for 4
    assert found.means()["right"] == 0.5


def test_a_perfect_skipping_model_stays_on_the_path_and_covers_less():
    found = evaluate(Dynamics(lambda x: x + 2, SquaredError()), TRUE[[1]], max_steps=2)
    assert found.means() == {"final": 0.0, "off_path": 0.0, "coverage": 0.0, "evaluations": 2.0}
    skipping = evaluate(Dynamics(lambda x: x + 4, SquaredError()), TRUE[[1]], max_steps=1)
    assert skipping.off_path == 0
    assert skipping.coverage == pytest.approx(4 / 3)


def test_another_distance_and_pictures_in_bytes():
    frames = torch.randint(0, 256, (2, 4, 3, 5), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    x = Trajectories(frames, torch.tensor([4, 2]), 1 / 255)
    found = evaluate(Dynamics(lambda x: x, SquaredError()), x, max_steps=3, distance=SquaredError("sum"))
    plain = evaluate(Dynamics(lambda x: x, SquaredError()), x, max_steps=3)
    torch.testing.assert_close(found.final, plain.final * 15, rtol=1e-5, atol=0)


def test_roll_outs_of_others_are_refused():
    rolled = rollout(Dynamics(lambda x: x, SquaredError()), TRUE.first(), max_steps=2)
    with pytest.raises(ValueError, match=r"one roll-out of frames \(1,\) for each of 1 traj.*Found 2"):
        scored(rolled, TRUE[:1])


def test_frames_that_a_memory_is_shown_are_not_predicted():
    true = Trajectories.from_list([torch.arange(8.0)[:, None]])
    remembering = Dynamics(lambda x, state: (x + 1.5, state), SquaredError(), state=Memory(torch.zeros(1), frames=4))
    found = evaluate(remembering, true, max_steps=2)  # 4.5 and 6 behind 0 to 3
    assert found.rolled.given == 4
    assert float(found.off_path) == pytest.approx((0.25 + 0) / 2)


def test_a_reader_returns_one_label():
    dynamics = Dynamics(lambda x: x + 2, SquaredError())
    assert evaluate(dynamics, TRUE, max_steps=1, read=lambda frames: None).means()["right"] == 1  # both show none
    assert evaluate(dynamics, TRUE, max_steps=2, read=lambda frames: frames[-1] > 4).right.tolist() == [False, True]
    for several in (lambda frames: frames[:2, 0], lambda frames: frames[:2, 0].numpy()):
        with pytest.raises(TypeError, match=r"one label.*of shape \(2,\)"):
            evaluate(dynamics, TRUE, max_steps=2, read=several)

from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.skips.curve import EXPERIMENT, ball_motion
from mechlearn_zoo.experiments.skips.curve import run as skips_curve
from mechlearn_zoo.tasks.frames.funnel_board import SMALL, generate
from mechlearn_zoo.tasks.frames.funnel_board.rendering import to_pixels

TINY = replace(EXPERIMENT.presets["quick"].config, skips=(1, 3, 9), ahead=9, episodes=4, test_episodes=3, hidden=8, steps=5)


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return replace(TINY, cache=str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def rows(config):
    return list(skips_curve.run(config))


def test_one_row_for_each_skip_and_state(rows):
    assert [(row["skip"], row["state"]) for row in rows] == [(s, state) for s in (1, 3, 9) for state in ("slow", "fast")]
    assert all(row["rate"] == pytest.approx(row["error"] / 9) for row in rows)
    longest = [row for row in rows if row["skip"] == 9]
    assert all(row["step_rate"] == pytest.approx(row["rate"]) for row in longest)  # one step reaches as far


def test_networks_are_looked_at_and_the_looks_change_nothing(rows, config, monkeypatch):
    kept = {"stopped_at", "stopped_error", "stopped_rate", "stopped_step_rate"}
    assert all(kept < row.keys() for row in rows)
    last = [row for row in rows if row["stopped_at"] == 1]
    assert all(row[name] == row[name.removeprefix("stopped_")] for row in last for name in kept - {"stopped_at"})
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    without = list(skips_curve.run(config))
    assert without == [
        {name: value for name, value in row.items() if name not in kept}
        | {f"stopped_{name}": row[name] for name in ("error", "rate", "step_rate")}
        for row in rows
    ]


def test_a_network_is_kept_where_it_is_nearest_on_validation_boards(monkeypatch):
    boards, off = generate(4, 0, SMALL), iter([3.0, 1.0, 2.0, float("nan"), 1.0])
    monkeypatch.setattr(skips_curve, "errors", lambda *_: {"slow": torch.tensor([next(off)])})
    step, best, stopping = skips_curve.train(TINY, boards, 3, boards)
    assert stopping.row == {"stopped_at": 2 / 5}
    two = iter([3.0, 1.0, 2.0, 2.0, 2.0])
    monkeypatch.setattr(skips_curve, "errors", lambda *_: {"slow": torch.tensor([next(two)])})
    again = skips_curve.train(TINY, boards, 3, boards)[1]
    pairs = list(zip(best.network.parameters(), again.network.parameters(), step.network.parameters(), strict=True))
    assert all(torch.equal(one, other) for one, other, _ in pairs)
    assert not all(torch.equal(one, end) for one, _, end in pairs)


def test_claims_ask_the_curve_where_validation_stops_too():
    inside = EXPERIMENT.claims[0]
    ends, stopped = made_up((3, 2, 2.5), (2, 1, 4)), made_up((3, 2, 1), (2, 1, 4))
    both = [{**end, "stopped_rate": early["rate"]} for end, early in zip(ends, stopped, strict=True)]
    assert judge(inside, both, "quick").verdict == "does not hold so far"
    assert judge(inside, both, "quick").parts[0].low > 0.02
    assert judge(inside, ends, "paper").verdict == "holds so far"  # a record without looks


def test_errors_are_distances_in_world_units_after_the_steps():
    boards = generate(3, 0, SMALL)
    still = ball_motion.Step(torch.nn.Linear(21 * 17 + 4, 4).requires_grad_(False), torch.zeros(4))  # predicts no motion
    start, end = ball_motion.transitions(boards, 6)
    moved = (end.position - start.position).norm(dim=1) / SMALL.recording.pixels_per_unit
    found = skips_curve.errors(still, boards, 2, 3)
    assert len(found["slow"]) + len(found["fast"]) == len(moved)
    assert torch.cat([found["slow"], found["fast"]]).sum() == pytest.approx(float(moved.sum()), rel=1e-5)
    radius = SMALL.geometry.ball_radius * SMALL.recording.pixels_per_unit
    assert len(found["slow"]) == int((start.change.norm(dim=1) < radius).sum())


def test_transitions_span_their_skip():
    boards = generate(3, 0, SMALL)
    before, after = ball_motion.transitions(boards, 4)
    where = to_pixels(SMALL, boards.paths[0])
    assert torch.allclose(before.position[0].double(), torch.from_numpy(where[1]))
    assert torch.allclose(after.position[0].double(), torch.from_numpy(where[5]))
    assert torch.allclose(after.change[0].double(), torch.from_numpy(where[5] - where[4]), atol=1e-5)
    assert len(before.boards) == sum(len(path) - 5 for path in boards.paths)


def test_a_network_sees_the_board_around_the_ball():
    obstacles = torch.zeros(1, 6 + 36 + 14, 8 + 40 + 8)
    obstacles[0, 6 + 10, 8 + 20] = 1.0  # pixel (20, 10) of the board
    motion = ball_motion.Motion(torch.tensor([0]), torch.tensor([[20.5, 9.25]]), torch.tensor([[0.0, 2.0]]))
    seen = ball_motion.inputs(obstacles, motion, slice(None))[0]
    view = seen[:-4].reshape(21, 17)
    assert view.nonzero().tolist() == [[6 + 1, 8]]  # the row below the ball's, in its column
    assert seen[-4:].tolist() == [0.5, 0.25, 0.0, 1.0]


def made_up(slow, fast):
    return [
        {"seed": seed, "skip": skip, "state": state, "rate": rate}
        for seed in range(3)
        for state, rates in (("slow", slow), ("fast", fast))
        for skip, rate in zip((1, 3, 9), rates, strict=True)
    ]


def test_claims_on_made_up_curves():
    verdicts = [judge(claim, made_up((3, 2, 2.5), (2, 1, 4)), "quick").verdict for claim in EXPERIMENT.claims]
    assert verdicts == ["holds so far", "does not hold so far"]
    verdicts = [judge(claim, made_up((3, 2, 1), (2, 1, 4)), "quick").verdict for claim in EXPERIMENT.claims]
    assert verdicts == ["does not hold so far", "holds so far"]


def test_figure_and_progress(rows):
    assert list(EXPERIMENT.figures(Rows({"seed": 0, **row} for row in rows))) == ["rate"]
    assert EXPERIMENT.progress(TINY, rows[-1]) == (1.0, "skip 9")


def test_a_roll_out_that_blew_up_does_not_press_the_figure_flat():
    calm = [{**row, "step_rate": 1.0} for row in made_up((3, 2, 2.5), (2, 1, 4))]
    for rows in (calm, [*calm[1:], {**calm[0], "rate": 3000.0}]):
        right = EXPERIMENT.figures(Rows(rows))["rate"].axes[1]
        assert 4 < right.get_ylim()[1] <= 5


def test_a_size_without_settings_is_refused():
    with pytest.raises(TypeError, match="'huge'"):
        replace(TINY, size="huge")

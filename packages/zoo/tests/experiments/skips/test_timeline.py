import io
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from claimlab import Rows, judge
from mechlearn.skips import Matched
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing.training import make_model, make_world, train
from mechlearn_zoo.experiments.skips.timeline import EXPERIMENT, balls, figures, filmstrip, pictures
from mechlearn_zoo.experiments.skips.timeline import run as skips_timeline
from mechlearn_zoo.tasks.frames.funnel_board.rendering import to_pixels


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    tiny = replace(
        EXPERIMENT.presets["quick"].config, episodes=4, validation_episodes=2, test_episodes=3, timelines=1, evaluations=80,
        kernels=8, max_steps=3, cache=str(tmp_path_factory.mktemp("cache")),
    )  # fmt: skip
    return Rows({"seed": 0, **row} for row in skips_timeline.run(tiny))


def test_pictures_survive_a_row():
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    assert np.array_equal(pictures.decode(pictures.encode(picture)), picture)


def test_predictions_stand_at_later_and_later_frames(rows):
    true = [row for row in rows if row["kind"] == "true"]
    predicted = [row for row in rows if row["kind"] == "predicted"]
    assert [row["t"] for row in true] == list(range(len(true)))
    assert predicted[-1]["t"] == len(true) - 1
    assert all(before["t"] == after["from"] < after["t"] for before, after in itertools.pairwise(predicted))


def test_a_prediction_was_matched_with_the_frame_that_fits_best(rows):
    for row in (row for row in rows if row["kind"] == "predicted"):
        losses = json.loads(row["losses"])
        assert losses[row["t"] - row["from"] - 1] == min(losses)


def test_counts_of_matches_add_up(rows):
    (counts,) = (row for row in rows if row["kind"] == "skips")
    assert 0 < counts["slow_matched"] + counts["fast_matched"] <= counts["slow_frames"] + counts["fast_frames"]
    assert 1 <= counts["mean_skip"] <= counts["horizon"]


def test_the_animation_shows_every_frame_with_both_pictures(rows):
    animation = EXPERIMENT.figures(rows)["truth-and-prediction"]
    assert "stands still" in animation.caption
    image = Image.open(io.BytesIO(animation.gif))
    assert image.n_frames >= sum(row["kind"] == "true" for row in rows) // 2  # equal frames in a row are stored as one
    assert image.size == (6 * (40 + 4 + 40), 6 * 36)


def test_truth_and_prediction_are_told_apart_without_colour():
    """Words and lines differ where the pictures do not."""
    same = [np.full((20, 20, 3), 120, dtype=np.uint8)]
    (frame,) = pictures.side_by_side(same, same)
    left, right = frame[:, : 6 * 20], frame[:, 6 * 24 :]
    assert left.shape == right.shape == (6 * 20, 6 * 20, 3)
    assert (left[-2, 2:-2] == 0).all()  # a solid line
    dashed = (right[-2, :, 0] == 0).mean()
    assert 0.4 < dashed < 0.7
    assert (left[:20] != right[:20]).any()  # another word
    plain, other = (pictures.side_by_side(same, same, titles=titles)[0] for titles in (("a", "b"), ("a", "c")))
    assert (plain != other).any()


def test_figures_and_claims(rows):
    assert list(EXPERIMENT.figures(rows)) == ["timeline", "matches", "truth-and-prediction", "balls"]
    slow = {
        "kind": "skips", "slow_matched": 1, "slow_frames": 10, "fast_matched": 5, "fast_frames": 10, "mean_skip": 3.0,
        "ones": 0.6,
    }  # fmt: skip
    slow |= stopped(slow)
    made_up = [{"seed": seed, **slow} for seed in range(3)]
    verdicts = [judge(claim, made_up, "quick") for claim in EXPERIMENT.claims[:3]]
    assert [one.verdict for one in verdicts] == ["holds so far", "holds so far", "not measurable here"]
    of_room_runner = [judge(claim, made_up, "room-runner").verdict for claim in EXPERIMENT.claims[:3]]
    assert of_room_runner == ["not measurable here", "not measurable here", "holds so far"]
    assert verdicts[0].measured == pytest.approx(0.2)
    assert verdicts[1].measured == pytest.approx(0.4)
    steps_of_2 = [{**row, "mean_skip": 2.0, "ones": 0.0} for row in made_up]
    late = [{**row, "stopped_slow_matched": 4, "stopped_ones": 0.05} for row in made_up]
    both = [judge(claim, late, "quick").parts for claim in EXPERIMENT.claims[:2]]
    assert [early.measured for _, early in both] == pytest.approx([0.8, 0.05])
    assert judge(EXPERIMENT.claims[1], steps_of_2, "quick").verdict == "does not hold so far"


def stopped(row):
    """The columns of a row where validation stops, alike those at the end."""
    named = ("kind", "seed", "method", "matching", "at", "index")
    return {f"stopped_{key}": value for key, value in row.items() if key not in named}


def test_rows_have_what_validation_stops(rows):
    read = {"trained": "accuracy", "skips": "slow_matched", "fixed": "ones", "balls": "near"}
    for kind, key in read.items():
        assert any(f"stopped_{key}" in row for row in rows.where(kind=kind)), kind
    for row in rows.where(kind="balls"):
        assert "stopped_at" not in row  # it would stand in the place of where predictions are
    at_end = [row for row in rows if row.get("stopped_at", 0) >= 1]
    for row in at_end:
        assert row["stopped_accuracy"] == row["accuracy"]
    assert {0 < row["stopped_at"] <= 1 for kind in ("trained", "fixed") for row in rows.where(kind=kind)} == {True}


def test_looks_change_nothing_and_keep_the_best_weights(tmp_path):
    config = tiny_settings(tmp_path, episodes=2, evaluations=40, kernels=4)
    world = make_world(config, "train", 2)

    def trained(model, watch):
        next(train(config, "asi", model, lambda _: world, config.evaluations, watch=watch))
        return model.state_dict()

    model, alone = make_model(config, world), make_model(config, world)
    before, kept = torch.get_rng_state(), skips_timeline.Watched(config, model, world)
    looked, alone = trained(model, kept), trained(alone, None)
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(looked[name], alone[name]) for name in alone)
    assert 0 < kept.row["stopped_at"] <= 1
    again = skips_timeline.Watched(config, model, world)
    again.load_state_dict(kept.state_dict())
    assert again.row == kept.row
    assert all(torch.equal(again.best.state_dict()[name], value) for name, value in kept.best.state_dict().items())


def balls_of(seed, **numbers):
    """Rows of a seed as a run makes them, with the few numbers that claims read."""
    asi = {
        "with_ball": 0.9, "distance": 0.5, "near": 0.6, "near_random": 0.1, "near_stranger": 0.05, "near_still": 0.0,
        "slow": 100, "slow_to_ball": 60,
    }  # fmt: skip
    found = {"kind": "balls", "seed": seed, "method": "asi", "matching": "greedy", "at": "bounces"}
    counts = {"slow_frames": 10, "fast_frames": 10, "fast_matched": 5}
    rows = [
        {**counts, "kind": "skips", "seed": seed, "slow_matched": 1, "mean_skip": 3.0, "ones": 0.6},
        {**found, **asi, **numbers},
        {**counts, "kind": "fixed", "seed": seed, "matching": "greedy", "slow_matched": 3, "accuracy": 0.5},
        {**found, **asi, "method": "fixed", "near": 0.3},
    ]
    return [{**row, **stopped(row)} for row in rows]


BALLS = ("bounces-to-ball", "ball-placebo", "bouncing-control")


def failing(rows):
    """Which claims on balls do not hold."""
    claims = {claim.id: claim for claim in EXPERIMENT.claims}
    verdicts = {name: judge(claims[f"skips-timeline.{name}"], rows, "quick").verdict for name in BALLS}
    assert set(verdicts.values()) <= {"holds so far", "does not hold so far"}
    return {name for name, verdict in verdicts.items() if verdict == "does not hold so far"}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({}, set()),
        ({"with_ball": 0.4, "near": 0.35, "slow_to_ball": 35}, {"bounces-to-ball"}),
        ({"distance": 20.0, "near": 0.0, "slow_to_ball": 0}, {"bounces-to-ball", "ball-placebo"}),
        ({"near_random": 0.9}, {"ball-placebo"}),
        ({"near_stranger": 0.9}, {"ball-placebo"}),
        ({"near_still": 0.9}, {"ball-placebo"}),
    ],
)
def test_claims_on_balls_can_fail(numbers, expected):
    """Of a ball that fades, that stays where it is, or is where any would be."""
    assert failing(Rows(row for seed in range(3) for row in balls_of(seed, **numbers))) == expected


def test_what_has_no_balls_cannot_be_judged_on_them():
    without = Rows(row for seed in range(3) for row in balls_of(seed)[:1])
    untrained = Rows({**row, "accuracy": 0.0} for seed in range(3) for row in balls_of(seed))
    for claim in EXPERIMENT.claims[3:]:
        assert judge(claim, without, "quick").verdict == "not measurable here"
        opponent = claim.id == "skips-timeline.bouncing-control"
        assert (judge(claim, untrained, "quick").verdict == "not measurable here") == opponent


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tiny_settings(tmp_path_factory.mktemp("cache")), "test", 2)


def tiny_settings(cache, **changes):
    return replace(EXPERIMENT.presets["quick"].config, cache=str(cache), **changes)


@pytest.mark.parametrize("view", ["moving", "pixels"])
def test_balls_are_found_where_they_are(view, tmp_path):
    world = make_world(tiny_settings(tmp_path, view=view), "test", 2)
    path = to_pixels(world.episodes.settings, world.episodes.paths[1])
    found = balls.find_balls(world, 1, world.frames[1].float().numpy() / 255)
    assert np.abs(found.mass - np.pi).max() < (0.5 if view == "moving" else 1)  # a disc; in RGB its rim is mixed with the board
    off = np.linalg.norm(found.place - path, axis=1)
    clear = path[:, 1] < world.frames.frame_shape[1] - 8 if view == "pixels" else np.full(len(path), True)
    assert off[clear].max() < 0.15
    nothing = balls.find_balls(world, 1, np.zeros((1, *world.frames.frame_shape), dtype=np.float32))
    assert nothing.mass.item() == 0
    assert np.isnan(nothing.place).all()


def predicting(world, ends, shown):
    """Predictions of two episodes that show these frames, matched with those."""
    frames = torch.stack([world.frames[b][list(some)].float() / 255 for b, some in enumerate(shown)])
    matched = torch.tensor(ends)
    empty = torch.zeros(matched.shape)
    steps = torch.full((2,), matched.shape[1])
    skips = torch.diff(matched, prepend=torch.zeros(2, 1, dtype=matched.dtype), dim=1)
    predictions = Trajectories(torch.logit(frames, eps=1e-6), steps)
    return Matched(torch.zeros(()), empty.mean(1), empty, steps, skips, matched, empty > 0, 4, predictions)


def test_a_prediction_of_the_true_frame_is_at_the_ball_and_one_of_another_time_is_off_by_its_way(world):
    place = to_pixels(world.episodes.settings, world.episodes.paths[0])  # a radius is one pixel
    first, second = balls.aims(world, predicting(world, [[8, 20], [8, 20]], [[8, 16], [8, 20]]), 20)[0]
    assert (first.after, second.after) == (0, 1)
    assert first.distance == pytest.approx(0, abs=1e-3)
    assert first.mass == pytest.approx(1, abs=1e-3)
    assert len(first.window) == 20
    assert first.window[7] == first.distance
    assert first.still == pytest.approx(np.linalg.norm(place[8] - place[0]), abs=0.2)
    assert second.distance == pytest.approx(np.linalg.norm(place[20] - place[16]), abs=0.2)
    other = to_pixels(world.episodes.settings, world.episodes.paths[1])
    assert second.stranger == pytest.approx(np.linalg.norm(place[9:29] - other[20], axis=1).min(), abs=0.2)


def test_a_ball_that_has_faded_is_near_nothing(world):
    matched = predicting(world, [[8, 20], [8, 20]], [[8, 20], [8, 20]])
    faded = matched.predictions.frames.sigmoid() * 0.12
    dim = matched._replace(predictions=Trajectories(torch.logit(faded, eps=1e-6), matched.steps))
    (aim, _), _ = balls.aims(world, dim, 20)
    assert 0 < aim.mass < balls.ENOUGH
    assert (aim.clear, aim.distance, aim.window.min(), aim.stranger) == (0, np.inf, np.inf, np.inf)
    assert balls.sighting(aim)["distance"] is None
    summary = balls.summary([aim])
    assert (summary["with_ball"], summary["distance"], summary["near"], summary["near_random"]) == (0, None, 0, 0)


def test_slow_frames_left_out_are_told_by_what_the_prediction_shows():
    def aim(slow, distance, after=1):
        return balls.Aim(after, slow, 1.0, 1.0, distance, np.array([distance, 3.0]), 9.0, 9.0)

    some = [aim(3, 0.5), aim(2, 5.0), aim(4, np.inf), aim(1, 0.2), aim(5, 0.1, after=0)]
    bounces, elsewhere = balls.summaries([some])
    assert [bounces[name] for name in ("predictions", "slow", "slow_to_ball", "slow_astray", "slow_faded")] == [3, 9, 3, 2, 4]
    assert (elsewhere["predictions"], elsewhere["slow"], elsewhere["slow_to_ball"]) == (1, 1, 1)
    assert bounces["near"] == pytest.approx(1 / 3)
    assert bounces["near_random"] == pytest.approx(1 / 6)
    within = json.loads(bounces["near_random_within"])
    assert within[balls.GRID.index(3)] == pytest.approx(4 / 6, abs=1e-3)  # 2 of 2, 1 of 2, 1 of 2
    assert list(balls.summaries([])) == []


def test_rows_say_where_the_ball_is(rows):
    for row in rows.where(kind="predicted"):
        assert row["ball"] >= 0
        assert (row["distance"] is None) == (row["ball"] < balls.ENOUGH)
    assert {(row["method"], row["matching"]) for row in rows.where(kind="balls")} >= {("asi", "greedy"), ("fixed", "fixed")}
    (length,) = rows.where(kind="skips")["mean_skip"]
    assert set(rows.where(kind="fixed")["step"]) == {min(skips_timeline.FIXED, key=lambda step: abs(step - length))}


def test_a_seed_s_progress_goes_up(rows):
    config = EXPERIMENT.presets["quick"].config
    done = [skips_timeline.progress(config, row)[0] for row in rows]
    assert done == sorted(done)
    assert done[-1] == 1


def test_room_runner_has_a_timeline_too(tmp_path):
    tiny = replace(
        EXPERIMENT.presets["room-runner"].config, episodes=2, validation_episodes=1, test_episodes=1, timelines=1,
        evaluations=40, kernels=8, max_steps=3, cache=str(tmp_path),
    )  # fmt: skip
    rows = Rows({"seed": 0, **row} for row in skips_timeline.run(tiny))
    assert {row["kind"] for row in rows} == {"trained", "skips", "true", "predicted"}
    assert list(EXPERIMENT.figures(rows)) == ["timeline", "matches", "truth-and-prediction"]


def skip(before, after):
    return {"from": before, "t": after}


def test_a_portion_has_a_long_skip_in_its_middle_with_room_on_both_sides():
    shown = filmstrip.SHOWN
    predicted = [skip(0, 4), skip(4, 40), skip(40, 44), skip(44, 56), skip(56, 57)]
    start = filmstrip._portion(predicted, 80)  # 40 steps of a skip do not fit; the one from 44 to 56 does
    assert start < 44
    assert start + shown > 56
    assert (44 - start) - (start + shown - 1 - 56) in {-1, 0, 1}
    assert filmstrip._portion([skip(0, 30)], 31) == 4  # none fits: the middle of the longest


def test_the_most_accurate_seed_is_shown():
    seeds = enumerate((0.5, 0.9, 0.9))
    rows = Rows({"kind": "trained", "seed": seed, "accuracy": accuracy} for seed, accuracy in seeds)
    assert figures.most_accurate(rows) == 1


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="should"):
        replace(EXPERIMENT.presets["quick"].config, test_episodes=1)

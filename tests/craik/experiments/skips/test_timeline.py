import io
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from craik.experiments.skips.timeline import EXPERIMENT, figures, filmstrip, pictures
from craik.experiments.skips.timeline import run as skips_timeline
from craik.lab import Rows, judge


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    tiny = replace(
        EXPERIMENT.presets["quick"].config,
        episodes=4,
        test_episodes=3,
        timelines=1,
        evaluations=80,
        kernels=8,
        max_steps=3,
        cache=str(tmp_path_factory.mktemp("cache")),
    )
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
    assert list(EXPERIMENT.figures(rows)) == ["timeline", "matches", "truth-and-prediction"]
    slow = {
        "kind": "skips",
        "slow_matched": 1,
        "slow_frames": 10,
        "fast_matched": 5,
        "fast_frames": 10,
        "mean_skip": 3.0,
        "ones": 0.6,
    }
    made_up = [{"seed": seed, **slow} for seed in range(3)]
    verdicts = [judge(claim, made_up, "quick") for claim in EXPERIMENT.claims]
    assert [one.verdict for one in verdicts] == ["holds so far", "holds so far", "not measurable here"]
    of_room_runner = [judge(claim, made_up, "room-runner").verdict for claim in EXPERIMENT.claims]
    assert of_room_runner == ["not measurable here", "not measurable here", "holds so far"]
    assert verdicts[0].measured == pytest.approx(0.2)
    assert verdicts[1].measured == pytest.approx(0.4)
    steps_of_2 = [{**row, "mean_skip": 2.0, "ones": 0.0} for row in made_up]
    fixed = judge(EXPERIMENT.claims[1], steps_of_2, "quick")
    assert (fixed.verdict, fixed.earlier[0].verdict) == ("does not hold so far", "holds so far")


def test_room_runner_has_a_timeline_too(tmp_path):
    tiny = replace(
        EXPERIMENT.presets["room-runner"].config,
        episodes=2,
        test_episodes=1,
        timelines=1,
        evaluations=40,
        kernels=8,
        max_steps=3,
        cache=str(tmp_path),
    )
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

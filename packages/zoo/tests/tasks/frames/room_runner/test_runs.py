from dataclasses import replace

import numpy as np
import pytest

from mechlearn_zoo.tasks.frames.reading import NOTHING, read_sequence
from mechlearn_zoo.tasks.frames.room_runner import (
    HALF,
    PUBLISHED,
    SMALL,
    RunnerPhysics,
    generate,
    read_frames,
    runner_in_pixels,
)
from mechlearn_zoo.tasks.frames.room_runner.labels import room_masses
from mechlearn_zoo.tasks.frames.room_runner.runs import VERSION
from pinned import assert_pinned, assert_same_episodes


@pytest.fixture(scope="module")
def small():
    return generate(60, 3, SMALL)


@pytest.fixture(scope="module")
def published():
    return generate(3, 3)


@pytest.fixture(scope="module")
def half():
    return generate(40, 3, HALF)


def test_what_a_data_set_holds(small):
    time = len(small.paths[0])
    assert small.images.shape == (60, 3, 40, 40)
    assert small.pixels(0).shape == (time, 3, 40, 40)
    assert small.moving(0).shape == (time, 1, 40, 40)
    assert small.states(0).shape == (time, 4 + small.layouts.shape[1])
    assert set(small.labels.tolist()) == {0, 1}


def test_published_size(published):
    assert published.pixels(0).shape[1:] == (3, 64, 64)
    assert all(3 * (len(path) - 1) <= PUBLISHED.recording.max_steps + 9 for path in published.paths)


def test_half_of_the_pixels_are_of_the_same_walks(half, published):
    assert half.pixels(0).shape[1:] == (3, 32, 32)
    assert (half.labels[:3] == published.labels).all()
    for ours, theirs in zip(half.paths, published.paths, strict=False):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["small", "half", "published"])
def test_labels_are_read_right_from_every_true_sequence(name, request):
    runs = request.getfixturevalue(name)
    for index, label in enumerate(runs.labels):
        frames, image = runs.pixels(index), runs.images[index][None]
        assert read_sequence(read_frames(runner_in_pixels(frames), image, runs.settings)) == label
        assert read_sequence(read_frames(runner_in_pixels(frames), frames[:1], runs.settings)) == label
        assert read_sequence(read_frames(runs.moving(index)[:, 0], image, runs.settings)) == label


def test_the_other_room_is_never_entered(small):
    for index, label in enumerate(small.labels):
        masses = room_masses(small.moving(index)[:, 0], small.images[index][None], SMALL)
        assert masses[:, 1 - label].max() < 0.1


def test_nothing_is_read_from_a_first_frame(small):
    first = np.stack([small.moving(index)[0, 0] for index in range(len(small))])
    assert (read_frames(first, small.images, SMALL) == NOTHING).all()


def test_colours_as_published(small):
    colours = {tuple(colour) for colour in small.images[0].reshape(3, -1).T.tolist()}
    assert {(255, 255, 255), (38, 38, 38), (255, 128, 128), (128, 128, 255), (230, 242, 255)} <= colours
    runner = small.moving(0)[0, 0] == 255
    assert runner.any()
    assert {tuple(colour) for colour in small.pixels(0)[0][:, runner].T.tolist()} == {(0, 204, 0)}


def test_runners_that_noise_throws_out_are_counted():
    noisy = generate(2, 0, replace(SMALL, physics=RunnerPhysics(acceleration_noise=20.0)))
    assert len(noisy) == 2
    assert noisy.rejections["left the building"] > 0


def test_the_cache_gives_the_same_runs(tmp_path):
    made, read = (generate(3, 1, SMALL, cache=tmp_path) for _ in range(2))
    assert_same_episodes(made, read)
    assert len(list(tmp_path.glob("room-runner-3-*.npz"))) == 1


def test_who_changes_the_draws_raises_the_version():
    first = generate(2, 0, SMALL)
    arrays = (first.images // 16, first.layouts, first.paths[0], first.paths[1], first.labels)
    assert_pinned(VERSION, arrays, (1, "346dfe5a"), pymunk="7.3.1")

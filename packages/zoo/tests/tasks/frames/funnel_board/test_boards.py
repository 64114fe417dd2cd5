from collections import Counter

import numpy as np
import pytest

from mechlearn_zoo.tasks.frames.funnel_board import HALF, SMALL, FallRecording, ball_in_pixels, generate, read_frames
from mechlearn_zoo.tasks.frames.funnel_board.boards import VERSION
from mechlearn_zoo.tasks.frames.funnel_board.labels import platform_masses
from mechlearn_zoo.tasks.frames.funnel_board.rendering import to_pixels
from mechlearn_zoo.tasks.frames.reading import NOTHING, read_sequence
from pinned import assert_pinned, assert_same_episodes


@pytest.fixture(scope="module")
def small():
    return generate(100, 7, SMALL)


@pytest.fixture(scope="module")
def published():
    return generate(5, 7)


@pytest.fixture(scope="module")
def half():
    return generate(40, 7, HALF)


def test_what_a_data_set_holds(small):
    assert len(small) == 100
    assert small.images.shape == (100, 3, 36, 40)
    assert small.pixels(0).shape == (len(small.paths[0]), 3, 36, 40)
    assert small.moving(0).shape == (len(small.paths[0]), 2, 36, 40)
    assert small.states(0).shape == (len(small.paths[0]), 4 + small.layouts.shape[1])
    assert small.pixels(0).dtype == small.moving(0).dtype == np.uint8
    assert set(Counter(small.labels.tolist())) == {0, 1, 2, 3}


def test_published_size(published):
    assert published.pixels(0).shape[1:] == (3, 126, 75)
    assert all(3 * len(path) <= 750 + 3 for path in published.paths)


def test_half_of_the_pixels_are_of_the_same_falls(half, published):
    assert half.pixels(0).shape[1:] == (3, 63, 38)
    assert (half.labels[:5] == published.labels).all()
    for ours, theirs in zip(half.paths, published.paths, strict=False):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["small", "half", "published"])
def test_labels_are_read_right_from_every_true_sequence(name, request):
    boards = request.getfixturevalue(name)
    for index, label in enumerate(boards.labels):
        assert read_sequence(read_frames(ball_in_pixels(boards.pixels(index)), boards.settings)) == label
        assert read_sequence(read_frames(boards.moving(index)[:, 0], boards.settings)) == label


def test_no_frame_says_anything_before_the_last_funnel_is_left(small):
    for index in range(30):
        frames = read_frames(small.moving(index)[:, 0], SMALL)
        assert np.all(small.paths[index][frames != NOTHING, 1] < -3)


def test_a_faint_ball_is_no_ball():
    ball = np.zeros((36, 40))
    ball[32:34, 12:14] = 0.29
    assert platform_masses(ball, SMALL).sum() == 0
    assert read_frames(ball, SMALL) == NOTHING
    ball[32:34, 12:14] = 0.8
    assert read_frames(ball, SMALL) == 1
    assert read_sequence(np.array([NOTHING, 2, 1])) == 2
    assert read_sequence(np.array([NOTHING])) == NOTHING


def test_ball_and_trace_are_where_they_were(small):
    moving = small.moving(3)
    where = to_pixels(SMALL, small.paths[3])
    assert np.abs(centres(moving[:, 0]) - where)[whole(where)].max() < 0.2
    assert np.abs(centres(moving[1:, 1]) - where[:-1])[whole(where[:-1])].max() < 0.2
    assert moving[0, 1].sum() == 0


def centres(images):
    rows, columns = np.indices(images.shape[1:]) + 0.5
    share = images / images.sum(axis=(1, 2), keepdims=True, dtype=float)
    return np.stack([(share * columns).sum(axis=(1, 2)), (share * rows).sum(axis=(1, 2))], axis=1)


def whole(where):
    """Where the picture's edge cuts nothing off."""
    return (where[:, 1] > 2) & (where[:, 1] < 34)


def test_colours_as_published(small, published):
    platforms = small.images[0][:, -1, [5, 15, 25, 35]]
    assert (platforms > 200).T.tolist() == [
        [False, True, False],
        [True, True, False],
        [True, False, False],
        [True, False, True],
    ]
    ball, trace = published.moving(0)[6]
    frame = published.pixels(0)[6]
    white = (published.images[0] == 255).all(axis=0)
    still = white & (ball == 0) & (trace == 0)
    assert np.array_equal(frame[:, still], published.images[0][:, still])
    assert frame[:, white & (ball == 255)].T.tolist() == [[0, 0, 255]] * int((white & (ball == 255)).sum())
    behind = white & (trace == 255) & (ball == 0)
    assert behind.any()
    assert frame[:, behind].T.tolist() == [[85, 255, 255]] * int(behind.sum())  # cyan


def test_states_hold_position_change_and_layout(small):
    states = small.states(5)
    assert np.array_equal(states[:, :2], small.paths[5])
    assert np.allclose(states[1:, 2:4], np.diff(small.paths[5], axis=0))
    assert np.array_equal(states[3, 4:], small.layouts[5])


def test_the_cache_gives_the_same_boards(tmp_path):
    told = []
    made, read = (generate(3, 1, SMALL, cache=tmp_path, on_progress=lambda *state: told.append(state)) for _ in range(2))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert_same_episodes(made, read)
    other = generate(3, 1, SMALL.perturbed(), cache=tmp_path)
    assert len(list(tmp_path.glob("funnel-board-3-*.npz"))) == 2
    assert np.array_equal(other.images, made.images)  # the same boards, other falls


def test_who_changes_the_draws_raises_the_version():
    first = generate(2, 0, SMALL)
    arrays = (first.images // 16, first.layouts, first.paths[0][:12], first.paths[1][:12], first.labels)
    assert_pinned(VERSION, arrays, (1, "a0aac769"), pymunk="7.3.1")


def test_processes_change_nothing():
    alone, together = (generate(4, 9, SMALL, processes=processes) for processes in (1, 2))
    assert_same_episodes(alone, together)


def test_rejections_are_counted_and_too_many_are_an_error():
    from dataclasses import replace

    assert sum(generate(10, 0).rejections.values()) > 0
    with pytest.raises(RuntimeError, match=r"accepted within 5 rejections\. Found timed out \(6\)"):
        generate(1, 0, replace(SMALL, recording=FallRecording(4, max_steps=10)), max_rejections=5)

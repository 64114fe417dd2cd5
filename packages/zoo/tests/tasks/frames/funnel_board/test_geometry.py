import itertools
from dataclasses import replace

import numpy as np
import pytest

from mechlearn_zoo.tasks.frames.funnel_board import PUBLISHED, SMALL, BallPhysics, BoardGeometry, FallRecording
from mechlearn_zoo.tasks.frames.funnel_board.geometry import (
    FUNNEL_POINTS,
    Funnel,
    Slider,
    funnel_outlines,
    layout_vector,
    places,
    platform_outline,
    sample_board,
    slider_outline,
)

BOARDS = [sample_board(PUBLISHED, np.random.default_rng(seed)) for seed in range(200)]


def test_published_places():
    rows = {row: [x for r, _, x in places(PUBLISHED.geometry) if r == row] for row in (0, 1, 6)}
    assert rows == {0: [-5, -2.5, 0, 2.5, 5], 1: [-3.75, -1.25, 1.25, 3.75], 6: [-5, -2.5, 0, 2.5, 5]}
    assert PUBLISHED.shape == (126, 75)
    assert SMALL.shape == (36, 40)
    assert (PUBLISHED.geometry.platforms, SMALL.geometry.platforms) == (5, 4)


def test_every_place_has_its_slider_and_its_chance_of_a_funnel():
    funnels = [funnel is not None for board in BOARDS for funnel in board.funnels[PUBLISHED.geometry.platforms :]]
    assert {len(board.sliders) for board in BOARDS} == {3 * 4 + 3 * 5}
    assert {len(board.funnels) for board in BOARDS} == {3 * 4 + 3 * 5}
    assert np.mean(funnels) == pytest.approx(0.7, abs=0.03)
    assert all(funnel is not None for board in BOARDS for funnel in board.funnels[: PUBLISHED.geometry.platforms])


def test_published_ranges():
    sliders = [slider for board in BOARDS for slider in board.sliders]
    funnels = [funnel for board in BOARDS for funnel in board.funnels if funnel is not None]
    angles = np.abs([slider.angle for slider in sliders])
    gaps = np.array([funnel.gap for funnel in funnels]) / PUBLISHED.geometry.ball_radius
    assert np.pi / 24 <= angles.min() < 0.15
    assert 0.6 < angles.max() <= np.pi / 5
    assert 2.09 <= gaps.min() < 2.1
    assert 2.19 < gaps.max() <= 2.2
    assert {funnel.restitution for funnel in funnels} == {0.02, 0.6}
    assert np.mean([funnel.restitution == 0.6 for funnel in funnels]) == pytest.approx(0.5, abs=0.03)


def test_sliders_at_the_edges_lead_inwards():
    for board in BOARDS:
        for slider in board.sliders:
            assert slider.x > -5 or slider.angle < 0
            assert slider.x < 5 or slider.angle > 0


def test_the_released_generator_never_starts_at_the_left():
    assert {board.start for board in BOARDS} == {(x, 9.5) for x in (-2.5, 0, 2.5, 5)}
    anywhere = [
        sample_board(replace(PUBLISHED, geometry=BoardGeometry(starts="all")), np.random.default_rng(seed)).start[0]
        for seed in range(50)
    ]
    assert set(anywhere) == {-5, -2.5, 0, 2.5, 5}


def test_a_perturbed_board_differs_in_restitution_alone():
    for seed in range(5):
        board, perturbed = (
            sample_board(settings, np.random.default_rng(seed)) for settings in (PUBLISHED, PUBLISHED.perturbed())
        )
        assert perturbed.sliders == board.sliders
        for before, after in zip(board.funnels, perturbed.funnels, strict=True):
            assert (before is None) == (after is None)
            assert before is None or after == before._replace(restitution=0.02)
    assert PUBLISHED.perturbed().physics.ball_restitution == 0.05


def test_a_slider_is_a_turned_rectangle():
    corners = slider_outline(Slider(1.0, 2.0, 1.5, np.pi / 2))
    assert np.ptp(corners, axis=0) == pytest.approx([0.2, 1.5])
    assert corners.mean(axis=0) == pytest.approx([1, 2])
    rising = slider_outline(Slider(0, 0, 1.5, 0.3))
    assert rising[np.argmax(rising[:, 0]), 1] > 0 > rising[np.argmin(rising[:, 0]), 1]


def test_a_funnel_is_open_at_the_bottom_by_its_gap_and_wide_at_the_top():
    outlines = funnel_outlines(Funnel(1.0, 2.0, 0.54, 1.5, 0.2, 0.6))
    assert len(outlines) == 2 * (FUNNEL_POINTS - 1)
    points = outlines.reshape(-1, 2)
    assert np.ptp(points[:, 1]) == pytest.approx(1.5)
    bottom = points[np.isclose(points[:, 1], points[:, 1].min())][:, 0]
    assert min(bottom[bottom > 1]) - max(bottom[bottom < 1]) == pytest.approx(0.54)
    assert np.ptp(points[:, 0]) == pytest.approx(1.1 * 2.5)


def test_quadrilaterals_of_a_wall_join():
    wall = funnel_outlines(Funnel(0, 0, 0.54, 1.5, 0.2, 0.6))[FUNNEL_POINTS - 1 :]
    for lower, upper in itertools.pairwise(wall):
        assert np.allclose(lower[[1, 2]], upper[[0, 3]])


def test_platforms_lie_in_the_picture_below_the_fall():
    outline = platform_outline(SMALL.geometry, 1.0)
    assert outline[:, 1].max() == pytest.approx(-4.5 - 0.26)
    assert outline[:, 1].min() > -5


def test_layouts_have_one_length_and_tell_what_is_absent():
    layouts = np.array([layout_vector(PUBLISHED, board) for board in BOARDS[:20]])
    assert layouts.shape == (20, 27 * 2 + 27 * 6)
    present = layouts[:, 54::6]
    assert set(np.unique(present)) == {0, 1}
    for board, row in zip(BOARDS, present, strict=False):
        assert row.tolist() == [float(funnel is not None) for funnel in board.funnels]


@pytest.mark.parametrize(
    ("bundle", "changes", "rule"),
    [
        (BoardGeometry, {"columns": 5}, "`columns` should be at most 4"),
        (BoardGeometry, {"rows": 0}, "`rows` should be at least 1"),
        (BoardGeometry, {"funnel_probability": 1.2}, r"`funnel_probability` should lie in \[0, 1\]"),
        (BoardGeometry, {"columns": 1, "rows": 3}, '`starts` should be "all" where the top row has one place'),
        (BallPhysics, {"time_step": 0.0}, "`time_step` should be positive"),
        (BallPhysics, {"substeps": 0}, "`substeps` should be at least 1"),
        (FallRecording, {"frame_every": 0}, "`frame_every` should be at least 1"),
        (BoardGeometry, {"gap": (2.2, 2.1)}, "`gap` should be a range"),
        (BoardGeometry, {"ball_radius": 1.25}, "`ball_radius` should be positive and below"),
    ],
)
def test_bad_settings_are_refused(bundle, changes, rule):
    with pytest.raises(ValueError, match=rule):
        bundle(**changes)


@pytest.mark.usefixtures("as_installed")
def test_starts_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match=r"`starts` should be \"released\" or \"all\". Found 'every'"):
        BoardGeometry(starts="every")

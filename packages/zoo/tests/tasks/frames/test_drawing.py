import numpy as np
import pytest

from mechlearn_zoo.tasks.frames.drawing import boxes_coverage, discs_coverage, over, polygons_coverage, to_uint8

SQUARE = np.array([(1, 1), (3, 1), (3, 2), (1, 2)], dtype=float)


def test_a_polygon_covers_its_pixels_in_either_direction():
    expected = np.zeros((4, 5))
    expected[1, 1:3] = 1
    for vertices in (SQUARE, SQUARE[::-1]):
        assert np.array_equal(polygons_coverage([vertices[None]], 4, 5), expected)


def test_overlapping_polygons_cover_as_their_union():
    half = np.array([(0, 0), (0.5, 0), (0.5, 1), (0, 1)])
    assert polygons_coverage([np.stack([half, half])], 1, 1)[0, 0] == 0.5
    assert polygons_coverage([half[None], half[None] + (0.5, 0)], 1, 1)[0, 0] == 1


def test_a_triangle_covers_half_of_its_box():
    triangle = np.array([(0, 0), (40, 0), (0, 40)], dtype=float)
    assert polygons_coverage([triangle[None]], 40, 40).mean() == pytest.approx(0.5, abs=0.01)


def test_what_lies_outside_is_cut_off():
    assert polygons_coverage([SQUARE[None] - 10], 4, 5).sum() == 0
    assert polygons_coverage([np.stack([SQUARE + np.array([3, 0]), SQUARE - 10])], 4, 5).sum() == 1


def test_a_disc_has_its_area_wherever_it_lies():
    centres = np.random.default_rng(0).uniform(5, 15, size=(50, 2))
    areas = discs_coverage(centres, 3.0, 20, 20).sum(axis=(1, 2))
    assert np.abs(areas / (np.pi * 9) - 1).max() < 0.02


def test_a_disc_lies_where_it_is_put():
    image = discs_coverage(np.array([[7.0, 3.0]]), 2.0, 10, 20)[0]
    rows, columns = np.indices(image.shape) + 0.5
    assert (image * columns).sum() / image.sum() == pytest.approx(7)
    assert (image * rows).sum() / image.sum() == pytest.approx(3)


def test_a_box_covers_exactly():
    image = boxes_coverage(np.array([[2.25, 1.5]]), 0.5, 3, 4)[0]
    assert image[1].tolist() == [0, 0.25, 0.75, 0]
    assert image[[0, 2]].sum() == 0


def test_over_mixes_and_keeps_frames_apart():
    white = np.ones((3, 1, 2), dtype=np.float32)
    coverage = np.array([[[0.0, 1.0]], [[0.5, 0.0]]], dtype=np.float32)
    mixed = over(white, coverage, (0.0, 0.0, 1.0))
    assert mixed.shape == (2, 3, 1, 2)
    assert mixed[0, :, 0].T.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert mixed[1, :, 0].T.tolist() == [[0.5, 0.5, 1], [1, 1, 1]]
    assert to_uint8(mixed[1, :, 0, 0]).tolist() == [128, 128, 255]

import matplotlib as mpl
import numpy as np
import pytest

from claimlab.drawing import COLOURS, Animation, band, colour, house_style, panels


def test_the_style_holds_nowhere_else():
    before = dict(mpl.rcParams)
    _, (axes,) = panels(caption="A caption.")
    band(axes, [0, 1], [[1, 2]], "walk", COLOURS["ours"])
    axes.legend()
    assert dict(mpl.rcParams) == before
    with house_style():
        assert mpl.rcParams["axes.spines.top"] is False
    assert dict(mpl.rcParams) == before


def test_a_band_shows_median_and_spread():
    _, (axes,) = panels()
    band(axes, [0, 1], [[1, 2], [3, 4], [8, 9]], "walk", "black")
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [3, 4])
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1, 9)


def test_a_narrower_band_holds_the_middle_half():
    _, (axes,) = panels()
    band(axes, [0, 1], [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]], "walk", "black", spread="quartiles")
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1, 3)


@pytest.mark.parametrize("shape", [(20,), (5, 19), (20, 5)])
def test_a_band_refuses_curves_that_do_not_fit(shape):
    _, (axes,) = panels()
    with pytest.raises(ValueError, match=r"\(seeds, points\)"):
        band(axes, np.arange(20), np.zeros(shape), "walk", "black")


def test_panels_come_row_by_row():
    figure, axes = panels(3, 2)
    assert figure.axes == axes
    assert len(axes) == 6


def test_colours_come_round_and_differ():
    assert len({colour(index) for index in range(6)}) == 6
    assert colour(6) == colour(0)


def test_what_is_no_gif_is_refused():
    with pytest.raises(ValueError, match=r"should be the bytes of a GIF\. Found b'<svg>'"):
        Animation("A walk.", b"<svg>")

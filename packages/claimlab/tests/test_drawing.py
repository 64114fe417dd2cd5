import dataclasses

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from claimlab import Rows
from claimlab.drawing import COLOURS, Animation, band, colour, house_style, panels
from claimlab.errors import LabError
from claimlab.experiment import load
from claimlab.running.pictures import draw, svg


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


@pytest.fixture
def drawing(package):
    """The counting walk with figures of its own."""
    experiment = load("counter-walk", package)
    return lambda **figures: dataclasses.replace(experiment, figures=lambda rows: figures)


def picture() -> Figure:
    figure, (axes,) = panels(caption="A caption.")
    band(axes, np.arange(20), np.random.default_rng(0).normal(size=(5, 20)).cumsum(axis=1), "walk", COLOURS["ours"])
    axes.imshow(np.eye(4), clip_on=True)
    axes.legend()
    return figure


def test_the_same_figure_gives_the_same_bytes():
    first, second = svg(picture()), svg(picture())
    assert first == second
    assert b"<dc:date>" not in first


def test_what_is_no_figure_is_refused(drawing, tmp_path):
    with pytest.raises(LabError, match="Found a str for 'walk'"):
        draw(drawing(walk="a picture"), Rows(), tmp_path)


def test_of_figures_of_which_one_cannot_be_drawn_none_is_written(drawing, tmp_path):
    with pytest.raises(LabError, match="Found a int for 'other'"):
        draw(drawing(walk=picture(), other=3), Rows(), tmp_path)
    assert not (tmp_path / "figures").exists()


def test_animations_stand_beside_the_figures_and_stale_ones_go(drawing, tmp_path):
    (one,) = draw(drawing(walk=Animation("A walk.", b"GIF89a")), Rows(), tmp_path)
    assert (one.file, one.caption) == ("figures/walk.gif", "A walk.")
    assert (tmp_path / one.file).read_bytes() == b"GIF89a"
    draw(drawing(other=Animation("Another.", b"GIF89a")), Rows(), tmp_path)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["other.gif"]

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

from claimlab import Rows
from claimlab.drawing import COLOURS, Animation, band, panels
from claimlab.errors import LabError
from claimlab.experiment import load
from claimlab.running.pictures import draw, svg


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

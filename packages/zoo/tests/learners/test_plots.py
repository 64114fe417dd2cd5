"""What the shared plots draw: the numbers that rows hold, where they belong."""

import numpy as np
import pytest

from claimlab import COLOURS, Rows, house_style, panels
from mechlearn_zoo.learners.plots import columns, curves, first_seed, legend_below, level, lines_of_dots, picture, table

ROWS = Rows(
    {"seed": seed, "method": method, "step": step, "error": step + seed + 10 * (method == "b")}
    for seed in (0, 1, 2)
    for method in ("a", "b")
    for step in (0, 10)
)


@pytest.fixture
def drawn():
    with house_style():
        figure, (axes,) = panels()
        yield figure, axes


def test_curves_are_medians_over_seeds(drawn):
    _, axes = drawn
    curves(axes, ROWS, "step", "error", "method", {"b": ("other", "baseline"), "none": ("absent", "ours")}, per=10)
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[0.0, 11.0], [1.0, 21.0]]
    assert (line.get_label(), line.get_color()) == ("other", COLOURS["baseline"])


@pytest.mark.parametrize("bars", [False, True])
def test_columns_have_a_dot_a_seed_series_side_by_side(drawn, bars):
    _, axes = drawn
    columns(axes, ("x", "y"), {("one", "ours"): [[1.0, 3.0], []], ("", "#123456"): [[2.0], [4.0]]}, bars=bars)
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1.0, 3.0], [], [2.0], [4.0]]
    assert axes.lines[0].get_xdata()[0] < axes.lines[2].get_xdata()[0]
    assert [bar.get_height() for bar in axes.patches] == ([2.0, 2.0, 4.0] if bars else [])
    assert axes.get_legend_handles_labels()[1] == ["one"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["x", "y"]


def test_lines_of_dots_go_from_the_top_with_a_bar_at_the_median(drawn):
    _, axes = drawn
    lines_of_dots(axes, {"first": ([1.0, 2.0, 6.0], "ours"), "none": ([], "third")})
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["none", "first"]
    empty, dots, bar = axes.lines
    assert len(empty.get_xdata()) == 0
    assert set(dots.get_ydata()) == {1}
    assert set(bar.get_xdata()) == {2.0}


def test_a_table_has_its_numbers_in_the_cells_and_nothing_where_there_is_none(drawn):
    _, axes = drawn
    image = table(axes, np.array([[0.0, 1.0], [np.nan, 0.5]]), ("a", "b"), (1, 2), "Greys", (0, 1))
    assert [(text.get_text(), text.get_color()) for text in axes.texts][:2] == [("0.00", COLOURS["ink"]), ("1.00", "white")]
    assert len(axes.texts) == 3
    assert image.get_clim() == (0, 1)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["1", "2"]


def test_pictures_levels_and_legends(drawn):
    figure, axes = drawn
    picture(axes, np.zeros((2, 2)), "title", framed=True)
    assert (len(axes.get_xticks()), axes.get_title("left") or axes.get_title()) == (0, "title")
    assert all(spine.get_visible() for spine in axes.spines.values())
    level(axes, 0.5, "chance")
    level(axes, 0.2, upright=True)
    assert axes.lines[0].get_ydata() == [0.5, 0.5]
    assert axes.lines[1].get_xdata() == [0.2, 0.2]
    legend_below(figure, axes, 1)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["chance"]


def test_the_first_seed_s_rows():
    assert set(first_seed(ROWS)["seed"]) == {0}
    assert first_seed(Rows([{"x": 1}])) == Rows([{"x": 1}])
    assert len(first_seed(Rows())) == 0

import operator

import numpy as np
import pytest

from mechlearn_zoo.tasks.generation import Rejected, draw_many, progress_bar


def even_numbers(generator):
    number = int(generator.integers(1000))
    return Rejected("odd") if number % 2 else number


def never(generator):
    return Rejected("timed out") if generator.uniform() < 0.5 else Rejected("left the board")


def test_the_same_samples_whatever_the_number_of_processes():
    sample = operator.methodcaller("integers", 1000)
    alone, together = (draw_many(sample, 12, 5, processes=processes) for processes in (1, 2))
    assert alone == together


def test_rejections_are_counted():
    assert draw_many(even_numbers, 40, 5).rejections["odd"] > 20


def test_a_sample_depends_on_its_own_seed_alone():
    assert draw_many(even_numbers, 12, 5).items[:4] == draw_many(even_numbers, 4, 5).items
    assert draw_many(even_numbers, 12, 5).items != draw_many(even_numbers, 12, 6).items


def test_progress_is_told_after_every_sample():
    told = []
    draw_many(even_numbers, 3, 0, on_progress=lambda *state: told.append(state))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_bar_ends_full_and_with_a_line_break(capsys):
    show = progress_bar("boards")
    for done in (1, 2):
        show(done, 2)
    shown = capsys.readouterr().err
    assert shown.endswith(f"\rboards [{'#' * 30}] 2/2\n")
    assert "[###############               ] 1/2" in shown


def test_too_many_rejections_are_an_error_that_counts_the_reasons():
    with pytest.raises(RuntimeError, match=r"within 20 rejections\. Found .*timed out \(\d+\)") as error:
        draw_many(never, 1, 0, max_rejections=20)
    assert "left the board (" in str(error.value)


def test_samples_may_be_arrays():
    drawn = draw_many(lambda generator: generator.uniform(size=2), 2, 0)
    assert np.shape(drawn.items) == (2, 2)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"count": 0}, "count"),
        ({"processes": 0}, "processes"),
        ({"max_rejections": 0}, "max_rejections"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_numbers_are_refused(changes, found):
    with pytest.raises(ValueError, match=f"`{found}` should"):
        draw_many(**{"sample": even_numbers, "count": 2, "seed": 0, **changes})


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("count", ["5", 2.5])
def test_counts_that_are_not_whole_are_refused(count):
    with pytest.raises(TypeError, match="`count` should be a whole number"):
        draw_many(even_numbers, count, 0)

import numpy as np

from mechlearn_zoo.tasks.frames.reading import NOTHING, as_shares, read_sequence


def test_the_first_frame_that_says_something_decides():
    assert read_sequence(np.array([NOTHING, 2, 1])) == 2
    assert read_sequence(np.array([NOTHING])) == NOTHING


def test_bytes_become_shares_and_floats_stay():
    assert as_shares(np.array([0, 255], dtype=np.uint8)).tolist() == [0, 1]
    assert as_shares(np.array([0.5])).tolist() == [0.5]

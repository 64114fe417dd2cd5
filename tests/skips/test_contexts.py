import pytest
import torch

from craik.skips import Actions


def test_a_window_of_actions_ends_in_zeros():
    values = torch.arange(1, 9).reshape(2, 4, 1)
    rows, times = torch.tensor([0, 1, 1]), torch.tensor([0, 1, 3])
    assert Actions(values).at(rows, times).tolist() == [[1], [6], [8]]
    assert Actions(values, window=3).at(rows, times)[:, :, 0].tolist() == [[1, 2, 3], [6, 7, 8], [8, 0, 0]]


def test_a_window_has_at_least_one():
    with pytest.raises(ValueError, match="`window` should be at least 1"):
        Actions(torch.zeros(1, 2, 1), window=0)

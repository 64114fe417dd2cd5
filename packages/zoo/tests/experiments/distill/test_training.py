import pytest
import torch

from mechlearn.distill.examples.streams import Stream
from mechlearn_zoo.experiments.distill.training import check_split, now_and_then


def test_batches_visit_every_row_once_a_pass():
    batches = Stream(torch.tensor([3, 5, 8, 9]), 2, torch.Generator().manual_seed(0))
    for _ in range(3):
        assert sorted([*next(batches).tolist(), *next(batches).tolist()]) == [3, 5, 8, 9]


def test_looks_come_every_so_many_rounds_and_at_the_end():
    assert list(now_and_then(range(10, 60, 10), every=2, rounds=5)) == [20, 40, 50]


@pytest.mark.parametrize(("validation", "batch"), [(0.0, 1), (1.0, 1), (0.5, 0), (0.5, 6)])
def test_a_split_leaves_both_sides_something_and_a_batch(validation, batch):
    check_split(10, 0.5, 5)
    with pytest.raises(ValueError, match="Found"):
        check_split(10, validation, batch)

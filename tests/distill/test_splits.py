import pytest
import torch

import distill_models as models
from craik.distill import split_rows
from craik.distill.splits import Stream


def test_a_pass_repeats_nothing_and_drops_the_rest():
    stream = Stream(torch.arange(10, 21), 4, models.generator())
    found = stream.take(6)
    assert found.shape == (6, 4)
    for start in (0, 2, 4):
        rows = found[start : start + 2].flatten().tolist()
        assert len(set(rows)) == 8
        assert set(rows) <= set(range(10, 21))
    assert set(found.flatten().tolist()) == set(range(10, 21))  # over passes every row comes up


def test_a_resumed_stream_goes_on():
    generator = models.generator()
    stream = Stream(torch.arange(9), 4, generator)
    stream.take(1)
    state, position = stream.state_dict(), generator.get_state()
    expected = stream.take(5)
    again = Stream(torch.arange(9), 4, models.generator(7))
    again.load_state_dict(state)
    again.generator.set_state(position)
    assert torch.equal(again.take(5), expected)


def test_splits_cover_all_rows_once():
    split = split_rows(11, 0.3, models.generator())
    assert len(split.validation) == 3
    assert sorted(torch.cat([split.training, split.validation]).tolist()) == list(range(11))
    assert not torch.equal(split_rows(11, 0.3, models.generator(1)).validation, split.validation)


@pytest.mark.parametrize("share", [0.0, 1.0, 0.01, -0.5, 2.0])
def test_a_split_with_an_empty_side_is_refused(share):
    with pytest.raises(ValueError, match="both sides"):
        split_rows(10, share, models.generator())

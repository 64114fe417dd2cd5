import pytest
import torch

from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.levels import World
from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.recording import record

WORLD = World()


def test_a_recording_is_the_seeds_alone_and_its_levels_are_apart():
    one = record(1, WORLD, levels=4, states=5, validation=6, test=7)
    other = record(1, WORLD, levels=4, states=5, validation=6, test=7)
    assert all(
        torch.equal(a, b) for part, twin in zip(one[:3], other[:3], strict=True) for a, b in zip(part, twin, strict=True)
    )
    assert [len(part.levels) for part in one[:3]] == [20, 6, 7]
    assert len(set(torch.cat([part.levels for part in one[:3]]).tolist())) == 17


def test_a_count_below_one():
    with pytest.raises(ValueError, match=r"`test` should be at least 1\. Found 0"):
        record(0, WORLD, test=0)

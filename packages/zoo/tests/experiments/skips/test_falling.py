import pytest
import torch

from mechlearn_zoo.experiments.skips.states.falling import PITCH, falling_hopper


def test_hoppers_fall_either_way():
    found = falling_hopper(0, 12, 33)
    assert found.shape == (12, 33, 12)
    assert 0 < int((found[:, -1, PITCH] > 0).sum()) < 12
    assert torch.equal(found, falling_hopper(0, 12, 33))
    labels = {int(states[-1, PITCH] > 0) for states in found}
    assert labels == {0, 1}
    with pytest.raises(ValueError, match="frames"):
        falling_hopper(0, 1, 0)

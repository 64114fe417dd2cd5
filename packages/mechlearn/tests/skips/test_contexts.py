import inspect
import math

import numpy as np
import pytest
import torch

from mechlearn.losses import SquaredError
from mechlearn.skips import Actions, Dynamics, Greedy, match
from mechlearn.trajectories import Trajectories


def test_a_window_of_actions_ends_in_zeros():
    values = torch.arange(1, 9).reshape(2, 4, 1)
    rows, times = torch.tensor([0, 1, 1]), torch.tensor([0, 1, 3])
    assert Actions(values).at(rows, times).tolist() == [[1], [6], [8]]
    assert Actions(values, window=3).at(rows, times)[:, :, 0].tolist() == [[1, 2, 3], [6, 7, 8], [8, 0, 0]]
    assert Actions(values, 3, torch.tensor([1, 3])).at(rows, times)[:, :, 0].tolist() == [[1, 0, 0], [6, 7, 0], [0, 0, 0]]


def test_a_window_has_at_least_one():
    with pytest.raises(ValueError, match="`window` should be at least 1"):
        Actions(torch.zeros(1, 2, 1), window=0)


def driven(frames, actions):
    return frames + actions.sum(1)


STATES = Trajectories.from_list([torch.zeros(3, 1), torch.zeros(5, 1)])


@pytest.mark.parametrize("garbage", [99.0, math.nan])
@pytest.mark.parametrize("lengths", [None, torch.tensor([3, 5]), torch.tensor([2, 4])])
def test_what_stands_behind_a_trajectorys_own_actions_is_never_shown(garbage, lengths):
    """In a ragged batch a trajectory's loss would depend on its company."""
    values = torch.ones(2, 5, 1)
    for b, own in enumerate([3, 5] if lengths is None else lengths.tolist()):
        values[b, own:] = garbage
    together = match(Dynamics(driven, SquaredError(), Actions(values, 4, lengths)), STATES, Greedy(2))
    own = 3 if lengths is None else int(lengths[0])
    alone = match(Dynamics(driven, SquaredError(), Actions(values[:1, :own], 4)), STATES[:1], Greedy(2))
    assert together.trajectory_losses[0] == alone.trajectory_losses[0]


def test_lists_of_actions_know_their_lengths():
    found = Actions.from_list([np.ones((2, 1), np.float32), torch.ones(4, 1, device="cpu")], window=3)
    assert found.lengths.tolist() == [2, 4]
    assert found[[1]].lengths.tolist() == [4]
    assert found[1:].values.shape == (1, 4, 1)
    assert match(Dynamics(driven, SquaredError(), found), STATES.to("cpu"), Greedy(2)).loss.isfinite()
    assert Actions(torch.ones(2, 5, 1))[:1].lengths is None


def spoilt(at):
    values = torch.zeros(2, 4, 1)
    values[at] = math.nan
    return values


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (([[0.0], [1.0]],), TypeError, "`values` should be a tensor .*Found list. Actions.from_list takes lists"),
        ((np.zeros((2, 4, 1)),), TypeError, "Found ndarray"),
        ((torch.zeros(2, 4, 1, device="meta"),), TypeError, "`values` should hold data"),
        ((torch.zeros(2, 4, 1).to_sparse(),), TypeError, "`values` should be dense"),
        ((torch.zeros(4),), ValueError, r"the shape \(batch, time, \*action\).*Found \(4,\)"),
        ((torch.zeros(2, 0, 1),), ValueError, "nothing of it empty"),
        ((torch.zeros(2, 4, 1), 2, torch.tensor([4])), ValueError, r"`lengths` should have the shape \(2,\)"),
        ((torch.zeros(2, 4, 1), 2, torch.tensor([4, 5])), ValueError, r"1 to 4, the padded number.*Found \[4, 5\]"),
        ((torch.zeros(2, 4, 1), 2, torch.tensor([4, 0])), ValueError, r"Found \[4, 0\]"),
        ((torch.zeros(2, 4, 1), 2, torch.tensor([4.0, 1.0])), TypeError, "`lengths` should be integers"),
        ((torch.zeros(2, 4, 1), 2, [4, 1]), TypeError, "`lengths` should be a tensor"),
        ((spoilt((1, 2)), 2, torch.tensor([4, 3])), ValueError, "NaN or infinity in trajectory 1, frame 2"),
    ],
)
def test_what_cannot_be_actions(arguments, error, sentence):
    made = object.__new__(Actions)  # without its annotations' checks, which only tests have
    values, window, lengths = (*arguments, None, None)[:3]
    for name, value in (("values", values), ("window", window), ("lengths", lengths)):
        object.__setattr__(made, name, value)
    with pytest.raises(error, match=sentence):
        inspect.unwrap(Actions.__post_init__)(made)


@pytest.mark.parametrize(
    ("actions", "sentence"),
    [
        (Actions(spoilt((0, 1))), "NaN or infinity in trajectory 0, frame 1"),
        (Actions(torch.zeros(2, 4, 1), 2), "one fewer than the longest trajectory has frames.*lengths - 1"),
        (Actions(torch.zeros(2, 4, 1), 2, torch.tensor([1, 4])), "2 of trajectory 0. Found 1 by its `lengths`"),
        (Actions(torch.zeros(2, 3, 1)), "each of the first 4 frames"),
        (Actions(torch.zeros(3, 5, 1)), "one entry for each of the 2 trajectories"),
    ],
)
def test_actions_that_do_not_fit_the_trajectories(actions, sentence):
    with pytest.raises(ValueError, match=sentence):
        match(Dynamics(lambda frames, given: frames, SquaredError(), actions), STATES, Greedy(2))


def test_nan_behind_the_end_is_no_matter():
    assert Actions(spoilt((1, 3)), 2, torch.tensor([4, 3])).at(torch.tensor([1]), torch.tensor([2])).tolist() == [
        [[0.0], [0.0]]
    ]

import pytest
import torch

from mechlearn.arguments import check_one_of
from mechlearn.skips.matched import Chosen, Steps


def two_trajectories() -> Steps:
    """Trajectory 0 takes two steps of losses 1 and 3, trajectory 1 one step of loss 8."""
    track = Steps([6, 2], keep=True)
    track.add([0, 1], [0, 0], [0, 0], Chosen([2, 1], [True, False]), torch.tensor([1.0, 8.0]), torch.ones(2, 3))
    track.add([0], [1], [2], Chosen([5]), torch.tensor([3.0]), torch.full((1, 3), 2.0))
    return track


def test_the_mean_of_trajectories_weighs_each_once():
    found = two_trajectories().matched("trajectories")
    assert found.trajectory_losses.tolist() == [2.0, 8.0]
    assert float(found.loss) == 5.0


def test_the_mean_of_steps_weighs_each_step_once():
    assert float(two_trajectories().matched("steps").loss) == 4.0


def test_tables_are_padded():
    found = two_trajectories().matched("steps")
    assert found.skips.tolist() == [[2, 3], [1, 0]]
    assert found.matched.tolist() == [[2, 5], [1, -1]]
    assert found.explored.tolist() == [[True, False], [False, False]]
    assert found.step_losses.tolist() == [[1.0, 3.0], [8.0, 0.0]]
    assert found.steps.tolist() == [2, 1]
    assert found.predictions is not None
    assert [len(each) for each in found.predictions] == [2, 1]


def test_another_average_is_refused():
    with pytest.raises(ValueError, match=r'"trajectories" or "steps". Found .batch.\.'):
        check_one_of("average", "batch", ("trajectories", "steps"))


@pytest.mark.parametrize(("time", "frame"), [(2, 2), (2, 1), (2, 6), (0, 7)])
def test_a_frame_that_does_not_lie_ahead_is_refused(time, frame):
    with pytest.raises(ValueError, match=f"frames {time + 1} to 5, .* Found frame {frame} in trajectory 0"):
        Steps([6], keep=False).add([0], [0], [time], Chosen([frame]), torch.zeros(1), torch.zeros(1, 3))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_losses_of_many_steps_are_added_in_float32(dtype):
    track = Steps([4001], keep=False)
    for step in range(4000):
        track.add([0], [step], [step], Chosen([step + 1]), torch.ones(1, dtype=dtype), torch.zeros(1, 1))
    found = track.matched("trajectories")
    assert found.loss.dtype == dtype
    assert float(found.loss) == 1.0

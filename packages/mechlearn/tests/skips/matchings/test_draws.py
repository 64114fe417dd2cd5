import pytest
import torch

from mechlearn.skips import Dynamics, Greedy, match
from mechlearn.skips.matchings.draws import draw
from mechlearn.trajectories import Trajectories


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_a_trajectory_s_numbers_do_not_depend_on_what_follows():
    assert draw(seeded(0), [9, 5])[0] == draw(seeded(0), [9, 40, 7])[0]
    assert draw(seeded(0), [9, 5]) == [*draw(generator := seeded(0), [9]), *draw(generator, [5])]


def test_each_step_has_three_numbers_of_its_own():
    ((*steps,),) = draw(seeded(1), [5])
    numbers = [number for step in steps for number in step]
    assert len(numbers) == len(set(numbers)) == 3 * 4
    assert all(0 <= number < 1 for number in numbers)


def test_exploration_is_uniform_over_the_window():
    x = Trajectories(torch.zeros(3000, 4, 1), torch.full((3000,), 4))
    found = match(Dynamics(lambda frames: frames, lambda z, y: (z - y).abs()[:, 0]), x, Greedy(3, 1.0), generator=seeded(0))
    shares = torch.bincount(found.skips[:, 0], minlength=4)[1:] / 3000
    assert found.explored[:, 0].all()
    wanted = torch.full((3,), 1 / 3, device=shares.device)
    torch.testing.assert_close(shares, wanted, rtol=0, atol=0.04)  # 4.6 standard deviations


def test_exploration_happens_as_often_as_it_should():
    x = Trajectories(torch.zeros(3000, 2, 1), torch.full((3000,), 2))
    found = match(Dynamics(lambda frames: frames, lambda z, y: (z - y).abs()[:, 0]), x, Greedy(3, 0.3), generator=seeded(0))
    assert abs(float(found.explored.float().mean()) - 0.3) < 0.04


def test_no_generator_is_refused():
    with pytest.raises(TypeError, match=r"Found None. Pass torch.Generator"):
        draw(None, [3])

import pytest
import torch

from mechlearn_zoo.tasks.finite.scenarios import GOAL, PIT, WALL, levels, lower_left


def test_every_level_can_be_solved_without_a_pit():
    found = levels(60, torch.Generator().manual_seed(0), size=5, walls=0.3, pits=0.2)
    for picture, moves, goal in zip(found.picture.tolist(), found.next.tolist(), found.goal.tolist(), strict=True):
        assert picture.count(GOAL) == 1
        assert picture[goal] == GOAL
        reached, line = {found.start}, [found.start]
        while line:
            cell = line.pop()
            if picture[cell] != PIT:
                line += [to for to in moves[cell] if to not in reached]
                reached |= set(moves[cell])
        assert goal in reached
        assert not any(picture[to] == WALL for cell in reached for to in moves[cell])


def test_pits_and_goals_pay_and_are_not_left():
    found = levels(20, torch.Generator().manual_seed(1))
    over = (found.picture == PIT) | (found.picture == GOAL)
    assert torch.equal(found.ends.bool(), over)
    cells = torch.arange(36).expand(20, 36)
    assert (found.next[over] == cells[over][:, None]).all()
    assert found.rewards[found.picture == PIT].eq(-1).all()


def test_the_world_draws_goals_of_one_quarter():
    found = levels(300, torch.Generator().manual_seed(2))
    share = lower_left(found)
    assert float(share.sum()) == pytest.approx(1)
    assert 0.1 < float((share > 0).double().mean()) < 0.4
    assert (found.goal[share > 0] // 6 >= 3).all()
    assert (found.goal[share > 0] % 6 < 3).all()


def test_levels_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        levels(0, torch.Generator())
    with pytest.raises(ValueError, match="lie in"):
        levels(2, torch.Generator(), pits=1.5)


def test_a_world_without_levels_is_refused():
    found = levels(40, torch.Generator().manual_seed(0))
    upper = found._replace(goal=torch.zeros_like(found.goal))
    with pytest.raises(
        ValueError, match=r"`library` should hold a level with its goal in the lower left quarter. Found none of 40"
    ):
        lower_left(upper)


def test_the_quarter_is_that_of_the_levels_own_size():
    found = levels(300, torch.Generator().manual_seed(2), size=8)
    share = lower_left(found)
    assert (found.goal[share > 0] // 8 >= 4).all()
    assert (found.goal[share > 0] % 8 < 4).all()
    assert torch.equal(share, lower_left(found, 8))
    with pytest.raises(ValueError, match=r"`size` should be what the levels of `library` have, 8. Found 6"):
        lower_left(found, 6)

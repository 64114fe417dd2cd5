import pytest
import torch

from mechlearn_zoo.experiments.worlds.forward_models.stag_hunt import MOVES, Hunt, aims, chosen, hunts


def literal(agents, targets, stags, i):
    """What agent i of one board does."""
    best, worth = 0, -1.0
    for k, target in enumerate(targets):
        far = [abs(target[0] - a[0]) + abs(target[1] - a[1]) for a in agents]
        nearest = min(far[j] for j in range(len(agents)) if j != i)
        value = 2.5 / (1 + max(far[i], nearest)) if stags[k] else 1 / (1 + far[i])
        if value > worth:
            best, worth = k, value
    d = [targets[best][axis] - agents[i][axis] for axis in (0, 1)]
    if d == [0, 0]:
        return 0
    if abs(d[0]) >= abs(d[1]):
        return 1 if d[0] < 0 else 2
    return 3 if d[1] < 0 else 4


def test_agents_do_what_the_script_says():
    play = hunts(0, 6, Hunt(agents=3, targets=4, side=6, steps=5, slip=0.0))
    for b in range(6):
        for t in range(5):
            places = play.places[b, t].tolist()
            for i in range(3):
                assert int(play.actions[b, t, i]) == literal(places[:3], places[3:], play.stags.tolist(), i)


def test_who_goes_for_a_stag_counts_on_who_is_nearest_to_it():
    agents, targets = torch.tensor([[[0, 0], [0, 9], [3, 3]]]), torch.tensor([[[9, 9], [2, 2]]])
    found = aims(agents, targets, torch.tensor([False, True]))
    assert found.targets.tolist() == [[1, 1, 1]]
    assert found.partners.tolist() == [[2, 2, 0]]


def test_the_world_moves_and_what_is_caught_comes_up_elsewhere():
    play = hunts(1, 20, Hunt(side=6, steps=12))
    agents, targets = play.places[:, :, :4], play.places[:, :, 4:]
    after = (agents[:, :-1] + MOVES[play.actions[:, :-1]]).clamp(0, 5)
    assert torch.equal(agents[:, 1:], after)
    standing = (after[:, :, :, None] == targets[:, :-1, None]).all(-1).sum(2)
    caught = standing >= torch.where(play.stags, 2, 1)
    assert torch.equal(targets[:, 1:][~caught], targets[:, :-1][~caught])
    assert bool(caught.any())
    assert int(play.places.min()) >= 0
    assert int(play.places.max()) <= 5


def test_a_stag_is_left_alone_without_a_second_hunter():
    agents = torch.tensor([[[0, 0], [9, 9]]])
    targets = torch.tensor([[[0, 3], [0, 2]]])  # a hare at 3, a stag at 2 whose second hunter is far
    assert int(chosen(agents, targets, torch.tensor([False, True]))[0, 0]) == 4
    near = torch.tensor([[[0, 0], [0, 1]]])
    stag = torch.tensor([[[0, 3], [2, 0]]])
    assert int(chosen(near, stag, torch.tensor([False, True]))[0, 0]) == 2


def test_teams_have_habits_of_their_own():
    play = hunts(0, 3, Hunt(habits=2, steps=4), teams=2)
    assert play.teams.tolist() == [0, 0, 0, 1, 1, 1]
    codes = [play.habits[play.teams == team][play.actions[play.teams == team] == 1] for team in (0, 1)]
    for code in codes:
        assert torch.equal(code, code[:1].expand_as(code))
    assert not torch.equal(codes[0][0], codes[1][0])
    again = hunts(0, 3, Hunt(habits=2, steps=4), teams=2)
    assert torch.equal(again.places, play.places)


def test_refusals():
    with pytest.raises(ValueError, match="a stag takes two"):
        Hunt(agents=1)
    with pytest.raises(ValueError, match="`episodes` should be at least 1"):
        hunts(0, 0, Hunt())

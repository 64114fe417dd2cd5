import pytest
import torch

from mechlearn_zoo.experiments.worlds.take_cover.playing import brownian, record, thirds
from mechlearn_zoo.experiments.worlds.take_cover.take_cover import AGENT_Y, TakeCover


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def played(world, act, steps, episodes=200, seed=0):
    g = generator(seed)
    state = world.start(1, episodes, g)
    alive, total = torch.ones(episodes, dtype=torch.bool), torch.zeros(episodes)
    for _ in range(steps):
        state, rewards, ended = world.step(state, act(state), g)
        total += rewards[0] * alive
        alive &= ~ended[0]
    return total.mean()


def test_who_stands_still_is_hit_and_who_watches_the_balls_ways_lives_longer():
    world = TakeCover()

    def watch(state):
        left = (AGENT_Y - state.y) / state.dy
        land = state.x + state.dx * left
        danger = ((land - state.agent[..., None]).abs() < world.reach + 0.02) & (left < 14)
        nearest = torch.where(danger, left, torch.inf).argmin(-1, keepdim=True)
        side = torch.sign(state.agent - land.gather(-1, nearest).squeeze(-1))
        side = torch.where(state.agent < 0.15, 1.0, torch.where(state.agent > 0.85, -1.0, side))
        return (side * danger.any(-1)).unsqueeze(-1)

    still = played(world, lambda state: torch.zeros(*state.agent.shape, 1), 200)
    assert still < 30
    assert played(world, watch, 200) > 3 * still


def test_a_step_is_literal():
    world = TakeCover(balls=3)
    state = world.start(2, 4, generator())
    after = world.step(state, torch.ones(2, 4, 1), generator(1)).state
    assert torch.equal(after.agent, (state.agent + world.speed).clamp(max=0.92))
    flying = state.y + state.dy < AGENT_Y
    torch.testing.assert_close(after.y[flying], (state.y + state.dy)[flying])
    torch.testing.assert_close(after.x[flying], (state.x + state.dx)[flying])


def test_throws_are_aimed_at_the_agent():
    world = TakeCover(scatter=1e-6)
    state = world.start(1, 500, generator())
    land = state.x + state.dx * (AGENT_Y - state.y) / state.dy
    torch.testing.assert_close(land, state.agent.unsqueeze(-1).expand_as(land), rtol=0, atol=1e-4)


def test_copies_have_the_same_luck():
    world = TakeCover()
    g = generator()
    state = world.start(3, 5, g)
    for _ in range(40):
        state = world.step(state, torch.zeros(3, 5, 1), g).state
        assert all(torch.equal(part[0], part[2]) for part in state)


def test_frames_show_balls_and_agent():
    world = TakeCover()
    state = world.start(1, 1, generator())
    state = state._replace(
        x=torch.tensor([[[0.225, 0.725]]]), y=torch.tensor([[[0.325, 0.525]]]), agent=torch.tensor([[0.475]])
    )
    frame = world.frames(state)[0, 0]
    assert frame.shape == (2, 20, 20)
    assert float(frame.min()) >= 0
    assert float(frame.max()) <= 1
    places = {tuple(divmod(int(one), 20)) for one in frame[0].flatten().topk(2).indices}
    assert places == {(6, 4), (10, 14)}
    assert divmod(int(frame[1].argmax()), 20)[1] == 9


@pytest.mark.parametrize("policy", [thirds])
def test_records_say_where_episodes_end(policy):
    found = record(TakeCover(), 50, 60, policy, generator())
    assert found.frames.shape == (50, 61, 2, 20, 20)
    assert found.frames.dtype == torch.uint8
    for b in range(50):
        length = int(found.lengths[b])
        assert not found.ended[b, : length - 1].any()
        assert bool(found.ended[b, length - 1]) or length == 60
    assert len(found.shown()) == int((found.lengths + 1).sum())
    assert int(found.mask().sum()) == int(found.lengths.sum())


def test_random_actions_stay_in_range():
    g, action = generator(), None
    for _ in range(200):
        action = brownian(action, 5, g)
        assert (action[:, 0].abs() <= 1).all()
        assert ((action[:, 1:] >= 0) & (action[:, 1:] <= 1)).all()
    assert set(thirds(None, 300, g).unique().tolist()) == {-1.0, 0.0, 1.0}


def test_what_is_refused():
    with pytest.raises(ValueError, match="`population` should be at least 1"):
        TakeCover().start(0, 2, generator())
    with pytest.raises(ValueError, match="`fall` should rise"):
        TakeCover(fall=(0.06, 0.03))
    with pytest.raises(ValueError, match=r"`actions` should have the shape \(1, 2, 1\)"):
        TakeCover().step(TakeCover().start(1, 2, generator()), torch.zeros(1, 2, 3), generator())
    with pytest.raises(ValueError, match="`episodes` should be at least 1"):
        record(TakeCover(), 0, 5, thirds, generator())


def test_fog_hides_balls_from_its_row_on_and_nothing_else():
    clear, foggy = TakeCover(), TakeCover(fog=0.5)
    state = clear.start(1, 50, generator())
    for step in range(30):
        there, shown = clear.frames(state), foggy.frames(state)
        assert torch.equal(shown[:, :, 1], there[:, :, 1])
        hidden = (state.y >= 0.5).all(-1)
        assert not shown[:, :, 0][hidden].any()
        above = (state.y < 0.5).all(-1)
        assert torch.equal(shown[above], there[above])
        state = clear.step(state, torch.zeros(1, 50, 1), generator(step)).state
    assert hidden.any()
    assert above.any()
    with pytest.raises(ValueError, match="fog"):
        TakeCover(fog=0.0)

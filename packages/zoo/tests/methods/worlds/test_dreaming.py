import numpy as np
import pytest
import torch

from dreams_oracles import dream_of_nothing_random
from mechlearn_zoo.methods.worlds.dreaming import Dream, DreamWorld
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN


def memory(ends=True):
    return MixtureRNN(3, 2, 8, 4, ends, torch.Generator().manual_seed(0))


STARTS = torch.randn(7, 3, generator=torch.Generator().manual_seed(5))


def test_at_temperature_nought_a_dream_is_a_literal_loop_of_lstm_cells():
    m = memory().double()
    cell = torch.nn.LSTMCell(5, 8).double()
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in m.layer.state_dict().items()})
    world = DreamWorld(m, STARTS[:1].double(), 0.0)
    actions = torch.randn(6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    wanted, logits = dream_of_nothing_random(cell, m.head.linear, m.ending, STARTS[0].double(), actions, 4)
    generator = torch.Generator().manual_seed(9)
    state = world.start(1, 1, generator)
    for t in range(6):
        stepped = world.step(state, actions[t].expand(1, 1, 2), generator)
        state = stepped.state
        torch.testing.assert_close(state.z[0, 0], wanted[t], rtol=0, atol=1e-12)
        assert bool(stepped.ended) == (logits[t] > 0)
        state = state._replace(over=torch.zeros(1, 1, dtype=torch.bool))  # the loop goes on behind an end


@pytest.mark.parametrize("done", ["threshold", "sample"])
def test_a_dream_that_is_over_stays_and_the_others_go_on_as_if_it_did_not(done):
    m = memory().double()
    m.ending.weight.data.mul_(8)
    m.ending.bias.data.fill_(-0.5)
    world = DreamWorld(m, STARTS.double(), 1.2, done)
    draws, same = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    state, whole = world.start(3, 5, draws), world.start(3, 5, same)
    actions = torch.randn(3, 5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    over = torch.zeros(3, 5, dtype=torch.bool)
    for _ in range(30):
        last, stepped = state, world.step(state, actions, draws)
        everywhere = world.step(whole._replace(over=torch.zeros_like(over)), actions, same)
        state, whole = stepped.state, everywhere.state
        for one, other in zip((state.z, *state.memory), (whole.z, *whole.memory), strict=True):
            torch.testing.assert_close(one[~over], other[~over], rtol=0, atol=1e-12)
        assert torch.equal(state.z[over], last.z[over])
        assert torch.equal(stepped.rewards, (~over).double())
        over |= everywhere.ended
        assert torch.equal(stepped.ended, over)
    assert over.sum() > 3  # some last longer than others


def test_copies_of_a_dream_share_their_noise():
    world = DreamWorld(memory(), STARTS, 1.3, done="sample")
    generator = torch.Generator().manual_seed(0)
    state = world.start(4, 5, generator)
    for _ in range(3):
        stepped = world.step(state, torch.zeros(4, 5, 2), generator)
        state = stepped.state
        assert torch.equal(state.z[0], state.z[3])
        assert torch.equal(stepped.ended[0], stepped.ended[3])


def test_scale_divides_what_is_seen_and_nothing_else():
    scale = torch.tensor([1.0, 2.0, 4.0])
    plain, scaled = DreamWorld(memory(), STARTS), DreamWorld(memory(), STARTS, scale=scale)
    states = [world.start(1, 5, torch.Generator().manual_seed(0)) for world in (plain, scaled)]
    torch.testing.assert_close(plain.features(states[0])[..., :3] / scale, scaled.features(states[1])[..., :3])
    assert torch.equal(states[0].z, states[1].z)


@pytest.mark.extra("experiments", "gymnasium")
def test_a_vector_env_of_gymnasium():
    from gymnasium.vector import VectorEnv

    env = Dream(DreamWorld(memory(), STARTS), 6, 20, torch.Generator().manual_seed(0))
    assert isinstance(env, VectorEnv)
    seen, info = env.reset(seed=3)
    assert seen.shape == env.observation_space.shape == (6, 11)
    assert info == {}
    env.action_space.seed(0)
    ages = np.zeros(6, dtype=int)
    over = np.zeros(6, dtype=bool)
    for _ in range(60):
        seen, rewards, terminated, truncated, _ = env.step(env.action_space.sample())
        assert np.array_equal(rewards, np.where(over, 0.0, 1.0))
        ages = np.where(over, 0, ages + 1)
        assert not (terminated & truncated).any()
        assert np.array_equal(truncated, (ages == 20) & ~terminated & ~over)
        assert not seen[over][:, 3:].any()  # M is at rest where a dream began anew
        over = terminated | truncated
    first = env.reset(seed=3)[0]
    assert np.array_equal(first, env.reset(seed=3)[0])


@pytest.mark.extra("experiments", "gymnasium")
def test_discrete_actions_are_one_hot():
    envs = [Dream(DreamWorld(memory(), STARTS, 0.0), 4, 9, torch.Generator(), kind) for kind in ("box", "discrete")]
    for env in envs:
        env.reset(seed=1)
    one = envs[0].step(np.eye(2, dtype=np.float32)[[0, 1, 1, 0]])
    other = envs[1].step(np.array([0, 1, 1, 0]))
    assert np.array_equal(one[0], other[0])
    with pytest.raises(ValueError, match="whole numbers from 0 to 1"):
        envs[1].step(np.array([0, 1, 2, 0]))


def test_what_is_refused():
    with pytest.raises(ValueError, match="`temperature` should be finite and at least 0"):
        DreamWorld(memory(), STARTS, -0.5)
    with pytest.raises(ValueError, match=r"`starts` should have the shape \(n, 3\)"):
        DreamWorld(memory(), STARTS[:0])
    with pytest.raises(ValueError, match="`scale` should be positive"):
        DreamWorld(memory(), STARTS, scale=torch.zeros(3))
    with pytest.raises(ValueError, match="predicts no end, and no `horizon`"):
        Dream(DreamWorld(memory(ends=False), STARTS), 2, None, torch.Generator())
    env = Dream(DreamWorld(memory(), STARTS), 2, None, torch.Generator())
    with pytest.raises(ValueError, match=r"`actions` should have the shape \(2, 2\)"):
        env.step(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="`actions` should hold data"):
        env.step(torch.zeros(2, 2, device="meta"))
    with pytest.raises(TypeError, match="`actions` should be dense"):
        env.step(torch.zeros(2, 2).to_sparse())


def test_starts_scales_and_actions_that_are_not_finite_are_refused_before_anything_is_drawn(as_installed):
    broken = STARTS.clone()
    broken[2, 1] = torch.nan
    with pytest.raises(ValueError, match=r"`starts` should be finite\. Found nan at \(2, 1\)\. Leave such frames out"):
        DreamWorld(memory(), broken)
    with pytest.raises(ValueError, match="`scale` should be finite"):
        DreamWorld(memory(), STARTS, scale=torch.full((3,), torch.inf))
    world, generator = DreamWorld(memory(), STARTS), torch.Generator().manual_seed(0)
    state = world.start(2, 4, generator)
    before = generator.get_state()
    for actions, error, match in (
        (torch.full((2, 4, 2), torch.nan), ValueError, "`actions` should be finite"),
        (torch.zeros(2, 4, 3), ValueError, r"`actions` should have the shape \(2, 4, 2\)"),
        (torch.zeros(2, 4, 2).double(), TypeError, r"of the type torch\.float32"),
    ):
        with pytest.raises(error, match=match):
            world.step(state, actions, generator)
    with pytest.raises(TypeError, match="`state` should be a DreamState"):
        world.step(tuple(state), torch.zeros(2, 4, 2), generator)
    with pytest.raises(ValueError, match="`episodes` should be at least 1"):
        world.start(2, 0, generator)
    assert torch.equal(generator.get_state(), before)
    for call in (lambda: world.start(1, 1, None), lambda: world.step(state, torch.zeros(2, 4, 2), None)):
        with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
            call()


@pytest.mark.extra("experiments", "gymnasium")
@pytest.mark.parametrize("kind", ["box", "discrete"])
def test_a_refused_step_leaves_the_dreams_where_they_are(kind):
    generator = torch.Generator().manual_seed(0)
    env, twin = (Dream(DreamWorld(memory(), STARTS), 2, 9, one, kind) for one in (generator, torch.Generator()))
    good = np.zeros((2, 2), np.float32) if kind == "box" else np.array([0, 1])
    for one in (env, twin):
        one.reset(seed=3)
        one.step(good)

    def held():
        parts = (env._state.z, *env._state.memory, env._state.over, generator.get_state(), *env.world.memory.parameters())
        return [part.detach().clone() for part in parts], env._age.copy(), env._over.copy()

    before = held()
    wrong = [np.full((2, 2), np.nan), np.array([[0, np.inf], [0, 0]]), np.full((2, 2), 1e300), np.array(["a", "b"]), None]
    wrong += [np.array([0, 2]), np.array([0.0, 1.0])] if kind == "discrete" else [np.zeros((2, 3))]
    for actions in wrong:
        with pytest.raises((TypeError, ValueError), match="`actions` should"):
            env.step(actions)
    with pytest.raises(ValueError, match="`seed` should be at least 0"):
        env.reset(seed=-1)
    after = held()
    assert all(torch.equal(one, other) for one, other in zip(before[0], after[0], strict=True))
    assert np.array_equal(before[1], after[1])
    assert np.array_equal(before[2], after[2])
    assert np.array_equal(env.step(good)[0], twin.step(good)[0])  # as if nothing had been asked


@pytest.mark.extra("experiments", "gymnasium")
def test_an_m_that_has_diverged_does_not_reach_the_dreams():
    env = Dream(DreamWorld(memory(), STARTS), 2, 9, torch.Generator().manual_seed(0))
    before = env._state.z.clone()
    with torch.no_grad():
        env.world.memory.head.linear.bias.fill_(torch.nan)
    with pytest.raises(FloatingPointError, match="M should dream"):
        env.step(np.zeros((2, 2), np.float32))
    assert torch.equal(env._state.z, before)


@pytest.mark.extra("experiments", "gymnasium")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_an_m_of_any_type_dreams_for_numpy(dtype):
    env = Dream(DreamWorld(memory().to(dtype), STARTS.to(dtype)), 4, 20, torch.Generator().manual_seed(0))
    assert env.reset(seed=3)[0].dtype == np.float32
    seen, rewards, *_ = env.step(np.zeros((4, 2)))
    assert seen.dtype == np.float32
    assert rewards.tolist() == [1.0] * 4

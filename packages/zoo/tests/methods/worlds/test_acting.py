import pytest
import torch

from mechlearn_zoo.experiments.worlds.take_cover.take_cover import TakeCover
from mechlearn_zoo.methods.worlds.acting import LinearController, Stepped, Watched, population_returns
from mechlearn_zoo.methods.worlds.dreaming import DreamWorld
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN
from mechlearn_zoo.nn.autoencoders import ConvVAE


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def dream():
    return DreamWorld(MixtureRNN(3, 1, 8, 2, True, generator()), torch.randn(9, 3, generator=generator(1)), done="sample")


def watched(memory=True):
    m = MixtureRNN(3, 1, 8, 2, True, generator()) if memory else None
    return Watched(TakeCover(size=10), ConvVAE(2, 10, 3, generator(), widths=(4,)), m)


@pytest.mark.parametrize("make", [dream, watched, lambda: watched(False)])
def test_a_population_is_evaluated_as_one_by_one(make):
    world = make()
    controller = LinearController(world.features(world.start(1, 1, generator())).shape[-1], 1, "thirds")
    candidates = torch.randn(5, controller.parameters, generator=generator(2))
    together = population_returns(controller, candidates, world, 4, 25, generator(3))
    alone = torch.cat([population_returns(controller, one[None], world, 4, 25, generator(3)) for one in candidates])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-6)
    assert together.std() > 0


def test_what_has_ended_is_no_longer_looked_at():
    world, draws = watched(), generator(5)
    state, over = world.start(2, 6, draws), torch.zeros(2, 6, dtype=torch.bool)
    for _ in range(40):
        last, (state, _, ended) = state, world.step(state, torch.zeros(2, 6, 1), draws)
        over |= ended
        seen = world.vision.encode(world.world.frames(state.world).flatten(0, 1)).mean.unflatten(0, (2, 6))
        torch.testing.assert_close(state.z[~over], seen[~over], rtol=0, atol=1e-6)
        assert torch.equal(state.z[over], last.z[over])
        whole = world.memory.remember(last.z, torch.zeros(2, 6, 1), last.memory)
        for part, before, everywhere in zip(state.memory, last.memory, whole, strict=True):
            torch.testing.assert_close(part[~last.over], everywhere[~last.over], rtol=0, atol=1e-6)
            assert torch.equal(part[last.over], before[last.over])
    assert over.all()


def test_actions_are_the_formula():
    candidates, features = torch.randn(2, 12, generator=generator()), torch.randn(2, 4, 3, generator=generator(1))
    found = LinearController(3, 3).act(candidates, features)
    for p in range(2):
        weight, bias = candidates[p, :9].view(3, 3), candidates[p, 9:]
        for e in range(4):
            torch.testing.assert_close(found[p, e], torch.tanh(weight @ features[p, e] + bias))
    thirds = LinearController(3, 3, "thirds").act(candidates, features)
    assert torch.equal(thirds, torch.where(found.abs() > 1 / 3, found.sign(), 0.0))
    car = LinearController(3, 3, "car").act(candidates, features)
    torch.testing.assert_close(car, torch.stack((found[..., 0], (found[..., 1] + 1) / 2, found[..., 2].relu()), -1))


def test_printed_numbers_of_parameters():
    assert LinearController(32 + 256, 3, "car").parameters == 867  # Ha and Schmidhuber 2018, appendix A.3
    assert LinearController(64 + 512 + 512, 1).parameters == 1089  # the printed 1,088 (Doom: z, h and c) leaves the bias out


def test_what_is_refused():
    world = dream()
    with pytest.raises(ValueError, match=r"`candidates` should have the shape \(p, 12\)"):
        population_returns(LinearController(11, 1), torch.zeros(2, 5), world, 1, 1, generator())
    with pytest.raises(ValueError, match="A car has three actions"):
        LinearController(3, 1, "car")
    with pytest.raises(ValueError, match="`horizon` should be at least 1"):
        population_returns(LinearController(11, 1), torch.zeros(2, 12), world, 1, 0, generator())


class Paying:
    """A world of one step that pays what it is told."""

    def __init__(self, rewards):
        self.rewards = rewards

    def start(self, population, episodes, generator):
        return torch.zeros(population, episodes, 11)

    def features(self, state):
        return state

    def step(self, state, actions, generator):
        return Stepped(state, self.rewards, torch.ones_like(self.rewards, dtype=torch.bool))


def test_rewards_and_candidates_that_are_not_finite_are_refused(as_installed):
    c, rewards = LinearController(11, 1), torch.zeros(2, 3)
    rewards[1, 2] = torch.nan
    with pytest.raises(ValueError, match="Found a sum of nan for candidate 1 in episode 2"):
        population_returns(c, torch.zeros(2, 12), Paying(rewards), 3, 1, generator())
    drawn = generator()
    before = drawn.get_state()
    with pytest.raises(ValueError, match=r"`candidates` should be finite\. Found nan at \(0, 0\)"):
        population_returns(c, torch.full((2, 12), torch.nan), dream(), 3, 1, drawn)
    with pytest.raises(TypeError, match="`world` should be a World with start, features and step"):
        population_returns(c, torch.zeros(2, 12), c, 3, 1, drawn)
    with pytest.raises(TypeError, match="`controller` should be a LinearController"):
        population_returns(None, torch.zeros(2, 12), dream(), 3, 1, drawn)
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        population_returns(c, torch.zeros(2, 12), dream(), 3, 1, None)
    with pytest.raises(TypeError, match=r"`features` should be of the type torch\.float32"):
        c.act(torch.zeros(2, 12), torch.zeros(2, 3, 11, dtype=torch.float64))
    assert torch.equal(drawn.get_state(), before)


def test_what_m_would_remember_is_finite(as_installed):
    world, drawn = watched(), generator()
    state = world.start(2, 3, drawn)
    before = drawn.get_state()
    width = world.memory.action
    for actions, match in (
        (torch.full((2, 3, width), torch.nan), "`actions` should be finite"),
        (torch.zeros(2, 3, width + 1), r"`actions` should have the shape \(2, 3, "),
    ):
        with pytest.raises(ValueError, match=match):
            world.step(state, actions, drawn)
    assert torch.equal(drawn.get_state(), before)
    with pytest.raises(ValueError, match="`scale` should be positive"):
        Watched(world.world, world.vision, None, torch.zeros(3))
    with pytest.raises(TypeError, match="`memory` should be a MixtureRNN or None"):
        Watched(world.world, world.vision, torch.nn.LSTM(3, 2))
    with pytest.raises(TypeError, match="`world` should be a FrameWorld"):
        Watched(None, world.vision, None)


class Late(Paying):
    """Everything is over after a step; what is paid then is no number."""

    paid = 0

    def start(self, population, episodes, generator):
        self.paid = 0
        return super().start(population, episodes, generator)

    def step(self, state, actions, generator):
        self.paid += 1
        ended = torch.tensor([[True, False]]).expand(len(self.rewards), 2)
        return Stepped(state, torch.where(ended & (self.paid > 1), torch.nan, self.rewards), ended)


def test_what_is_paid_after_the_end_may_be_anything():
    found = population_returns(LinearController(11, 1), torch.zeros(1, 12), Late(torch.ones(1, 2)), 2, 5, generator())
    assert found.tolist() == [[1.0, 5.0]]


@pytest.mark.parametrize(
    ("dtype", "wanted"), [(torch.float64, torch.float64), (torch.float32, torch.float32), (torch.float16, torch.float32)]
)
def test_returns_are_of_the_rewards_type(dtype, wanted):
    rewards = torch.tensor([[0.1, 1 / 3]], dtype=dtype)
    found = population_returns(LinearController(11, 1), torch.zeros(1, 12), Late(rewards), 2, 3, generator())
    assert found.dtype == wanted
    torch.testing.assert_close(found, rewards.to(wanted) * torch.tensor([1, 3]), rtol=1e-7, atol=0)

import gc
import itertools

import pytest
import torch

from mechlearn.losses import BinaryCrossEntropyWithLogits, GaussianNLL, SquaredError
from mechlearn.skips import Actions, Dynamics, rollout

FIRST = torch.tensor([[0.0, 10.0], [3.0, 30.0], [7.0, 70.0]])


class Counter:
    """Adds one to the first number of a frame, and remembers how many frames it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, frames, context=None):
        self.asked.append(len(frames))
        step = torch.tensor([1.0, 0.0]) if context is None else torch.cat([context, context * 0], dim=1)
        return frames + step


def test_it_stops_where_the_rule_says_and_asks_no_more():
    model = Counter()
    found = rollout(Dynamics(model, SquaredError()), FIRST, max_steps=6, stop=lambda frames: frames[:, 0] >= 5)
    assert found.trajectories.lengths.tolist() == [6, 3, 2]
    assert [each[-1, 0].item() for each in found.trajectories] == [5.0, 5.0, 8.0]
    assert found.trajectories[1].tolist() == [[3.0, 30.0], [4.0, 30.0], [5.0, 30.0]]
    assert found.stopped.tolist() == [True, True, True]
    assert model.asked == [3, 2, 1, 1, 1]
    assert found.evaluations == sum(model.asked)


def test_without_a_rule_it_takes_all_steps():
    found = rollout(Dynamics(Counter(), SquaredError()), FIRST, max_steps=3)
    assert found.trajectories.lengths.tolist() == [4, 4, 4]
    assert found.stopped.tolist() == [False] * 3


def test_a_fixed_point_stops():
    found = rollout(Dynamics(lambda frames: frames / 2, SquaredError()), FIRST, max_steps=50, fixed_point=1.0)
    for trajectory in found.trajectories:
        change = trajectory.diff(dim=0).abs().amax(1)
        assert change[-1] <= 1.0
        assert (change[:-1] > 1.0).all()
    assert found.stopped.all()


def test_the_loss_makes_frames_of_predictions():
    found = rollout(Dynamics(lambda frames: frames * 0, BinaryCrossEntropyWithLogits()), FIRST, max_steps=1)
    assert (found.trajectories.frames[:, 1] == 0.5).all()
    gaussian = rollout(Dynamics(lambda frames: torch.stack([frames + 1, frames], dim=1), GaussianNLL()), FIRST, max_steps=2)
    assert torch.equal(gaussian.trajectories.frames[:, 2], FIRST + 2)
    doubled = rollout(Dynamics(lambda frames: frames, GaussianNLL(), feedback=lambda z: 2 * z), FIRST, max_steps=1)
    assert torch.equal(doubled.trajectories.frames[:, 1], 2 * FIRST)


def test_a_static_context_stays_with_its_trajectory():
    context = torch.tensor([[1.0], [2.0], [3.0]])
    found = rollout(Dynamics(Counter(), SquaredError(), context), FIRST, max_steps=6, stop=lambda frames: frames[:, 0] >= 5)
    assert [each[-1, 0].item() for each in found.trajectories] == [5.0, 5.0, 10.0]


def test_a_policy_sees_frames_positions_and_step():
    seen = []

    def policy(frames, rows, step):
        seen.append((frames[:, 0].tolist(), rows.tolist(), step))
        return torch.full((len(frames), 1), 2.0)

    dynamics = Dynamics(Counter(), SquaredError())
    rollout(dynamics, FIRST, max_steps=3, policy=policy, stop=lambda frames: frames[:, 0] > 8)
    assert seen == [([0.0, 3.0, 7.0], [0, 1, 2], 0), ([2.0, 5.0], [0, 1], 1), ([4.0, 7.0], [0, 1], 2)]


def test_no_graph_is_kept():
    layer = torch.nn.Linear(2, 2)
    assert not rollout(Dynamics(layer, SquaredError()), FIRST, max_steps=2).trajectories.frames.requires_grad


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"max_steps": 0}, "`max_steps` should be at least 1"),
        ({"fixed_point": -1.0}, "`fixed_point` should be"),
        ({"first": FIRST.int()}, "`first` should be floats"),
        ({"first": FIRST[:0]}, "at least one"),
        ({"first": FIRST[:, :0]}, "at least one"),
        (
            {"first": torch.tensor(1.0)},
            r"`first` should be floats of shape \(batch, \*frame\).*Found torch.float32, shape \(\)",
        ),
        ({"first": torch.tensor([1.0, float("nan")])}, "Found NaN or infinity in frame 1 of the batch"),
        ({"context": torch.zeros(2, 1)}, "one entry for each of 3"),
        ({"model": lambda frames: frames[:, :1]}, r"the shape of a frame to be fed back, \(3, 2\). Found \(3, 1\)"),
        ({"stop": lambda frames: frames > 0}, "one bool for each of 3 frames"),
        ({"stop": lambda frames: frames[:, 0]}, "Found torch.float32"),
        ({"first": FIRST.index_fill(0, torch.tensor([1]), float("nan"))}, "Found NaN or infinity in frame 1 of the batch"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_bad_input_is_refused_with_a_sentence(changes, sentence):
    settings = {"model": lambda frames: frames, "first": FIRST, "max_steps": 2} | changes
    dynamics = Dynamics(settings.pop("model"), SquaredError(), settings.pop("context", None))
    with pytest.raises(ValueError, match=sentence):
        rollout(dynamics, settings.pop("first"), **settings)


def test_a_stop_that_returns_a_list_is_refused():
    with pytest.raises(TypeError, match=r"one bool for each frame\. Found list"):
        rollout(Dynamics(lambda frames: frames, SquaredError()), FIRST, max_steps=2, stop=lambda frames: [True] * len(frames))


def test_a_roll_out_that_diverges_says_where_and_what_to_do():
    def model(frames):
        return torch.where(frames[:, :1] == 9, torch.inf, frames + 1)

    sentence = "trajectory 2, frame 3 .*the roll-out diverges. Train longer or with a lower learning rate.*`stop`"
    with pytest.raises(FloatingPointError, match=sentence):
        rollout(Dynamics(model, SquaredError()), FIRST, max_steps=5)
    assert not rollout(Dynamics(model, SquaredError()), FIRST, max_steps=5, stop=lambda frames: frames[:, 0] == 9).stopped[0]


def test_actions_are_no_context_of_a_roll_out():
    dynamics = Dynamics(Counter(), SquaredError(), Actions(torch.zeros(3, 5, 1)))
    with pytest.raises(TypeError, match=r"a policy \(frames, rows, step\).*Found Actions"):
        rollout(dynamics, FIRST, max_steps=2)
    policed = rollout(dynamics, FIRST, max_steps=2, policy=lambda frames, rows, step: dynamics.context.values[rows, step])
    assert policed.trajectories.lengths.tolist() == [3, 3, 3]


class InPlace(torch.nn.Module):
    """Works on what it is given, and returns it."""

    def forward(self, frames, context=None):
        frames += 1.0 if context is None else context.add_(0.5)
        return frames


def test_a_model_that_works_in_place_changes_nothing_of_the_callers():
    first, context = FIRST.clone(), torch.ones(3, 2)
    found = rollout(Dynamics(InPlace(), SquaredError()), first, max_steps=3, fixed_point=0.5)
    assert torch.equal(first, FIRST)
    assert torch.equal(found.trajectories.frames, torch.stack([FIRST + step for step in range(4)], dim=1))
    assert not found.stopped.any()
    rollout(Dynamics(InPlace(), SquaredError(), context), first, max_steps=3)
    rollout(Dynamics(InPlace(), SquaredError()), first, max_steps=3, policy=lambda frames, rows, step: context)
    assert torch.equal(first, FIRST)
    assert torch.equal(context, torch.ones(3, 2))


def test_a_model_may_return_the_same_memory_each_time():
    memory = torch.zeros(3, 2)

    def model(frames):
        return memory.copy_(frames + 1)

    found = rollout(Dynamics(model, SquaredError()), FIRST, max_steps=3, fixed_point=0.5)
    assert torch.equal(found.trajectories.frames, torch.stack([FIRST + step for step in range(4)], dim=1))


def test_rules_and_policies_may_work_in_place_on_what_they_are_shown():
    found = rollout(
        Dynamics(Counter(), SquaredError()),
        FIRST,
        max_steps=2,
        stop=lambda frames: frames.zero_()[:, 0] > 0,
        policy=lambda frames, rows, step: frames.fill_(1.0)[:, :1],
    )
    assert torch.equal(found.trajectories.frames[:, 2], FIRST + torch.tensor([2.0, 0.0]))


def test_a_long_roll_out_holds_its_frames_and_nothing_else():
    """Memory grows by a frame a step, and no graph."""
    held = []

    def stop(frames):
        if len(held) % 100 == 0:
            tensors = [each for each in gc.get_objects() if type(each) is torch.Tensor and each.shape[-1:] == (7,)]
            held.append(sum(size for _, size in {(t.data_ptr(), t.untyped_storage().nbytes()) for t in storages(tensors)}))
        else:
            held.append(held[-1])
        return torch.zeros(len(frames), dtype=torch.bool)

    def storages(tensors):
        return {each.untyped_storage().data_ptr(): each for each in tensors}.values()

    layer = torch.nn.Linear(7, 7, bias=False)
    torch.nn.init.orthogonal_(layer.weight)
    found = rollout(Dynamics(layer, SquaredError()), torch.ones(2, 7), max_steps=401, stop=stop)
    assert found.trajectories.lengths.tolist() == [402, 402]
    growth = [later - earlier for earlier, later in itertools.pairwise(held[::100])]
    assert all(abs(each - 100 * 2 * 7 * 4) <= 400 for each in growth), growth


def test_frames_of_one_number_are_rolled_out():
    first = torch.tensor([4.0, 2.0])
    rolled = rollout(Dynamics(lambda x: x / 2, SquaredError()), first, max_steps=2)
    assert [one.tolist() for one in rolled.trajectories] == [[4, 2, 1], [2, 1, 0.5]]


def test_frames_of_one_number_come_to_rest_and_diverge():
    first = torch.tensor([4.0, 0.5])
    rolled = rollout(Dynamics(lambda x: x / 2, SquaredError()), first, max_steps=3, fixed_point=0.25)
    assert [one.tolist() for one in rolled.trajectories] == [[4, 2, 1, 0.5], [0.5, 0.25]]
    assert rolled.stopped.tolist() == [False, True]
    with pytest.raises(FloatingPointError, match="trajectory 1, frame 1"):
        rollout(Dynamics(lambda x: x / (x - 0.5), SquaredError()), first, max_steps=3)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (FIRST.to("meta"), "`first` should hold data"),
        (FIRST.to_sparse(), "`first` should be dense"),
        (FIRST.to(torch.float8_e4m3fn), "`first` should be floats"),
    ],
)
def test_first_frames_that_cannot_be_read_are_named(first, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        rollout(Dynamics(lambda frames: frames, SquaredError()), first, max_steps=2)

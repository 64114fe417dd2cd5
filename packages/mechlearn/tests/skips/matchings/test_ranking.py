import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mechlearn import losses
from mechlearn.skips.matchings.ranking import Ranker
from mechlearn.trajectories import Trajectories

RANKABLE = {
    "bce with logits": losses.BinaryCrossEntropyWithLogits(),
    "bce": losses.BinaryCrossEntropy(),
    "squared": losses.SquaredError(),
    "weighted squared": losses.SquaredError(weight=torch.tensor([0.0, 1.0, 3.0, 0.5, 2.0, 1.0])),
    "gaussian": losses.GaussianNLL(reduction="sum"),
}


def literal(loss, prediction, frames, first):
    values = [float(loss(prediction[None], frame[None])) for frame in frames]
    return first + values.index(min(values))


def predictions_for(name, count, generator):
    shape = (count, 2, 6) if name == "gaussian" else (count, 6)
    raw = torch.randn(shape, generator=generator)
    return raw.sigmoid() if name == "bce" else raw


@given(
    name=st.sampled_from(sorted(RANKABLE)),
    batched=st.booleans(),
    stored=st.sampled_from([torch.uint8, torch.float32, torch.float64, torch.int16]),
    levels=st.sampled_from([2, 4, 256]),
    horizon=st.integers(1, 9),
    seed=st.integers(0, 2**20),
)
def test_the_best_frame_is_that_of_the_loss_frame_by_frame(name, batched, stored, levels, horizon, seed):
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 15, (3,), generator=g)
    frames = torch.randint(0, levels, (3, 15, 6), generator=g)
    for t in range(1, 15):  # some frames repeat the one before
        rests = torch.rand(3, generator=g) < 0.4
        frames[rests, t] = frames[rests, t - 1]
    trajectories = Trajectories(frames.to(stored), lengths, scale=1 / (levels - 1))
    ranker = Ranker(RANKABLE[name], trajectories, horizon, batched=batched)
    times = [0, 0, 0]
    rows = [b for b in range(3) if times[b] + 1 < lengths[b]]
    while rows:  # windows that move on and leave, as `match` moves them
        z = predictions_for(name, len(rows), g).to(trajectories.value_dtype)
        first = [times[b] + 1 for b in rows]
        end = [min(start + horizon, int(lengths[b])) for b, start in zip(rows, first, strict=True)]
        found = ranker.best(z, rows, first, end)
        values = trajectories.values()
        assert found == [literal(RANKABLE[name], z[i], values[b, first[i] : end[i]], first[i]) for i, b in enumerate(rows)]
        for b, frame in zip(rows, found, strict=True):
            times[b] = frame
        rows = [b for b in rows if times[b] + 1 < lengths[b]]


@pytest.mark.parametrize("batched", [True, False])
def test_of_equal_frames_the_first_wins(batched):
    frames = torch.rand(1, 1, 1000).expand(1, 12, 1000).contiguous()
    ranker = Ranker(losses.SquaredError(), Trajectories(frames, torch.tensor([12])), 11, batched)
    assert ranker.best(torch.rand(1, 1000), [0], [1], [12]) == [1]


@pytest.mark.parametrize("seed", range(5))
def test_frames_closer_than_rounding_are_told_apart_by_the_loss(seed):
    g = torch.Generator().manual_seed(seed)
    frames = torch.rand(1, 1, 5000, generator=g).repeat(1, 20, 1)
    frames[0, torch.arange(20), torch.randint(0, 5000, (20,), generator=g)] += 1e-6  # lost in a sum of 5000
    z = torch.randn(1, 5000, generator=g)
    loss = losses.SquaredError()
    ranker = Ranker(loss, Trajectories(frames, torch.tensor([20])), 19)
    assert ranker.best(z, [0], [1], [20]) == [literal(loss, z[0], frames[0, 1:], 1)]


LARGE_CONSTANTS = {
    "logits near 0": (losses.BinaryCrossEntropyWithLogits(), lambda z: z * 1e-4),
    "logits nearer 0": (losses.BinaryCrossEntropyWithLogits(reduction="sum"), lambda z: z * 1e-5),
    "large logits": (losses.BinaryCrossEntropyWithLogits(), lambda z: z + 1000),
    "probabilities near a half": (losses.BinaryCrossEntropy(), lambda z: 0.5 + z * 1e-5),
    "far off": (losses.SquaredError(), lambda z: z + 1000),
    "far off, weighted": (losses.SquaredError(weight=torch.full((6,), 30.0)), lambda z: z - 1000),
    "wide": (losses.GaussianNLL(), lambda z: torch.stack([z, 10 + z], 1)),
    "narrow and far off": (losses.GaussianNLL(reduction="sum"), lambda z: torch.stack([z + 100, z - 3], 1)),
}


@given(
    name=st.sampled_from(sorted(LARGE_CONSTANTS)),
    batched=st.booleans(),
    stored=st.sampled_from([torch.uint8, torch.float32]),
    faint=st.sampled_from([1.0, 0.01]),
    seed=st.integers(0, 2**20),
)
def test_the_loss_s_own_rounding_is_followed_where_it_dwarfs_the_differences(name, batched, stored, faint, seed):
    g = torch.Generator().manual_seed(seed)
    loss, made = LARGE_CONSTANTS[name]
    frames = torch.randint(0, 256, (1, 1, 6), generator=g).repeat(1, 20, 1)
    frames[0, :, :2] = torch.randint(0, 256, (20, 2), generator=g)
    trajectories = Trajectories(frames.to(stored), torch.tensor([20]), scale=faint / 255)
    z = made(torch.randn((1, 6), generator=g))
    expected = literal(loss, z[0], trajectories.values()[0, 1:], 1)
    assert Ranker(loss, trajectories, 19, batched).best(z, [0], [1], [20]) == [expected]


@pytest.mark.parametrize("name", ["bce with logits", "bce", "squared", "gaussian"])
def test_a_frame_may_be_one_number(name):
    frames = torch.tensor([[0.1, 0.9, 0.2, 0.5]])
    z = {"gaussian": torch.tensor([[0.45, 0.0]]), "bce with logits": torch.tensor([4.0])}.get(name, torch.tensor([0.8]))
    expected = literal(RANKABLE[name], z[0], frames[0, 1:], 1)
    assert Ranker(RANKABLE[name], Trajectories(frames, torch.tensor([4])), 3).best(z, [0], [1], [4]) == [expected]


def test_a_loss_of_one_s_own_may_bring_a_ranking():
    asked = []

    class Dot:
        def __call__(self, prediction, target):
            return -(prediction * target).sum(1)

        def ranking(self, prediction):
            asked.append(len(prediction))
            return losses.Ranking(-prediction)

    frames = torch.eye(4)[None]
    ranker = Ranker(Dot(), Trajectories(frames, torch.tensor([4])), 3)
    assert ranker.best(torch.tensor([[0.0, 1.0, 3.0, 2.0]]), [0], [1], [4]) == [2]
    assert asked == [1]


@given(
    name=st.sampled_from(["bce with logits", "squared", "gaussian"]),
    stored=st.sampled_from([torch.uint8, torch.float32]),
    moving=st.sampled_from([0, 1, 30, 900]),
    seed=st.integers(0, 2**20),
)
def test_a_still_background_changes_no_match(name, stored, moving, seed):
    g = torch.Generator().manual_seed(seed)
    frames = torch.randint(0, 256, (1, 1, 4200), generator=g).repeat(1, 8, 1)
    frames[:, :, :moving] = torch.randint(0, 256, (1, 8, moving), generator=g)
    trajectories = Trajectories(frames.to(stored), torch.tensor([8]), scale=1 / 255)
    z = torch.randn((1, 2, 4200) if name == "gaussian" else (1, 4200), generator=g)
    loss = RANKABLE[name]
    expected = literal(loss, z[0], trajectories.values()[0, 1:], 1)
    assert Ranker(loss, trajectories, 7).best(z, [0], [1], [8]) == [expected]

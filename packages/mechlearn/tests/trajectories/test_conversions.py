import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from mechlearn.trajectories import Trajectories


def ragged(lengths=(3, 5, 2)):
    return [torch.arange(n * 4, dtype=torch.float32).reshape(n, 2, 2) + 100 * b for b, n in enumerate(lengths)]


def episodes(make):
    """What a Minari data set yields: objects with observations one longer than their actions."""
    return [SimpleNamespace(observations=make(frames.numpy()), actions=frames[:-1, 0, 0].numpy()) for frames in ragged()]


def assert_same(x, expected):
    for ours, theirs in zip(x.to_list(), expected, strict=True):
        assert torch.equal(ours, theirs)


def test_minari_episodes():
    assert_same(Trajectories.from_minari(episodes(lambda frames: frames)), ragged())


def test_minari_episodes_with_observations_by_name():
    def nest(frames):
        return {"agent": {"image": frames}, "time": np.arange(len(frames))}

    assert_same(Trajectories.from_minari(episodes(nest), key="agent.image"), ragged())
    pair = episodes(lambda frames: (np.arange(len(frames)), frames))
    assert_same(Trajectories.from_minari(pair, key="1"), ragged())


@pytest.mark.parametrize(
    ("make", "key", "error", "sentence"),
    [
        (lambda frames: {"image": frames, "time": frames}, None, ValueError, r"Found entries \['image', 'time'\]. Name one"),
        (lambda frames: (frames, frames), None, ValueError, "Found a tuple of 2"),
        (lambda frames: {"image": frames}, "picture", KeyError, "one of .*image.*Found 'picture'"),
        (lambda frames: frames, "image", ValueError, "Found 'ndarray' where 'image' was asked"),
        (lambda frames: {"image": frames}, "image.left", ValueError, "Found 'ndarray' where 'left' was asked"),
    ],
)
def test_minari_mistakes(make, key, error, sentence):
    with pytest.raises(error, match=sentence):
        Trajectories.from_minari(episodes(make), key=key)


def test_what_has_no_observations_is_refused():
    with pytest.raises(TypeError, match=r"with an attribute `observations`.*Found 'ndarray' at position 0"):
        Trajectories.from_minari([np.zeros((3, 2))])


def test_lists_may_hold_anything_like_an_array():
    x = Trajectories.from_list([[[1.0, 2.0]], np.ones((2, 2), dtype=np.float32)])
    assert x.lengths.tolist() == [1, 2]
    assert x.frames[0].tolist() == [[1.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("trajectories", "sentence"),
    [
        ([], "at least one trajectory. Found none. Check what filled the list"),
        ([np.zeros((2, 3)), np.zeros((0, 3))], r"Found shape \(0, 3\) for trajectory 1"),
        ([np.zeros(())], r"Found shape \(\) for trajectory 0"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], r"Found \(3,\).* for trajectory 0 and \(4,\).* for trajectory 1"),
        ([np.zeros((2, 3)), np.zeros((2, 3), dtype=np.uint8)], r"torch.float64.*torch.uint8"),
    ],
)
def test_lists_that_do_not_stack(trajectories, sentence):
    with pytest.raises(ValueError, match=sentence):
        Trajectories.from_list(trajectories)


def test_an_array_without_lengths_is_full():
    x = Trajectories.from_numpy(np.zeros((2, 3, 4), dtype=np.uint8))
    assert x.lengths.tolist() == [3, 3]


def test_a_tensordict_comes_back_as_it_went():
    x = Trajectories.from_list(ragged())
    data = x.to_tensordict("image")
    assert tuple(data.batch_size) == (3, 5)
    assert_same(Trajectories.from_tensordict(data, "image", mask="mask"), ragged())
    again = Trajectories.from_tensordict(data, "image")
    assert again.lengths.tolist() == [3, 5, 2]
    assert_same(again, ragged())
    assert_same(Trajectories.from_tensordict(data.exclude("mask"), "image"), list(x.frames))


def test_a_mask_of_something_else_is_no_mask_of_frames():
    """Such as that of the actions one may take."""
    x = Trajectories.from_list(ragged())
    for other in (torch.zeros(3, 5, 4, dtype=torch.bool), torch.zeros(3, 5)):
        data = x.to_tensordict().set("mask", other)
        assert Trajectories.from_tensordict(data).lengths.tolist() == [5, 5, 5]
    trailing = x.to_tensordict().set("mask", x.mask[:, :, None])
    assert Trajectories.from_tensordict(trailing).lengths.tolist() == [3, 5, 2]


@pytest.mark.parametrize("shape", ["flat", "environments"])
def test_a_tensordict_is_split_by_trajectory(shape):
    """As torchrl's collectors give it: frames in a row, each with its trajectory's number."""
    frames, ids = torch.cat(ragged((3, 5, 4))), torch.tensor([7] * 3 + [2] * 5 + [4] * 4)
    data = TensorDict({"pixels": frames, "collector": {"traj_ids": ids}}, batch_size=[12])
    if shape == "environments":
        data = data.reshape(3, 4)
    x = Trajectories.from_tensordict(data, "pixels", ids=("collector", "traj_ids"))
    assert_same(x, ragged((3, 5, 4)))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ids": "ids", "mask": "mask"}, "by `ids` or by `mask`. Found both"),
        ({"mask": "holes"}, "Found a hole in the entry 'holes'. Name another"),
        ({"key": "flat"}, ""),
    ],
)
def test_tensordict_mistakes(arguments, sentence):
    data = Trajectories.from_list(ragged()).to_tensordict()
    data["holes"] = torch.tensor([True, False, True, False, False]).expand(3, 5)
    if "key" in arguments:
        with pytest.raises(ValueError, match=r"should be \(batch, time\). Found \(15,\)"):
            Trajectories.from_tensordict(data.reshape(15))
        return
    with pytest.raises(ValueError, match=sentence):
        Trajectories.from_tensordict(data, **arguments)


def test_without_tensordict_the_way_out_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensordict", None)
    with pytest.raises(ImportError, match="pip install tensordict"):
        Trajectories.from_list(ragged()).to_tensordict()


def test_a_type_that_is_asked_for_wraps_no_number():
    for frames in (np.array([[300.0], [5.0]]), [[300.0], [5.0]], [[300], [5]], torch.tensor([[300], [5]])):
        with pytest.raises(ValueError, match=r"fit in torch.uint8, 0 to 255. Found 300 in trajectory 1"):
            Trajectories.from_list([np.ones((1, 1)), frames], dtype=torch.uint8)
    with pytest.raises(ValueError, match="Found nan in trajectory 0"):
        Trajectories.from_list([np.array([[np.nan]])], dtype=torch.uint8)
    with pytest.raises(ValueError, match="Every frame should be finite"):
        Trajectories.from_list([np.array([[np.nan]])], dtype=torch.float32)
    with pytest.raises(ValueError, match=r"fit in torch.float16"):
        Trajectories.from_list([np.array([[1e6]])], dtype=torch.float16)
    assert Trajectories.from_list([[[0.1]]], dtype=torch.float64).frames.item() == 0.1
    assert Trajectories.from_list([[[2.0**24 + 1]]], dtype=torch.int64).frames.item() == 2**24 + 1


def test_arrays_that_run_backwards_or_come_from_elsewhere():
    frames = np.arange(24.0).reshape(2, 3, 4)
    for given in (frames[:, :, ::-1], frames[:, :, ::-1].astype(">f8")):
        assert torch.equal(Trajectories.from_numpy(given).frames, torch.tensor(frames).flip(2))
        assert torch.equal(Trajectories.from_list(list(given)).frames, torch.tensor(frames).flip(2))
    assert Trajectories.from_numpy(frames).frames.data_ptr() == frames.ctypes.data
    with pytest.raises(TypeError, match=r"computes with. Found torch.uint16. Convert them before, to torch.int32"):
        Trajectories.from_numpy(frames.astype(np.uint16))
    assert Trajectories.from_list([frames[0].astype(np.uint16)], dtype=torch.int32).dtype == torch.int32
    with pytest.raises(ValueError, match="Found 300 in trajectory 0"):
        Trajectories.from_list([300 + 0 * frames[0].astype(np.uint16)], dtype=torch.uint8)

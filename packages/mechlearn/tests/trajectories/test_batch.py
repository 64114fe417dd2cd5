import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mechlearn.trajectories import Trajectories


def some(lengths=(3, 5, 2), frame=(2, 4), dtype=torch.uint8):
    g = torch.Generator().manual_seed(0)
    return [torch.randint(0, 256, (n, *frame), generator=g).to(dtype) for n in lengths]


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    frame=st.sampled_from([(), (1,), (2, 3), (3, 2, 2)]),
    dtype=st.sampled_from([torch.uint8, torch.bool, torch.int64, torch.float16, torch.float32, torch.float64]),
)
def test_lists_and_arrays_come_back_as_they_went_in(lengths, frame, dtype):
    given_list = some(lengths, frame, dtype)
    x = Trajectories.from_list(given_list)
    assert (len(x), x.time, x.frame_shape, x.dtype) == (len(lengths), max(lengths), frame, dtype)
    for ours, theirs in zip(x.to_list(), given_list, strict=True):
        assert torch.equal(ours, theirs)
    again = Trajectories.from_numpy(*x.to_numpy())
    assert torch.equal(again.frames, x.frames.cpu())
    assert torch.equal(again.lengths, x.lengths)
    assert x.mask.sum(1).tolist() == lengths


def test_values_are_floats_times_the_scale():
    x = Trajectories.from_list(some(), scale=1 / 255)
    assert x.values().dtype == torch.float32
    torch.testing.assert_close(x.values(), x.frames.float() / 255)
    assert x.values(torch.float64).dtype == torch.float64
    assert torch.equal(x.at([1, 0], [4, 2]), x.values()[[1, 0], [4, 2]])
    assert torch.equal(x.at(torch.arange(3).repeat(4), [0] * 12), x.values()[[0, 1, 2] * 4, 0])
    assert torch.equal(x.first(), x.values()[:, 0])
    assert torch.equal(x.last(), x.values()[[0, 1, 2], [2, 4, 1]])


def test_bytes_take_a_quarter_of_floats():
    x = Trajectories.from_list(some())
    assert x.nbytes * 4 == x.to(dtype=torch.float32).nbytes


@pytest.mark.parametrize("rows", [[2, 0], torch.tensor([2, 0]), np.array([2, 0])])
def test_a_batch_is_chosen_and_its_padding_cut(rows):
    x = Trajectories.from_list(some(), scale=0.5)
    chosen = x[rows]
    assert (chosen.lengths.tolist(), chosen.time, chosen.scale) == ([2, 3], 3, 0.5)
    assert torch.equal(chosen[0], x[2])
    assert torch.equal(chosen[1], x[0])


def test_slices_masks_and_integers():
    x = Trajectories.from_list(some())
    assert x[1:].lengths.tolist() == [5, 2]
    assert x[1:].frames.data_ptr() == x.frames[1:].data_ptr()
    assert x[torch.tensor([True, False, True])].lengths.tolist() == [3, 2]
    assert torch.equal(x[np.int64(1)], some()[1])
    assert torch.equal(x[-1], some()[2])
    assert len(list(x)) == 3
    with pytest.raises(ValueError, match="at least one trajectory"):
        x[[]]


@pytest.mark.parametrize("rows", [torch.tensor([[0, 1]]), np.zeros((3, 1), dtype=bool), torch.tensor(1)])
def test_an_index_has_one_dimension(rows):
    with pytest.raises(ValueError, match=r"one dimension of positions or bools. Found shape \("):
        Trajectories.from_list(some())[rows]


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float64])
def test_a_number_too_large_for_a_type_is_refused(dtype):
    frames = torch.tensor([[1.0, 7e4], [2.0, 7e4]]).to(dtype)
    with pytest.raises(ValueError, match=r"fit in torch.float16, at most 65504. Found a larger one in trajectory 1"):
        Trajectories(frames, torch.tensor([1, 2])).to(dtype=torch.float16)
    padding = Trajectories(frames, torch.tensor([1, 1]))
    assert padding.to(dtype=torch.float16).first().tolist() == [1, 2]
    assert padding.to(dtype=torch.bfloat16).frames.isfinite().all()


def test_frames_become_no_complex_numbers():
    with pytest.raises(TypeError, match=r"`frames` should be real numbers. Found torch.complex64"):
        Trajectories.from_list(some()).to(dtype=torch.complex64)


def test_padding_is_cut_and_filled():
    x = Trajectories.from_list(some())
    assert x.padded(7).frames[:, 5:].eq(0).all()
    assert x.padded(7).padded(5).time == 5
    with pytest.raises(ValueError, match=r"at least the longest trajectory's length, 5. Found 4"):
        x.padded(4)


def test_parts_are_concatenated():
    parts = [Trajectories.from_list(some((3, 5))), Trajectories.from_list(some((2, 7)))]
    whole = Trajectories.concatenated(parts)
    assert whole.lengths.tolist() == [3, 5, 2, 7]
    assert torch.equal(whole[2], parts[1][0])
    rising = [Trajectories(torch.full((1, 2), peak), torch.tensor([2])) for peak in (1.0, 3.0)]
    assert Trajectories.concatenated(rising).peak == 3
    with pytest.raises(ValueError, match="agree in frame shape, type and scale"):
        Trajectories.concatenated([parts[0], parts[1].to(dtype=torch.float32)])
    with pytest.raises(ValueError, match="at least one batch"):
        Trajectories.concatenated([])


def test_it_says_what_it_is():
    x = Trajectories.from_list(some(), scale=1 / 255)
    where = x.frames.device
    assert repr(x) == f"Trajectories(3 of 2 to 5 frames, each 2x4, torch.uint8 times 0.00392157, on {where})"


def test_padding_may_hold_anything():
    frames = torch.rand(2, 4, 3)
    frames[0, 2:] = math.nan
    x = Trajectories(frames, torch.tensor([2, 4]))
    assert x.peak <= 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_frame_that_is_not_finite_is_named(bad, dtype):
    frames = torch.zeros(3, 6, 2, dtype=dtype)
    frames[1, 4, 1] = bad
    frames[1, 3, 0] = bad
    with pytest.raises(ValueError, match=r"Found NaN or infinity in trajectory 1, frame 3 and 1 more"):
        Trajectories(frames, torch.tensor([6, 6, 6]))


@pytest.mark.parametrize(
    ("frames", "lengths", "scale", "error", "sentence"),
    [
        (torch.zeros(4), torch.tensor([4]), 1.0, ValueError, r"\(batch, time, \*frame\).*Found shape \(4,\)"),
        (torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64), 1.0, ValueError, "at least one trajectory"),
        (torch.zeros(2, 4), torch.tensor([4, 5]), 1.0, ValueError, "at most 4, the padded number of frames. Found 5 for traj"),
        (torch.zeros(2, 4), torch.tensor([0, -1]), 1.0, ValueError, "at least 1. Found 0 for trajectory 0 and 1 more"),
        (
            torch.zeros(2, 4),
            torch.tensor([4]),
            1.0,
            ValueError,
            r"one length for each of the 2 trajectories. Found shape \(1,\)",
        ),
        (torch.zeros(2, 4), torch.tensor([4, 3]), 0.0, ValueError, "`scale` should be a finite number above 0.*Found 0.0"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(frames, lengths, scale, error, sentence):
    # The class is made without its annotations' checks, which only tests have.
    made = object.__new__(Trajectories)
    for name, value in {"frames": frames, "lengths": lengths, "scale": scale}.items():
        object.__setattr__(made, name, value)
    with pytest.raises(error, match=sentence):
        made.__post_init__()


@pytest.mark.parametrize(
    ("frames", "lengths", "sentence"),
    [
        (torch.zeros(2, 4), torch.tensor([2.0, 3.0]), "`lengths` should be integers. Found torch.float32"),
        (torch.zeros(2, 4), [3, 2], r"`lengths` should be a tensor of integers. Found list. Pass torch.tensor\(lengths\)"),
        (np.zeros((2, 4)), torch.tensor([3, 2]), "`frames` should be a tensor. Found ndarray. Trajectories.from_numpy"),
        (torch.zeros(2, 4, dtype=torch.complex64), torch.tensor([3, 2]), "real numbers. Found torch.complex64. Split them"),
        (torch.zeros(2, 4, device="meta"), torch.tensor([3, 2]), "`frames` should hold data. Found a tensor on the"),
        (torch.zeros(2, 4), torch.ones(2, dtype=torch.int64, device="meta"), "`lengths` should hold data"),
        (torch.zeros(2, 4).to_sparse(), torch.tensor([3, 2]), "`frames` should be dense. Found torch.sparse_coo"),
        (
            torch.zeros(2, 4),
            torch.nested.nested_tensor([torch.tensor([3, 2])], layout=torch.jagged),
            "`lengths` should be dense. Found a nested one",
        ),
    ],
)
def test_frames_are_real_tensors_and_lengths_integer_ones(frames, lengths, sentence):
    made = object.__new__(Trajectories)
    for name, value in {"frames": frames, "lengths": lengths, "scale": 1.0}.items():
        object.__setattr__(made, name, value)
    with pytest.raises(TypeError, match=sentence):
        made.__post_init__()


def test_what_lies_behind_a_trajectory_is_no_frame_of_its_own():
    x = Trajectories.from_list(some())
    for rows, times, sentence in [
        ([0], [3], r"`times` should be of a trajectory's own frames, 0 to 2 in trajectory 0\. Found 3"),
        ([1, 2], [4, -1], r"0 to 1 in trajectory 2\. Found -1"),
        ([3], [0], r"`rows` should lie below 3.*Found 3"),
        ([0, 1], [0], r"a time for each trajectory.*Found shapes \(2,\) and \(1,\)"),
    ]:
        with pytest.raises(IndexError, match=sentence):
            x.at(rows, times)


@pytest.mark.parametrize(
    ("stored", "dtype", "taken"),
    [
        (torch.tensor([[1000, 2]]), torch.int8, False),
        (torch.tensor([[127, -128]]), torch.int8, True),
        (torch.tensor([[1.0, -3.0]]), torch.uint8, False),
        (torch.tensor([[1.0, 300.0]]), torch.int16, True),
        (torch.tensor([[200, 3]], dtype=torch.uint8), torch.int8, False),
        (torch.tensor([[100, 3]], dtype=torch.uint8), torch.int8, True),
        (torch.tensor([[2.0, 0.0]]), torch.bool, True),
    ],
)
def test_a_whole_type_wraps_no_number(stored, dtype, taken):
    x = Trajectories(stored, torch.tensor([2]))
    if taken:
        assert x.to(dtype=dtype).frames.tolist() == stored.to(dtype).tolist()
    else:
        with pytest.raises(ValueError, match=r"Every number should fit in .*which would become another"):
            x.to(dtype=dtype)
    padded = Trajectories(torch.tensor([[1, 1000]]), torch.tensor([1]))  # what lies behind is looked at by nobody
    assert padded.to(dtype=torch.int8).frames[0, 0] == 1


def test_trajectories_are_chosen_backwards_and_never_beyond_their_number():
    x = Trajectories(torch.arange(6.0).reshape(3, 2, 1), torch.tensor([2, 1, 2]))
    assert x[::-1].frames[:, 0, 0].tolist() == [4, 2, 0]
    assert x[[-1, 0]].frames[:, 0, 0].tolist() == [4, 0]
    for rows in (3, -4, [0, 3], torch.tensor([-4])):
        with pytest.raises(IndexError, match=r"`rows` should be numbers from 0 to 2\. Found (3|-4)\. Negative ones"):
            x[rows]
    with pytest.raises(IndexError, match=r"one bool for each of 3 trajectories. Found 2"):
        x[torch.tensor([True, False])]

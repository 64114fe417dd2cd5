"""What users hand in by mistake, past the annotations' checks that only tests have."""

import inspect
import math

import numpy as np
import pytest
import torch

from mechlearn import losses
from mechlearn.skips import Dynamics, Fixed, Greedy, match, rollout
from mechlearn.skips.dynamics import check_kinds
from mechlearn.skips.matchings.draws import draw
from mechlearn.skips.rollout import _check, _chosen
from mechlearn.trajectories import Trajectories
from mechlearn.trajectories.conversions import pad

X = Trajectories(torch.rand(2, 5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([5, 3]))


def same(frames):
    return frames


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: check_kinds(Dynamics(same, losses.SquaredError()), X.frames),
            "Found Tensor.*Trajectories\\(frames, lengths\\)",
        ),
        (lambda: check_kinds(Dynamics(same, losses.SquaredError()), [X.frames]), "Found list"),
        (lambda: check_kinds(same, X), "`dynamics` should be skips.Dynamics. Found function.*Dynamics\\(model, loss\\)"),
        (lambda: inspect.unwrap(rollout)(same, X.first(), max_steps=2), "Found function"),
        (lambda: inspect.unwrap(_check)(X, 2, None), "`first` should be a tensor.*Found Trajectories.*first\\(\\) gives them"),
        (lambda: inspect.unwrap(_check)(X.first(), 2.5, None), "`max_steps` should be a whole number.*Found 2.5"),
        (lambda: inspect.unwrap(_check)(X.first(), 2, "1"), "`fixed_point` should be a number.*Found '1'"),
        (lambda: inspect.unwrap(_chosen)({"a": 1}), "`policy` should return one tensor.*Found dict"),
        (lambda: inspect.unwrap(draw)(0, [3]), "`generator` should be a torch.Generator.*Found int"),
        (lambda: inspect.unwrap(draw)([0, 1], [3, 3]), "Found int"),
        (lambda: pad([{"a": np.zeros(3)}]), "Found dict with entries \\['a'\\] for trajectory 0"),
        (lambda: pad([[{"a": 1}, {"a": 2}]]), "Found list for trajectory 0, which is none"),
        (lambda: pad({"a": np.zeros(3)}), "Found str for trajectory 0"),
        (lambda: pad([[np.zeros(3), np.zeros(2)]]), "one shape"),
    ],
)
def test_another_type_is_refused_with_a_sentence(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call()


def test_a_tensordict_is_no_trajectory():
    tensordict = pytest.importorskip("tensordict")
    data = tensordict.TensorDict({"image": torch.zeros(4, 2), "place": torch.zeros(4, 1)}, batch_size=[4])
    with pytest.raises(TypeError, match=r"Found TensorDict with entries \['image', 'place'\] for trajectory 0"):
        pad([data])


@pytest.mark.parametrize(
    "make", [lambda: Trajectories.from_list([np.zeros((3, 0))]), lambda: Trajectories.from_numpy(np.zeros((2, 3, 0)))]
)
def test_frames_without_elements_are_refused(make):
    with pytest.raises(ValueError, match="Frames should have elements"):
        make()


@pytest.mark.parametrize("kind", [losses.BinaryCrossEntropyWithLogits, losses.BinaryCrossEntropy])
@pytest.mark.parametrize(
    ("frames", "scale", "sentence"),
    [
        (X.frames * 255, 1.0, r"at most 1. Found 2\d\d.* stored in torch.float32 with scale=1.*1/255"),
        (X.frames - 0.5, 1.0, "at least 0. Found -0.4"),
        ((X.frames * 255).to(torch.int16) - 9, 1 / 255, "at least 0. Found -"),
    ],
)
def test_pictures_out_of_range_are_refused_under_a_cross_entropy(kind, frames, scale, sentence):
    with pytest.raises(ValueError, match=sentence):
        match(Dynamics(torch.sigmoid, kind()), Trajectories(frames, X.lengths, scale), Greedy(2))


def test_what_lies_in_range_is_not_refused_for_padding_or_for_company():
    frames = X.frames.clone()
    frames[1, 3:] = -7.0  # padding
    assert match(Dynamics(same, losses.BinaryCrossEntropyWithLogits()), Trajectories(frames, X.lengths), Greedy(2)).loss > 0
    frames[1, 2] = -7.0
    assert match(Dynamics(same, losses.BinaryCrossEntropyWithLogits()), Trajectories(frames, X.lengths)[:1], Greedy(2)).loss > 0
    scaled = Trajectories(X.frames * 255, X.lengths, 1 / 255)
    assert match(Dynamics(same, losses.BinaryCrossEntropyWithLogits()), scaled, Greedy(2)).loss > 0


def test_a_loss_says_the_least_that_a_target_may_be():
    def loss(z, x):
        return (z - x).square().flatten(1).mean(1)

    loss.largest_target, loss.smallest_target = 1.0, -1.0
    assert match(Dynamics(same, loss), Trajectories(X.frames - 0.5, X.lengths), Greedy(2)).loss > 0
    with pytest.raises(ValueError, match="at least -1"):
        match(Dynamics(same, loss), Trajectories(X.frames - 2, X.lengths), Greedy(2))


def test_predictions_wider_than_frames_are_refused():
    with pytest.raises(TypeError, match=r"Found torch.float64 for frames of torch.float32.*trajectories.to\(dtype="):
        match(Dynamics(lambda x: x.double(), losses.SquaredError()), X, Greedy(2))
    assert match(Dynamics(lambda x: x.half(), losses.SquaredError()), X, Greedy(2)).loss.dtype == torch.float32


@pytest.mark.parametrize("matching", [Greedy(2), Fixed(1)])
def test_logits_given_to_a_loss_of_probabilities_are_called_so(matching):
    with pytest.raises(
        ValueError, match=r"BinaryCrossEntropy compares probabilities.*as logits are. Take BinaryCrossEntropyWithL"
    ):
        match(Dynamics(lambda x: 9 * x - 4, losses.BinaryCrossEntropy()), X, matching)


def test_a_static_context_with_nan_is_called_data():
    with pytest.raises(ValueError, match=r"`context` should be finite. Found NaN or infinity in entry 1. Repair the data"):
        match(Dynamics(lambda x, c: x, losses.SquaredError(), torch.tensor([0.0, math.nan])), X, Greedy(2))


def test_half_precision_is_ranked_in_single():
    """In float16 the square of 300 is infinite, though every loss is small."""
    steps = torch.tensor([[0.0, 2.0, 1.0, 3.0, 4.0, 7.0]])
    x = Trajectories((300 + steps[..., None].expand(1, 6, 8)).half(), torch.tensor([6]))
    ours = match(Dynamics(lambda frames: frames + 1, losses.SquaredError()), x, Greedy(3))
    wide = match(Dynamics(lambda frames: frames + 1, losses.SquaredError()), x.to(dtype=torch.float64), Greedy(3))
    assert torch.equal(ours.matched, wide.matched)
    assert ours.loss.isfinite()


def test_numpy_comes_in_the_type_that_is_asked_for():
    ragged = [np.ones((3, 2)), np.zeros((5, 2), dtype=np.float32)]
    x = Trajectories.from_list(ragged, dtype=torch.float32)
    assert x.dtype == torch.float32
    assert x.lengths.tolist() == [3, 5]
    assert (x.low, x.peak) == (0.0, 1.0)

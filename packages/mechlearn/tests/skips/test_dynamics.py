import dataclasses

import pytest
import torch

from mechlearn.losses import BinaryCrossEntropyWithLogits, SquaredError
from mechlearn.skips import Actions, Dynamics

FRAMES = torch.zeros(2, 3)


def identity(frames):
    return frames


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": 3}, "`model` should be a function of tensors. Found int"),
        ({"loss": None}, "`loss` should be a function of tensors. Found NoneType"),
        ({"compare": "encoder"}, "`compare` should be a function of tensors. Found str"),
        ({"feedback": 0.5}, "`feedback` should be a function of tensors. Found float"),
        ({"context": identity}, r"or Options\(...\). Found function. .*rollout\(..., policy=...\)"),
        ({"targets": FRAMES}, "`targets` should be Trajectories. Found Tensor. mechlearn.skips.encoded"),
    ],
)
def test_what_cannot_be_is_refused_once(changes, sentence):
    parts = {"model": identity, "loss": SquaredError()} | changes
    made = object.__new__(Dynamics)  # without its annotations' checks, which only tests have
    for field in dataclasses.fields(Dynamics):
        object.__setattr__(made, field.name, parts.get(field.name))
    with pytest.raises(TypeError, match=sentence):
        made.__post_init__()


def test_a_model_is_given_what_belongs_to_its_frames():
    rows, times, here = [1, 0], [0, 1], torch.device("cpu")
    assert Dynamics(identity, SquaredError()).given(rows, times, here) is None
    static = Dynamics(identity, SquaredError(), torch.tensor([[1.0], [2.0]]))
    assert static.given(rows, times, here).tolist() == [[2.0], [1.0]]
    actions = Dynamics(identity, SquaredError(), Actions(torch.arange(4.0).reshape(2, 2, 1)))
    assert actions.given(rows, times, here).tolist() == [[2.0], [1.0]]


def test_feedback_stands_in_the_place_of_the_loss_s_own_way():
    by_loss, by_hand = Dynamics(identity, loss := BinaryCrossEntropyWithLogits()), Dynamics(identity, loss, feedback=identity)
    assert by_loss.fed(FRAMES, (3,)).tolist() == [[0.5] * 3] * 2
    assert by_hand.fed(FRAMES, (3,)).tolist() == FRAMES.tolist()

import pytest
import torch

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.tasks.boards.xor import xor
from mechlearn_zoo.tasks.streams import same_stream, stream


def test_seeds_and_names_have_streams_of_their_own():
    seeds = [0, 1, 2**32, 2**32 + 1, 2**40]
    streams = [stream(seed, *names) for seed in seeds for names in ((), ("a",), ("b",), ("a", 0), ("a", 1), ("a0",))]
    drawn = torch.stack([torch.rand(4, generator=generator) for generator in streams])
    assert len(drawn.unique(dim=0)) == len(streams)
    plain = torch.rand(4, generator=torch.Generator().manual_seed(0))
    assert not (drawn == plain).all(1).any()
    assert torch.equal(torch.rand(4, generator=torch.Generator().manual_seed(2**32)), plain)  # why there are streams
    assert torch.equal(torch.rand(4, generator=same_stream(0)), plain)


def test_a_stream_is_the_same_again():
    assert torch.equal(torch.randn(5, generator=stream(3, "x", 1)), torch.randn(5, generator=stream(3, "x", 1)))
    assert stream(100, "student").initial_seed() == 2468450685


@pytest.mark.parametrize(("seed", "error"), [("1", TypeError), (1.5, TypeError), (True, TypeError), (-1, ValueError)])
def test_a_seed_is_a_whole_number(seed, error):
    with pytest.raises(error, match="seed"):
        stream(seed, "x")


def test_a_student_does_not_start_with_what_task_a_hides():
    """It did while the task drew from `manual_seed(seed)`: the same draw, with the same bound, of the same numbers."""
    data = xor(7, 64, 500)
    student = relu_mlp((64, 32), torch.Generator().manual_seed(7))
    weight = student[0].weight.detach()
    hidden = data.train.privileged[:, 2:] * data.train.privileged[:, :2]
    found = torch.corrcoef(torch.cat([(data.train.x @ weight[:2].T).T, hidden.T]))[:2, 2:]
    assert found.abs().max() < 0.6

import pytest
import torch
from torch import nn

from mechlearn_zoo.nn.convolutions import fast_resnet, trajectory_network


def test_a_trajectory_network_convolves_over_time_and_keeps_its_length():
    model = trajectory_network(3, 16, (4, 5), 6, 8, torch.Generator().manual_seed(0))
    assert model(torch.randn(2, 16, 3, generator=torch.Generator().manual_seed(1))).shape == (2, 8)
    convolutions = [module for module in model if isinstance(module, nn.Conv1d)]
    assert [(c.in_channels, c.out_channels, c.kernel_size) for c in convolutions] == [(3, 4, (3,)), (4, 5, (3,))]
    # Frames are the convolutions' axis: one that moves by a place moves what comes out by a place.
    impulse = torch.zeros(1, 16, 3)
    impulse[0, 7, 0] = 1
    first = model[:2]
    torch.testing.assert_close(first(impulse).roll(1, dims=2), first(impulse.roll(1, dims=1)))


def test_it_does_not_touch_the_global_generator():
    before = torch.random.get_rng_state()
    trajectory_network(2, 3, (4,), 5, 6, torch.Generator().manual_seed(0))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("norm", ["group", "batch"])
def test_fast_resnet_is_drawn_from_its_generator(norm):
    state = torch.get_rng_state()
    first, second, other = (
        fast_resnet(1, 10, torch.Generator().manual_seed(seed), width=8, norm=norm).state_dict() for seed in (0, 0, 1)
    )
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["0.0.weight"], other["0.0.weight"])


def test_fast_resnet_has_the_published_size():
    model = fast_resnet(3, 10, torch.Generator().manual_seed(0))
    assert sum(p.numel() for p in model.parameters()) == 6_573_120
    small = fast_resnet(1, 10, torch.Generator().manual_seed(0), width=8, norm="group")
    assert small(torch.rand(2, 1, 8, 8)).shape == (2, 10)


def test_the_global_generator_is_never_drawn_from(as_installed):
    before = torch.get_rng_state()
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        fast_resnet(3, 2, None, width=8)
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        trajectory_network(2, 4, (3, 3), 4, 1, None)
    assert torch.equal(torch.get_rng_state(), before)

import pytest
import torch

from craik.nn.residual import fast_resnet


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

import pytest
import torch
from torch import nn

from mechlearn import params


def test_parameters_and_constants_share_out_a_module():
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    module[0].bias.requires_grad_(False)
    trainable, constants = params.parameters_of(module), params.constants_of(module)
    assert set(trainable) == {"0.weight", "1.weight", "1.bias"}
    assert set(constants) == {"0.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"}
    assert trainable["0.weight"].data_ptr() == module[0].weight.data_ptr()
    assert not trainable["0.weight"].requires_grad
    constants["1.running_mean"].add_(1)  # a copy
    assert module[1].running_mean.abs().max() == 0


def test_operations():
    first, second = (
        {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(3.0)},
        {"a": torch.tensor([4.0, 5.0]), "b": torch.tensor(6.0)},
    )
    assert params.dot(first, second) == 4 + 10 + 18
    assert params.map_params(torch.add, first, second)["a"].tolist() == [5.0, 7.0]
    assert params.zeros_like(first)["b"] == 0
    assert params.count_bytes(first.values()) == 12
    assert params.add_scaled(first, 2.0, second)["a"].tolist() == [9.0, 12.0]
    made = params.leaves(first)
    assert made["a"].requires_grad
    assert made["a"].is_leaf
    with pytest.raises(KeyError):
        params.dot(first, {"a": torch.ones(2)})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_an_inner_product_of_half_types_does_not_overflow(dtype):
    found = params.dot({"a": torch.full((4,), 200.0, dtype=dtype)}, {"a": torch.full((4,), 200.0, dtype=dtype)})
    assert found.item() == 160000
    assert found.dtype == torch.promote_types(dtype, torch.float32)

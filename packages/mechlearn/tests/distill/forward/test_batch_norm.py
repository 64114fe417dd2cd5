import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, vmap

import distill_models as models
from mechlearn.distill.forward.batch_norm import BatchByBatch

KINDS = {
    "vectors": (nn.BatchNorm1d(5), (4, 6, 5)),
    "sequences": (nn.BatchNorm1d(5), (4, 3, 5, 7)),
    "pictures": (nn.BatchNorm2d(3), (2, 4, 3, 2, 3)),
    "plain": (nn.BatchNorm1d(5, affine=False, track_running_stats=False), (3, 6, 5)),
    "evaluating": (nn.BatchNorm1d(5).eval(), (3, 6, 5)),
}


def tracked(norm):
    return {name: buffer.detach().clone() for name, buffer in norm.named_buffers()}


def found(norm, x, weights):
    """Outputs, gradients by x and parameters, and buffers of n batches at once."""
    x, copies = x.clone().requires_grad_(), {name: b.expand(len(x), *b.shape).clone() for name, b in tracked(norm).items()}
    params = {name: p.detach().clone().requires_grad_() for name, p in norm.named_parameters()}
    with BatchByBatch():
        output = vmap(lambda buffers, batch: functional_call(norm, buffers | params, (batch,)))(copies, x)
    return output, torch.autograd.grad(output, [x, *params.values()], weights), copies


@pytest.mark.parametrize("kind", KINDS)
def test_n_batches_at_once_are_batch_after_batch(kind):
    given, shape = KINDS[kind]
    norm = copy.deepcopy(given).double()
    with torch.no_grad():
        for k, parameter in enumerate(norm.parameters()):
            parameter.copy_(models.randn(k, *parameter.shape))
    x, weights = models.randn(7, *shape), models.randn(8, *shape)
    output, gradients, buffers = found(norm, x, weights)

    leaf, each = x.clone().requires_grad_(), []
    for i, batch in enumerate(leaf):
        one = copy.deepcopy(norm)
        for (name, p), q in zip(norm.named_parameters(), one.parameters(), strict=True):
            one.register_parameter(name, p)
            assert p.shape == q.shape
        each.append(one(batch))
        for name, buffer in one.named_buffers():
            torch.testing.assert_close(buffers[name][i], buffer)
    torch.testing.assert_close(output, torch.stack(each))
    expected = torch.autograd.grad(torch.stack(each), [leaf, *norm.parameters()], weights)
    for ours, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_weights_of_each_batch_s_own():
    x, scale, shift = models.randn(0, 3, 6, 5), models.randn(1, 3, 5), models.randn(2, 5)

    def normalised(batch, scale):
        return nn.functional.batch_norm(batch, None, None, scale, shift, True)

    with BatchByBatch():
        output = vmap(normalised)(x, scale)
    torch.testing.assert_close(output, torch.stack([normalised(a, b) for a, b in zip(x, scale, strict=True)]))


def test_a_single_value_has_torch_s_sentence():
    with BatchByBatch(), pytest.raises(ValueError, match="more than 1 value per channel"):
        vmap(nn.BatchNorm1d(5, track_running_stats=False).double())(models.randn(0, 3, 1, 5))

"""The Triton kernel on a CPU, in Triton's interpreter, against a float64 oracle. Run by test_gpu.py in a process of its own.

TRITON_INTERPRET=1 must be in the environment: it is read when Triton is imported.

All numbers are small integers, so that float32 forms every gradient without rounding: sums and signs must be equal bit for bit.
"""

import sys

import torch
from torch import nn

import oracles
from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.engine import forward
from mechlearn.agreement.engine.layers import gpu
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.kernels import triton_tiles
from mechlearn.agreement.rules import Statistics, required_count


def integers(generator, *shape):
    return torch.randint(-2, 3, shape, generator=generator).float()


def compare(layer, shape, ids):
    """One backward pass of a layer through the kernel, against stacked float64 gradients."""
    generator = torch.Generator().manual_seed(0)
    for parameter in layer.parameters():
        parameter.data = integers(generator, *parameter.shape)
    ids = torch.tensor(ids)
    x = integers(generator, len(ids), *shape)
    readout = integers(generator, *layer(x).shape)

    def loss(output, target):
        return (output * target).flatten(1).sum(1)

    layer.double()
    stacks = {k: v * 4 for k, v in oracles.stacked_gradients(layer, loss, x.double(), readout.double(), ids).items()}
    layer.float().zero_grad()
    with Agreement(layer, AndMask(0.5)) as agreement:
        # Sizes of environments divide 4: what is summed stays an integer.
        record = agreement.backward(4 * loss(layer(x), readout), ids)
    assert set(record.paths.values()) == {"layer"}, record.paths
    gradient, _ = oracles.combine("and-mask", stacks["weight"], "0.5")
    found, expected = layer.weight.grad, gradient.float()
    assert torch.equal(found, expected), (layer, shape, ids, int((found != expected).sum()), (found - expected).abs().max())


def compare_steps(steps, environments, positions=()):
    """Factors that lie step by step, against environments one by one."""
    generator = torch.Generator().manual_seed(1)
    left, right = (integers(generator, steps, 2 * environments, *positions, features) for features in (5, 3))
    sums = RunningSums(torch.zeros(5, 3), AndMask.needs)
    gpu.add_steps(sums, left, right, environments)
    each = [
        torch.einsum("to,ti->oi", *(t[:, 2 * e : 2 * e + 2].reshape(-1, t.shape[-1]) for t in (left, right)))
        for e in range(environments)
    ]
    stack = torch.stack(each)
    assert torch.equal(sums.gradient, stack.sum(0))
    assert torch.equal(sums.sign, stack.sign().sum(0))


def compare_masks(shape, environments, threshold):
    """The mask in one pass against the rule's own operations, zeros' signs included; what is not finite is found."""
    generator = torch.Generator().manual_seed(2)
    gradient = integers(generator, *shape) / 3
    sign = torch.randint(-environments, environments + 1, shape, generator=generator).float()
    expected, survives = AndMask(threshold).consume(Statistics(environments, gradient.clone(), sign.clone()))
    count, fine = gpu.masked_mean(gradient, sign, environments, required_count(threshold, environments))
    assert torch.equal(gradient.view(torch.int32), expected.view(torch.int32))
    assert bool(fine)
    assert int(count) == int(survives.sum())
    for wrong in (torch.nan, torch.inf, -torch.inf):
        gradient.view(-1)[-1] = wrong
        assert not bool(gpu.masked_mean(gradient.clone(), sign, environments, 0)[1])


def main():
    for steps, environments, positions in ((9, 3, ()), (1, 2, ()), (8, 2, (3,))):
        compare_steps(steps, environments, positions)
    for shape, environments, threshold in (((3, 5), 3, 0.5), ((70, 41), 7, 1.0), ((1024,), 4, 0.0), ((2, 3, 7), 5, 0.2)):
        compare_masks(shape, environments, threshold)
    taken = []
    forward.SMALL = 0  # gradients of small matrices would lie side by side, and never come to the kernel
    gpu.usable = lambda sums, deltas: deltas.dtype == torch.float32 and not taken.append(deltas.shape)
    # One program goes through all environments, or each through one, or through two.
    for programs, ids in ((1, [0, 1, 2, 3]), (512, [0, 0, 1, 1, 2, 2]), (2, [2, 0, 0, 1, 0, 2, 0])):
        triton_tiles.PROGRAMS = programs
        compare(nn.Linear(5, 3), (4, 5), ids)
        compare(nn.Linear(70, 66, bias=False), (2, 3, 70), ids)
        compare(nn.Conv1d(4, 6, 3, 2, 1, 2, groups=2), (4, 11), ids)
        for stride, padding, dilation, groups in (((2, 1), (1, 2), 1, 1), (1, 0, (1, 2), 2), ((1, 2), (2, 1), (2, 1), 2)):
            compare(nn.Conv2d(4, 6, (3, 2), stride, padding, dilation, groups), (4, 6, 7), ids)
    compare(nn.Conv2d(8, 70, 3, padding=1), (8, 5, 5), list(range(6)))
    assert len(taken) >= 19, len(taken)
    sys.stdout.write(f"{len(taken)} sums\n")


if __name__ == "__main__":
    main()

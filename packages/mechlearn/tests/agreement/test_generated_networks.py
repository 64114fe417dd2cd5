"""Networks put together at random from every layer with formulas, with shared layers, in one call or in several."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import rules_oracles
from cpu_alone import ON_A_GPU
from mechlearn.agreement import Agreement, AndMask, GeometricMean, XorMask

CHANNELS, LENGTH, TOKENS = 4, 6, 7
RULES = {"and-mask": AndMask(0.6), "xor-mask": XorMask(0.6), "geometric mean": GeometricMean(0.6)}


class Attention(nn.Module):
    """One head of self-attention over channels, its projections layers of their own."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(LENGTH, LENGTH) for _ in range(4))

    def forward(self, x):
        return self.out(nn.functional.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x)))


class Image(nn.Module):
    """A convolution over more dimensions: what has n of them is folded into an image of height 2, or a volume."""

    def __init__(self, layer, *shape):
        super().__init__()
        self.layer, self.shape = layer, shape

    def forward(self, x):
        return self.layer(x.unflatten(2, self.shape)).flatten(2)


class Looked(nn.Module):
    """Adds what a table holds of tokens that follow from the input's first channel."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(TOKENS, LENGTH, padding_idx=1)

    def forward(self, x):
        return x + self.table((x.detach()[:, 0] * 5).long().abs() % TOKENS).mean(1, keepdim=True)


BLOCKS = {
    "linear": lambda: nn.Linear(LENGTH, LENGTH),
    "attention": Attention,
    "conv1d": lambda: nn.Conv1d(CHANNELS, CHANNELS, 3, padding=1, groups=2),
    "conv2d": lambda: Image(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=2, dilation=2), 2, 3),
    "conv3d": lambda: Image(nn.Conv3d(CHANNELS, CHANNELS, (1, 3, 1), padding="same", bias=False), 1, 3, 2),
    "embedding": Looked,
    "layer norm": lambda: nn.LayerNorm(LENGTH),
    "group norm": lambda: nn.GroupNorm(2, CHANNELS),
    "batch norm": lambda: nn.BatchNorm1d(CHANNELS).eval(),
}


class Network(nn.Module):
    """Residual blocks, some of which may be one and the same, and a head."""

    def __init__(self, names):
        super().__init__()
        self.blocks = nn.ModuleDict({name: BLOCKS[name]() for name in dict.fromkeys(names)})
        self.names, self.head = names, nn.Linear(CHANNELS * LENGTH, 2)

    def forward(self, x):
        for name in self.names:
            x = torch.tanh(x + self.blocks[name](x))
        return self.head(x.flatten(1))


def build(names, seed, dtype):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Network(names).to(dtype)
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
    return model


def draw(seed, count, dtype):
    return torch.randn(count, CHANNELS, LENGTH, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def losses_of(model, x):
    return (model(x) - 1).square().mean(1)


def stacks_of(model, x, ids):
    """(E, *p) gradients of each environment's mean loss, from a forward pass of its own."""
    gradients = [torch.autograd.grad(losses_of(model, x[ids == e]).mean(), list(model.parameters())) for e in ids.unique()]
    return [torch.stack(one) for one in zip(*gradients, strict=True)]


SIZES = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), min_size=1, max_size=3)
"""For each call, the sizes of the environments it holds: no call but the only one holds them all."""


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=15)
@given(
    names=st.lists(st.sampled_from(list(BLOCKS)), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
    calls=SIZES.filter(lambda calls: sum(map(len, calls)) > 1),
    shuffled=st.booleans(),
)
def test_equals_stacked_gradients(rule, names, seed, calls, shuffled):
    model = build(names, seed, torch.float64)
    sizes = torch.tensor([size for call in calls for size in call])
    x, ids = draw(seed, int(sizes.sum()), torch.float64), torch.arange(len(sizes)).repeat_interleave(sizes)
    stacks = stacks_of(model, x, ids)
    with Agreement(model, RULES[rule]) as agreement:
        ends = torch.tensor([sum(call) for call in calls]).cumsum(0)
        for k, rows in enumerate(torch.arange(len(ids)).tensor_split(ends[:-1].cpu())):
            some = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))] if shuffled else rows
            end = agreement.backward if k == len(calls) - 1 else agreement.accumulate
            record = end(losses_of(model, x[some]), ids[some])
    # A key's bias moves all of a query's scores alike, which a softmax ignores: of noise alone no formula is verified.
    assert {n for n, path in record.paths.items() if path == "per-environment"} <= {"blocks.attention.key.bias"}
    for parameter, stack in zip(model.parameters(), stacks, strict=True):
        gradient, mask = rules_oracles.combine(rule, stack, "0.6")
        scale = float(stack.abs().max())
        # Where a gradient is 0 in theory (a key's bias before a softmax) its sign is rounding noise.
        clear = ((stack == 0) | (stack.abs() > 1e-12 * scale)).all(0) & torch.tensor(scale > 1e-12)
        torch.testing.assert_close(parameter.grad[clear], gradient[clear], rtol=1e-12, atol=1e-12 * scale)
        if rule != "geometric mean":
            assert torch.equal((parameter.grad != 0)[clear], (mask & (stack.sum(0) != 0))[clear])


@pytest.mark.parametrize("name", BLOCKS)
def test_autocast_keeps_the_path_and_comes_close(name):
    model = build([name, "linear"], 3, torch.float32)
    x, ids = draw(3, 24, torch.float32), torch.arange(6).repeat_interleave(4)
    stacks = stacks_of(model, x, ids)
    with Agreement(model, AndMask(0.6)) as agreement:
        with torch.autocast(x.device.type, torch.bfloat16):
            losses = losses_of(model, x)
        record = agreement.backward(losses, ids)
    assert set(record.paths.values()) == {"layer"}
    for (key, parameter), stack in zip(model.named_parameters(), stacks, strict=True):
        assert parameter.grad.dtype == torch.float32
        clear = (stack.abs() > 0.05 * stack.abs().max()).all(0)  # so that bfloat16 does not turn a sign
        gradient, _ = rules_oracles.combine("and-mask", stack, "0.6")
        off = (parameter.grad - gradient)[clear].norm()
        noise = 1e-6 if ON_A_GPU else 0.0  # of a key's bias, whose gradient is 0 in theory, 4e-8 is left there
        assert off <= 0.1 * gradient[clear].norm() + noise, key

"""Small models and batches that several tests of the agreement share."""

import torch
from torch import nn


def squared(output, y):
    return ((output.flatten(1) - y) ** 2).mean(1)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(), nn.Linear(8, 7, bias=False), nn.ReLU(inplace=True))
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        return self.head(self.body(x[:, 0]))


class Sequence(nn.Module):
    """Linear layers over positions."""

    def __init__(self):
        super().__init__()
        self.embed, self.mix, self.head = nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        h = torch.tanh(self.embed(x))
        return self.head(torch.tanh(self.mix(h)).mean(1))


class Recurrent(nn.Module):
    """One layer called three times, and a layer that nothing reads."""

    def __init__(self):
        super().__init__()
        self.embed, self.step, self.head, self.idle = nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 3), nn.Linear(2, 2)

    def forward(self, x):
        h = self.embed(x[:, 0])
        for _ in range(3):
            h = torch.tanh(self.step(h))
        return self.head(h)


class Tied(nn.Module):
    """Two layers with one weight, and a frozen first layer."""

    def __init__(self):
        super().__init__()
        self.first, self.a, self.b, self.head = nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.b.weight = self.a.weight
        self.first.requires_grad_(False)

    def forward(self, x):
        return self.head(torch.tanh(self.b(torch.tanh(self.a(self.first(x[:, 0]))))))


class Unusual(nn.Module):
    """What has no formula: a plain parameter, a weight read outside its layer, a normalisation, positions before examples."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))
        self.read_twice, self.norm, self.transposed = nn.Linear(5, 6), nn.LayerNorm(6), nn.Linear(6, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        h = torch.tanh(self.read_twice(x[:, 0])) * self.scale + nn.functional.linear(x[:, 1], self.read_twice.weight)
        h = self.transposed(self.norm(h)[None]).squeeze(0)
        return self.head(h)


MODELS = {"mlp": Mlp, "sequence": Sequence, "recurrent": Recurrent, "tied": Tied, "unusual": Unusual}


def make(name, seed, dtype=torch.float64):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MODELS[name]().to(dtype)


def batch(seed, ids, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(len(ids), 2, 5, dtype=dtype, generator=generator)
    y = torch.randn(len(ids), 3, dtype=dtype, generator=generator)
    return x, y, torch.tensor(ids)

"""Models, losses and batches that a traced graph keeps apart by rows: for the compiled agreement."""

import math
import random
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

B, T, D, V = 12, 5, 6, 11


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tokens(rows=B, seed=0):
    return torch.randint(0, V, (rows, T + 1), generator=torch.Generator().manual_seed(seed))


def squared(output, y):
    return ((output.flatten(1) - y) ** 2).mean(1)


def vectors(model, rows=B):
    """Losses and a batch for a model from (B, D) to (B, k)."""

    def losses_of(x, y):
        return squared(model(x), y)

    return losses_of, lambda rows, seed: (noise(rows, D, seed=seed), noise(rows, 1, seed=seed + 1))


def images(model):
    def losses_of(x, y):
        return functional.cross_entropy(model(x), y, reduction="none")

    def batch(rows, seed):
        return noise(rows, 3, 8, 8, seed=seed), torch.randint(0, 4, (rows,), generator=torch.Generator().manual_seed(seed))

    return losses_of, batch


def sequences(model):
    def losses_of(x, y):
        return (model(x) - y).square().mean((1, 2))

    return losses_of, lambda rows, seed: (noise(rows, T, D, seed=seed), noise(rows, T, D, seed=seed + 1))


class Block(nn.Module):
    def __init__(self, fused=True):
        super().__init__()
        self.fused = fused
        self.one, self.two = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))

    def forward(self, x):
        rows, steps, _ = x.shape
        q, k, v = (t.view(rows, steps, 2, D // 2).transpose(1, 2) for t in self.qkv(self.one(x)).chunk(3, -1))
        if self.fused:
            h = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) / math.sqrt(D // 2)
            h = scores.masked_fill(torch.ones(steps, steps).triu(1).bool(), -torch.inf).softmax(-1) @ v
        x = x + self.out(h.transpose(1, 2).reshape(rows, steps, D))
        return x + self.mlp(self.two(x))


class Language(nn.Module):
    def __init__(self, tied=True, fused=True):
        super().__init__()
        self.embed, self.positions = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks = nn.Sequential(Block(fused), Block(fused))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, V, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, x):
        h = self.embed(x) + self.positions(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(h)))


class Kinds(nn.Module):
    """A table that is read by indices that are the same for all rows, and have an entry for each."""

    def __init__(self):
        super().__init__()
        self.embed, self.kinds, self.head = nn.Embedding(V, D), nn.Embedding(2, D), nn.Linear(D, V)

    def forward(self, x):
        kinds = (torch.arange(x.shape[1]) % 2).expand(x.shape)
        return self.head((self.embed(x) + self.kinds(kinds)).tanh().cumsum(1))


def language(model):
    def losses_of(x):
        logits = model(x[:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten(), reduction="none").view(len(x), -1).mean(1)

    return losses_of, lambda rows, seed: (tokens(rows, seed),)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.GroupNorm(2, 4), nn.GroupNorm(2, 4)])
        self.convs = nn.ModuleList([nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1, groups=2)])
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        x = self.stem(x)
        for norm, conv in zip(self.norms, self.convs, strict=True):
            x = x + conv(norm(x).relu())
        return self.head(functional.max_pool2d(x, 2).mean((2, 3)))


class Low(nn.Module):
    """W + B A."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(D, D)
        self.a, self.b = nn.Parameter(noise(2, D, seed=5) * 0.3), nn.Parameter(noise(D, 2, seed=6) * 0.3)

    def forward(self, x):
        return functional.linear(x, self.base.weight + self.b @ self.a, self.base.bias).tanh().sum(1, keepdim=True)


class Hyper(nn.Module):
    """Weights that a network of no input makes."""

    def __init__(self):
        super().__init__()
        self.code, self.maker = nn.Parameter(noise(4, seed=3)), nn.Linear(4, D * D)

    def forward(self, x):
        return (x @ self.maker(self.code).tanh().view(D, D)).tanh().sum(1, keepdim=True)


class Attends(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first, self.attention = first, nn.MultiheadAttention(D, 2, batch_first=first)

    def forward(self, x):
        x = x if self.first else x.transpose(0, 1)
        found = self.attention(x, x, x, need_weights=False)[0]
        return found if self.first else found.transpose(0, 1)


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.start = nn.GRUCell(D, D), nn.Parameter(noise(D, seed=8))

    def forward(self, x):
        h = self.start.expand(len(x), D)
        found = []
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
            found.append(h)
        return torch.stack(found, 1)


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.place = nn.Parameter(noise(1, 1, D)), nn.Parameter(noise(1, T + 1, D, seed=2))
        self.layer = nn.TransformerEncoderLayer(D, 2, 2 * D, dropout=0.0, batch_first=True, norm_first=True)

    def forward(self, x):
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.place
        return self.layer(x)[:, 1:]


class Positions(nn.Module):
    """Linear layers over rows that were flattened with their positions, before and behind."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.norm = nn.Linear(D, D), nn.Linear(D, D), nn.RMSNorm(D)

    def forward(self, x):
        rows, steps, _ = x.shape
        h = self.one(x.reshape(-1, D)).view(rows, steps, D).transpose(0, 1).reshape(-1, D)
        return self.norm(self.two(h.tanh())).view(steps, rows, D).transpose(0, 1)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x


class Pieces(nn.Module):
    """Parts of rows: cut, turned, padded, added up, sorted, and put together again."""

    def __init__(self):
        super().__init__()
        self.scale, self.mix = nn.Parameter(noise(D, seed=4)), nn.Linear(2 * D, D)

    def forward(self, x):
        left, right = (x * self.scale).split(D // 2, -1)
        turned = torch.cat([right.flip(-1), -left.roll(1, 1)], -1)
        added = turned.cumsum(1) / 3 + functional.pad(x[:, 1:], (0, 0, 1, 0)) * self.scale.tanh()
        ranked = added.sort(1).values + added.amax(1, keepdim=True)
        return self.mix(torch.cat([ranked, torch.where(added > 0, added, self.scale)], -1))


def labelled(model):
    def losses_of(x, y):
        scores = model(x).log_softmax(1)
        return -scores[torch.arange(len(x)), y]

    def batch(rows, seed):
        return noise(rows, D, seed=seed), torch.randint(0, 4, (rows,), generator=torch.Generator().manual_seed(seed))

    return losses_of, batch


def penalised(model):
    def losses_of(x, y):
        return squared(model(x), y) + 0.01 * sum(p.square().sum() for p in model.parameters())

    return losses_of, vectors(model)[1]


def physics_by_autograd(model):
    """u'' + u = 0 for each row, by second derivatives."""

    def losses_of(x, y):
        u = model(x)
        (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
        return (second + u).square().mean(1) + (u - y).square().mean(1)

    return losses_of, lambda rows, seed: (noise(rows, 1, seed=seed).requires_grad_(), noise(rows, 1, seed=seed + 1))


def physics_by_function(model):
    def losses_of(x, y):
        def u(one):
            return model(one[None])[0, 0]

        second = torch.func.vmap(torch.func.grad(lambda one: torch.func.grad(u)(one).sum()))(x[:, :1])
        return (second + model(x[:, :1])).square().mean(1) + y.square().mean(1)

    return losses_of, vectors(model)[1]


def gradient_penalty(model):
    def losses_of(x, y):
        out = model(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        return squared(out, y) + (slope.norm(dim=1) - 1).square()

    return losses_of, lambda rows, seed: (noise(rows, D, seed=seed).requires_grad_(), noise(rows, 1, seed=seed + 1))


def steep(model, *shape):
    """Losses of (B, *shape) that have the slope of the outputs in them."""

    def losses_of(x, y):
        out = model(x).flatten(1).square().sum(1)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        return (out - y).square() + (slope.flatten(1).norm(dim=1) - 1).square()

    return losses_of, lambda rows, seed: (noise(rows, *shape, seed=seed).requires_grad_(), noise(rows, seed=seed + 1))


def mlp(*sizes, act=nn.Tanh):
    layers = []
    for one, other in pairwise(sizes):
        layers += [nn.Linear(one, other), act()]
    return nn.Sequential(*layers[:-1])


def normed(layer):
    return parametrizations.weight_norm(layer)


CASES = {
    "mlp": (lambda: mlp(D, 8, 8, 1, act=nn.ReLU), vectors),
    "layer norm": (lambda: nn.Sequential(nn.Linear(D, 8), nn.LayerNorm(8), nn.SiLU(), nn.Linear(8, 1)), vectors),
    "batch norm in eval mode": (lambda: nn.Sequential(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)).eval(), vectors),
    "prelu and softmax": (lambda: nn.Sequential(nn.Linear(D, 8), nn.PReLU(), nn.Softmax(1), nn.Linear(8, 1)), vectors),
    "tied language model": (Language, language),
    "untied, attention by hand": (lambda: Language(tied=False, fused=False), language),
    "indices that are the same for all": (Kinds, language),
    "attention": (lambda: Attends(True), sequences),
    "attention, steps first": (lambda: Attends(False), sequences),
    "class token and positions": (Tokens, sequences),
    "rows flattened with steps": (Positions, sequences),
    "recurrent cell": (Loop, sequences),
    "pieces": (Pieces, sequences),
    "checkpoint": (Checkpointed, sequences),
    "convolutions and group norm": (Residual, images),
    "convolutions in one dimension": (
        lambda: nn.Sequential(nn.Conv1d(T, T, 3, padding=1), nn.InstanceNorm1d(T, affine=True), nn.ConvTranspose1d(T, T, 1)),
        sequences,
    ),
    "convolutions in a circle": (
        lambda: nn.Sequential(nn.Conv1d(T, T, 3, padding=1, padding_mode="circular"), nn.Tanh(), nn.Conv1d(T, T, 1)),
        sequences,
    ),
    "labels by number of row": (lambda: mlp(D, 8, 4), labelled),
    "weight norm": (lambda: nn.Sequential(normed(nn.Linear(D, 8)), nn.Tanh(), normed(nn.Linear(8, 1))), vectors),
    "weight norm of convolutions": (
        lambda: nn.Sequential(normed(nn.Conv1d(T, T, 3, padding=1)), nn.Tanh(), normed(nn.Conv1d(T, T, 1))),
        sequences,
    ),
    "spectral norm in eval mode": (
        lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(D, 8)), nn.Tanh(), nn.Linear(8, 1)).eval(),
        vectors,
    ),
    "W + B A": (Low, vectors),
    "hypernetwork": (Hyper, vectors),
    "L2 in the losses": (lambda: mlp(D, 8, 1), penalised),
    "second derivatives by autograd": (lambda: mlp(1, 8, 8, 1), physics_by_autograd),
    "second derivatives by torch.func": (lambda: mlp(1, 8, 1), physics_by_function),
    "gradient penalty": (lambda: mlp(D, 8, 1), gradient_penalty),
    "gradient penalty of convolutions": (Residual, lambda model: steep(model, 3, 8, 8)),
    "gradient penalty of strides": (
        lambda: nn.Sequential(nn.Conv1d(T, 4, 3, stride=2, dilation=1), nn.Tanh(), nn.Conv1d(4, 4, 2, padding=2, dilation=2)),
        lambda model: steep(model, T, D),
    ),
}


def made(name, dtype=torch.float64):
    """A model, its losses, and a function from numbers of rows and seeds to batches."""
    make, of = CASES[name]
    model = make().to(dtype)
    losses_of, batch = of(model)

    def drawn(rows, seed=0):
        found = batch(rows, seed)
        return tuple(t.detach().to(dtype).requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in found)

    return model, losses_of, drawn


def scattered(rows, environments, seed=0):
    """Ids in any order, of unequal numbers, every environment at least once."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.cat([torch.arange(environments), torch.randint(0, environments, (rows - environments,), generator=generator)])
    return ids[torch.randperm(rows, generator=generator)]


class Raw(nn.Module):
    """Parameters that no layer owns, read by a function."""

    def __init__(self, read, **shapes):
        super().__init__()
        self.read = read
        for seed, (name, shape) in enumerate(shapes.items()):
            self.register_parameter(name, nn.Parameter(noise(*shape, seed=seed) * 0.5))

    def forward(self, x):
        return self.read(x, **dict(self.named_parameters()))


def _chosen(x, a):
    best = x.detach().argmax(1, keepdim=True)
    return x * a + x.gather(1, best)


def _experts(x, a):
    """Two products, of which a mask takes one for each step."""
    one, other = (x @ half for half in a.split(D, 1))
    return torch.where(x[..., :1] > 0, one, other)


def _lifted(x, a, b):
    """A state that begins with a parameter."""
    state, found = a.expand(len(x), D), []
    for t in range(x.shape[1]):
        state = torch.tanh(x[:, t] + state * b)
        found.append(state)
    return torch.stack(found, 1)


PARTS = {
    "linear": lambda: nn.Linear(D, D),
    "layer norm": lambda: nn.LayerNorm(D),
    "rms norm": lambda: nn.RMSNorm(D),
    "group norm": lambda: nn.GroupNorm(1, T),
    "attention": lambda: Block(True),
    "attention by hand": lambda: Block(False),
    "multi-head, steps first": lambda: Attends(False),
    "positions": Positions,
    "pieces": Pieces,
    "recurrent": Loop,
    "convolution": lambda: nn.Conv1d(T, T, 3, padding=1),
    "weight norm": lambda: normed(nn.Linear(D, D)),
    "spectral norm": lambda: parametrizations.spectral_norm(nn.Linear(D, D)).eval(),
    "low rank": lambda: Raw(lambda x, a, b: x @ (a @ b), a=(D, 2), b=(2, D)),
    "scale": lambda: Raw(lambda x, a, b: x * a.exp() + b, a=(D,), b=(T, 1)),
    "softmax over steps": lambda: Raw(lambda x, a: (x * a).softmax(1) * x, a=(D,)),
    "product": lambda: Raw(lambda x, a: torch.einsum("btd,dek,bte->btk", x, a, x.tanh()), a=(D, D, D)),
    "mixer": lambda: Raw(lambda x, a: torch.einsum("btd,ts->bsd", x, a), a=(T, T)),
    "sums": lambda: Raw(lambda x, a: (x * a).cumsum(1) / (1 + x.abs().sum(1, keepdim=True)), a=(T, D)),
    "choice": lambda: Raw(_chosen, a=(D,)),
    "experts": lambda: Raw(_experts, a=(D, 2 * D)),
    "state": lambda: Raw(_lifted, a=(D,), b=(D,)),
    "own weights": lambda: Raw(lambda x, a: x @ torch.tanh(x[:, 0] @ a).view(-1, D, D), a=(D, D * D)),
    "prelu": lambda: nn.PReLU(T),
    "gelu": nn.GELU,
    "bounds": nn.Hardtanh,
}


class Chain(nn.Module):
    def __init__(self, parts, skips):
        super().__init__()
        self.parts, self.skips = nn.ModuleList(parts), skips

    def forward(self, x):
        for part, skip in zip(self.parts, self.skips, strict=True):
            x = part(x) + x if skip else part(x)
        return x


def random_case(number):
    """A chain of parts, a loss and a batch that a number says."""
    draw = random.Random(number)
    names = draw.choices(list(PARTS), k=draw.choice([2, 3, 4]))
    torch.manual_seed(number)
    parts = [PARTS[name]() for name in names]
    if draw.random() < 0.2:
        parts.append(parts[0])  # twice
    model = Chain(parts, [draw.random() < 0.5 for _ in parts]).double()
    head = model.head = nn.Linear(D, 4).double()
    fused = {"attention", "multi-head, steps first"} & set(names)  # torch has no second derivative of it
    kind, decay = draw.choice(["squares", "classes"] if fused else ["squares", "classes", "slope"]), draw.random() < 0.3

    def losses_of(x, y):
        scores = head(model(x).mean(1))
        found = functional.cross_entropy(scores, y, reduction="none") if kind == "classes" else scores.square().mean(1)
        if kind == "slope":
            (slope,) = torch.autograd.grad(scores.tanh().sum(), x, create_graph=True)
            found = found + slope.square().mean((1, 2))
        return found + 0.01 * sum(p.square().sum() for p in model.parameters()) if decay else found

    def batch(rows, seed):
        labels = torch.randint(0, 4, (rows,), generator=torch.Generator().manual_seed(seed))
        return noise(rows, T, D, seed=seed).requires_grad_(kind == "slope"), labels

    return model, losses_of, batch

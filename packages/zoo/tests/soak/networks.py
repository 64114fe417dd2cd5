"""A grammar of networks for the soak: what keeps examples apart, what moves them, what mixes them, put together at random.

A case is a number. It says the network, the batch, the loss and how environments are grouped, call after call.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from one_layer import Doubled

Block = Callable[["Scene", Tensor], Tensor]


@dataclass
class Scene:
    """One forward pass: who is there, and what it may draw on.

    Attributes:
        rng: of what differs from call to call.
        ids: (B,) the environments.
        model: where parameters live, by name.
    """

    rng: random.Random
    ids: Tensor
    model: nn.ModuleDict

    def noise(self, *shape: int) -> Tensor:
        """Return numbers that do not depend on the parameters."""
        return torch.randn(*shape, generator=torch.Generator().manual_seed(self.rng.randrange(2**31)))

    def permutation(self, count: int) -> Tensor:
        """Return an order of so many rows."""
        return torch.randperm(count, generator=torch.Generator().manual_seed(self.rng.randrange(2**31)))

    def within(self) -> Tensor:
        """Return for each example another of its environment, or itself."""
        partner = torch.arange(len(self.ids))
        for e in self.ids.unique():
            members = (self.ids == e).nonzero()[:, 0]
            partner[members] = members[self.permutation(len(members))]
        return partner


class Raw(nn.Module):
    """Parameters that no layer owns."""

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        super().__init__()
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape) * 0.5))


def made(rng: random.Random, name: str, d: int, t: int) -> nn.Module:
    """Return the parameters of a kind of block."""
    makers = {
        "linear": lambda: nn.Linear(d, d, bias=rng.random() < 0.8),
        "mlp": lambda: nn.Sequential(
            nn.Linear(d, 2 * d), rng.choice([nn.ReLU, nn.GELU, nn.Tanh, nn.SiLU])(), nn.Linear(2 * d, d)
        ),
        "layer norm": lambda: nn.LayerNorm(d),
        "rms norm": lambda: nn.RMSNorm(d),
        "group norm": lambda: nn.GroupNorm(2, d),
        "instance norm": lambda: nn.InstanceNorm1d(d, affine=True),
        "batch norm": lambda: nn.BatchNorm1d(d).eval(),
        "conv": lambda: nn.Conv1d(d, d, 3, padding=1, groups=rng.choice([1, 2])),
        "conv transposed": lambda: nn.ConvTranspose1d(d, d, 3, padding=1),
        "embedding": lambda: nn.Embedding(5, d),
        "attention": lambda: nn.MultiheadAttention(d, 2, batch_first=True),
        "encoder": lambda: nn.TransformerEncoderLayer(d, 2, 2 * d, batch_first=True, dropout=0.1),
        "gru": lambda: nn.GRU(d, d, batch_first=True),
        "lstm": lambda: nn.LSTM(d, d, batch_first=True),
        "layer norm, steps first": lambda: nn.LayerNorm(d),
        "rms norm, steps first": lambda: nn.RMSNorm(d),
        "encoder, steps first": lambda: nn.TransformerEncoderLayer(d, 2, 2 * d, dropout=0.1),
        "gru, steps first": lambda: nn.GRU(d, d),
        "prelu": lambda: nn.PReLU(rng.choice([1, t])),
        "bilinear": lambda: nn.Bilinear(d, d, d),
        "scale": lambda: Raw(a=(d,), b=(d,)),
        "positions": lambda: Raw(a=(1, t, d)),
        "class token": lambda: Raw(a=(1, 1, d)),
        "lora": lambda: Raw(a=(d, 2), b=(2, d)),
        "functional": lambda: Raw(a=(d, d), c=()),
        "exponent": lambda: Raw(a=(d,)),
        "loop": lambda: nn.Linear(d, d),
        "experts": lambda: nn.ModuleList([nn.Linear(d, d), nn.Linear(d, d)]),
        "tokens": lambda: nn.Linear(d, d),
        "positions looked up": lambda: Raw(a=(t + 2, d)),
        "stacked": lambda: Raw(a=(2, d, d), b=(2, d)),
        "weight norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(d, d)),
    }
    return makers[name]() if name in makers else nn.Identity()


def _experts(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    flat = x.flatten(0, 1)
    chosen = flat.detach()[:, 0] > 0
    out = torch.zeros_like(flat)
    for k, expert in enumerate(layer):
        rows = (chosen == bool(k)).nonzero()[:, 0]
        out = out.index_add(0, rows, expert(flat[rows]).to(out.dtype))
    return x + out.view_as(x)


def _tokens(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    mask = s.noise(*x.shape[:2]) > 0
    mask[0, 0] = True
    out = x.clone()
    out[mask] = layer(x[mask]).to(out.dtype)
    return out


def _sorted(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    order = x.detach().sum((1, 2)).argsort()
    return functional.linear(x[order], torch.eye(x.shape[2], dtype=x.dtype)).tanh()[order.argsort()]


def _lookup(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    return x + layer((x.detach()[..., 0] * 3).long().abs() % 5)


def _class_token(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    return torch.cat([layer.a.expand(len(x), -1, -1), x], 1)[:, :-1]


def _loop(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    for _ in range(s.rng.randrange(1, 5)):
        x = torch.tanh(layer(x))
    return x


def _pool(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    """A graph network's step: each example adds up neighbours, of its environment alone or of any."""
    to = torch.arange(len(x))
    source = s.within() if s.rng.random() < 0.7 else s.permutation(len(x))
    return x + 0.3 * torch.zeros_like(x).index_add(0, to, x[source])


def _setitem(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    out = x * 2
    out[:, 0] = x[:, -1].tanh()
    return out


def _centred(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    """Subtracts each environment's mean."""
    where = s.ids.unique(return_inverse=True)[1]
    count = int(where.max()) + 1
    sums = torch.zeros(count, *x.shape[1:], dtype=x.dtype).index_add(0, where, x)
    return x - (sums / torch.bincount(where)[:, None, None])[where]


def _two_views(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    a, b = torch.cat([x, x.roll(1, 1)]).mul(0.5).chunk(2)
    return a.tanh() + b


def _packed(s: Scene, x: Tensor, layer: nn.Module) -> Tensor:
    halves = torch.stack([functional.linear(x, w, b) for w, b in zip(layer.a, layer.b, strict=True)])
    vmapped = torch.vmap(lambda w, b: functional.linear(x, w, b))(layer.a, layer.b)
    return (halves + vmapped).mean(0)


APART: dict[str, Callable[[Scene, Tensor, nn.Module], Tensor]] = {
    "linear": lambda s, x, m: m(x).relu(),
    "mlp": lambda s, x, m: x + m(x),
    "layer norm": lambda s, x, m: m(x),
    "rms norm": lambda s, x, m: m(x),
    "group norm": lambda s, x, m: m(x.transpose(1, 2)).transpose(1, 2),
    "instance norm": lambda s, x, m: m(x.transpose(1, 2)).transpose(1, 2),
    "batch norm": lambda s, x, m: m(x.transpose(1, 2)).transpose(1, 2),
    "conv": lambda s, x, m: m(x.transpose(1, 2)).transpose(1, 2),
    "conv transposed": lambda s, x, m: m(x.transpose(1, 2)).transpose(1, 2),
    "embedding": _lookup,
    "attention": lambda s, x, m: x + m(x, x, x, need_weights=s.rng.random() < 0.5)[0],
    "encoder": lambda s, x, m: m(x),
    "gru": lambda s, x, m: m(x)[0],
    "lstm": lambda s, x, m: m(x)[0],
    "layer norm, steps first": lambda s, x, m: m(x.transpose(0, 1).contiguous()).transpose(0, 1),
    "rms norm, steps first": lambda s, x, m: m(x.transpose(0, 1).contiguous()).transpose(0, 1),
    "encoder, steps first": lambda s, x, m: m(x.transpose(0, 1)).transpose(0, 1),
    "gru, steps first": lambda s, x, m: m(x.transpose(0, 1))[0].transpose(0, 1),
    "prelu": lambda s, x, m: m(x),
    "bilinear": lambda s, x, m: m(x, x.roll(1, 1)),
    "scale": lambda s, x, m: m.a * x - m.b,
    "positions": lambda s, x, m: x + m.a[:, : x.shape[1]],
    "positions looked up": lambda s, x, m: x + m.a[torch.arange(x.shape[1])],
    "class token": _class_token,
    "lora": lambda s, x, m: x + x @ m.a @ m.b,
    "functional": lambda s, x, m: functional.linear(x, m.a * m.c),
    "exponent": lambda s, x, m: x * m.a.exp(),
    "loop": _loop,
    "experts": _experts,
    "tokens": _tokens,
    "stacked": _packed,
    "weight norm": lambda s, x, m: m(x).tanh(),
    "sorted": _sorted,
    "time first": lambda s, x, m: x.transpose(0, 1).contiguous().tanh().transpose(0, 1),
    "folded": lambda s, x, m: x.reshape(-1, x.shape[2]).tanh().view_as(x),
    "dropout": lambda s, x, m: functional.dropout(x, 0.3),
    "softmax": lambda s, x, m: x.softmax(-1) + x,
    "cumulated": lambda s, x, m: x.cumsum(1) / x.shape[1],
    "two views": _two_views,
    "in place": lambda s, x, m: (x * 2).add_(x),
    "reversed": lambda s, x, m: x.flip(1),
    "padded": lambda s, x, m: functional.pad(x, (0, 0, 1, 0))[:, :-1] + x,
    "normed": lambda s, x, m: functional.normalize(x, dim=-1),
    "unbound": lambda s, x, m: torch.stack([row.tanh() for row in x.unbind(1)], 1),
}
"""What keeps examples apart, in whatever order it goes through them."""

MOVES: dict[str, Callable[[Scene, Tensor, nn.Module], Tensor]] = {
    "permuted": lambda s, x, m: x[s.permutation(len(x))],
    "twins": lambda s, x, m: x + 0.5 * x * x[s.within()],
    "pooled": _pool,
    "centred": _centred,
    "set": _setitem,
    "opaque": lambda s, x, m: Doubled.apply(x),
    "any twins": lambda s, x, m: x + 0.5 * x[s.permutation(len(x))],
    "batch mean": lambda s, x, m: x - 0.1 * x.mean(0),
    "batch attention": lambda s, x, m: x + (x.flatten(1) @ x.flatten(1).T).softmax(1)[:, :1, None],
    "one row": lambda s, x, m: torch.cat([x[:1] + x[-1:], x[1:]]),
    "reversed rows": lambda s, x, m: x.flip(0),
}
"""What moves or mixes examples: apart in the end, apart by environment, or not."""


def _hinge(s: Scene, h: Tensor) -> Tensor:
    """A margin between examples that is inactive for most of them."""
    gap = h[:, None, 0] - h[None, :, 0]
    return functional.relu(gap.abs() - s.rng.choice([0.5, 100.0])).sum(1)


LOSSES: dict[str, Callable[[Scene, Tensor, Tensor], Tensor]] = {
    "square": lambda s, x, y: (x - y).square().mean((1, 2)),
    "classes": lambda s, x, y: (
        functional.cross_entropy(x.flatten(0, 1), y.argmax(-1).flatten(), reduction="none").view(len(x), -1).mean(1)
    ),
    "classes over time": lambda s, x, y: functional.cross_entropy(x.transpose(1, 2), y.argmax(-1), reduction="none").sum(1),
    "last": lambda s, x, y: functional.smooth_l1_loss(x[:, -1], y[:, -1], reduction="none").sum(1),
    "masked": lambda s, x, y: (functional.mse_loss(x, y, reduction="none") * (y > 0)).sum((1, 2)),
    "twins": lambda s, x, y: x.square().mean((1, 2)) + 2 * (x[:, 0] * x[s.within(), 0]).sum(1),
    "any twins": lambda s, x, y: x.square().mean((1, 2)) + 0.1 * (x[:, 0] * x[s.permutation(len(x)), 0]).sum(1),
    "hinge": lambda s, x, y: (x - y).square().mean((1, 2)) + _hinge(s, x.mean(1)),
    "one by one": lambda s, x, y: torch.stack([(a - b).square().sum() for a, b in zip(x, y, strict=True)]),
    "binary": lambda s, x, y: (
        functional.binary_cross_entropy_with_logits(x, (y > 0).to(x.dtype), reduction="none").flatten(1).mean(1)
    ),
    "loud": lambda s, x, y: (x - y).square().mean((1, 2)) * torch.where(s.ids == s.ids[0], 1000.0, 1.0).to(x.dtype),
    "picked": lambda s, x, y: x.gather(2, y.argmax(-1)[..., None]).logsumexp((1, 2)),
}
"""From outputs and targets (b, t, d) to one loss for each example."""


class Case:
    """One network, and what it is called with.

    Args:
        number: says everything.
    """

    def __init__(self, number: int) -> None:
        rng = random.Random(number)
        self.b, self.t, self.d = rng.randrange(4, 11), rng.randrange(2, 5), rng.choice([4, 6])
        kinds = [*rng.choices(list(APART), k=rng.randrange(1, 6)), *rng.choices(list(MOVES), k=rng.choice([0, 0, 0, 1, 1, 2]))]
        rng.shuffle(kinds)
        self.kinds, self.loss = (
            kinds,
            rng.choice(list(LOSSES) if rng.random() < 0.5 else ["square", "classes", "last", "binary"]),
        )
        with torch.random.fork_rng():
            torch.manual_seed(number)
            self.model = nn.ModuleDict({name: made(rng, name, self.d, self.t) for name in dict.fromkeys(kinds)})
            self.model["head"] = nn.Linear(self.d, self.d)
            for parameter in self.model.parameters():
                nn.init.normal_(parameter, std=0.5)
        self.dtype = torch.float32 if rng.random() < 0.3 else torch.float64
        self.autocast = self.dtype == torch.float32 and rng.random() < 0.2
        self.checkpointed = rng.random() < 0.1
        self.model.to(self.dtype)
        self.rng = rng

    def call(self) -> tuple[Tensor, Tensor]:
        """Return the losses of one forward pass, and the ids of its environments, grouped anew."""
        rng, b = self.rng, self.b
        count = rng.randrange(2, b + 1)
        ids = torch.tensor([*range(count), *(rng.randrange(count) for _ in range(b - count))])
        if rng.random() < 0.7:
            ids = ids[torch.randperm(b, generator=torch.Generator().manual_seed(rng.randrange(2**31)))]
        else:
            ids = ids.sort().values
        scene = Scene(random.Random(rng.randrange(2**31)), ids, self.model)
        x, y = (scene.noise(b, self.t, self.d).to(self.dtype) for _ in range(2))

        def network(h: Tensor) -> Tensor:
            for name in self.kinds:
                h = (APART | MOVES)[name](scene, h, self.model[name]).to(self.dtype)  # autocast returns other types
            return self.model["head"](h)

        with torch.random.fork_rng(), torch.autocast(x.device.type, torch.bfloat16, enabled=self.autocast):
            torch.manual_seed(rng.randrange(2**31))
            state = scene.rng.getstate()
            if self.checkpointed:

                def again(h: Tensor) -> Tensor:
                    scene.rng.setstate(state)  # the same network when it is computed again
                    return network(h)

                out = checkpoint(again, x, use_reentrant=False)
            else:
                out = network(x)
            losses = LOSSES[self.loss](scene, out.to(self.dtype), y)
        return losses, ids

# ruff: noqa: PLC3002, PLW0108 # each operation is one expression
"""Operations on graphs of their own: what is owned by one environment is 0 in every other's backward pass."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from cpu_alone import cpu_alone
from mechlearn.agreement.engine.analysis.rows import WHOLE
from mechlearn.agreement.engine.analysis.walk import prove, survey
from mechlearn.environments import partition
from one_layer import linear, noise

B, T, D = 6, 4, 6
IDS = [0, 1, 0, 2, 1, 2]
TWIN = torch.tensor([2, 4, 0, 5, 1, 3])  # each example's other one of its environment
STRANGER = torch.tensor([1, 0, 3, 2, 5, 4])
MATRIX = noise(D, D)
MASK = noise(B, T, seed=5) > 0
PICK = torch.arange(B * T).view(B, T, 1).expand(B, T, D) % D


def square(h):
    """(b, 6, 6): 4 positions and two more."""
    return torch.cat([h, h[:, :2].tanh()], 1) + 3 * torch.eye(D, dtype=h.dtype)


def changed(h, *changes):
    """Change parts of a tensor in place, which leaves a node that says nothing of them."""
    for change in changes:
        change(h)
    return h


def image(h):
    """(b, 2, 4, 3)."""
    return h.view(B, T, 2, 3).permute(0, 2, 1, 3)


ACTIVATIONS = (
    "celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu",
    "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "tanhshrink", "sigmoid", "tanh",
)  # fmt: skip
FUNCTIONS = (
    "acos", "asin", "atan", "ceil", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1",
    "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "logit", "neg", "rad2deg", "reciprocal", "round", "rsqrt",
    "sign", "sin", "sinc", "sinh", "sqrt", "square", "tan", "trunc",
)  # fmt: skip

KEPT = {
    "abs": lambda h: h.abs(),
    "activations": lambda h: sum(getattr(functional, name)(h) for name in ACTIVATIONS),
    "functions": lambda h: sum(getattr(torch, name)(0.1 * h.tanh() + 0.5) for name in FUNCTIONS),
    "dropout": lambda h: functional.dropout(h, 0.3) + functional.alpha_dropout(h, 0.2),
    "rrelu": lambda h: functional.rrelu(h, training=True),
    "prelu": lambda h: functional.prelu(h.transpose(1, 2), torch.full((D,), 0.3, dtype=h.dtype)),
    "threshold": lambda h: functional.threshold(h, 0.1, 0.0),
    "arithmetic": lambda h: (h + 2 * h - h / (h.abs() + 1) * h) ** 2 + 1 / (h.square() + 1) - (1 - h),
    "powers": lambda h: (h.abs() + 0.1) ** h + 2**h + h**3,
    "two arguments": lambda h: (
        torch.atan2(h, h + 3)
        + torch.hypot(h, h)
        + torch.logaddexp(h, -h)
        + torch.maximum(h, -h)
        + torch.minimum(h, 2 * h)
        + torch.fmax(h, -h)
        + torch.lerp(h, 2 * h, 0.3)
        + torch.xlogy(h, h.abs() + 1)
    ),
    "addcmul": lambda h: torch.addcmul(h, h, h) + torch.addcdiv(h, h, h.abs() + 1),
    "broadcast": lambda h: h * h[:, :1] + h.sum(2, keepdim=True) - h[:, :, 0, None],
    "clamp": lambda h: h.clamp(-1, 1) + h.clamp(min=0) + torch.clamp(h, max=h.detach().abs()) + h.masked_fill(h > 0, 0.0),
    "where": lambda h: torch.where(h > 0, h, 2 * h),
    "casts": lambda h: h.float().double() + h.bfloat16().double(),
    "copies": lambda h: h.clone() + torch.zeros_like(h).copy_(h) + h.contiguous(),
    "triangles": lambda h: h.tril() + h.triu(),
    "softmax": lambda h: h.softmax(-1) + h.log_softmax(1),
    "cumulated": lambda h: h.cumsum(1) + (h.tanh() + 2).cumprod(2) + h.logcumsumexp(1) + h.cummax(1).values,
    "glu": lambda h: functional.glu(h),
    "fourier": lambda h: torch.fft.rfft(h, dim=2).abs(),
    "reductions": lambda h: (
        h.mean(1)
        + h.amax(1)
        + h.amin(1)
        + h.logsumexp(1)
        + h.std(1)
        + h.var(1)
        + h.norm(dim=1)
        + h.prod(1)
        + h.nansum(1)
        + torch.linalg.vector_norm(h, dim=1)
        + h.median(1).values
        + h.max(1).values
        + h.min(1).values
    ),
    "reductions kept": lambda h: h - h.mean(-1, keepdim=True) - h.var(-1, keepdim=True),
    "two outputs": lambda h: torch.var_mean(h, 1)[0] + torch.std_mean(h, 1)[1],
    "normalised": lambda h: functional.normalize(h, dim=-1) + functional.cosine_similarity(h, h + 1, dim=-1)[..., None],
    "norms": lambda h: (
        functional.layer_norm(h, (D,))
        + functional.rms_norm(h, (D,))
        + functional.group_norm(h.transpose(1, 2), 2).transpose(1, 2)
    ),
    "instance norm": lambda h: functional.instance_norm(h.transpose(1, 2)),
    "batch norm": lambda h: functional.batch_norm(h.transpose(1, 2), torch.zeros(D).double(), torch.ones(D).double()),
    "shapes": lambda h: (
        h.view(-1, D).tanh().reshape(B, 2, 2, D).flatten(1).unflatten(1, (T, D)).unsqueeze(0).squeeze(0).squeeze()
    ),
    "folded with positions first": lambda h: h.transpose(0, 1).reshape(T * B, D).tanh().view(T, B, D).permute(1, 0, 2),
    "axes": lambda h: h.permute(2, 0, 1).movedim(1, 0).transpose(1, 2).swapaxes(0, 1).transpose(0, 1),
    "transposed": lambda h: h[:, 0].T.tanh().T,
    "expanded": lambda h: h[:, None].expand(-1, 3, -1, -1).tanh().sum(1) + h.repeat(1, 1, 2)[..., :D] + h.tile(2, 1, 1)[B:],
    "repeated": lambda h: h.repeat(2, 1, 1).tanh()[:B] + h.repeat_interleave(2, 0).tanh()[::2],
    "parts": lambda h: (
        h.split([1, 3], 1)[1].sum(1) + h.chunk(2, 2)[0].sum((1, 2))[:, None] + h.unbind(1)[2] + h[:, 1] + h[:, 1:3].sum(1)
    ),
    "parts of the batch": lambda h: (
        torch.cat([h[3:].tanh(), h[:3]])[torch.tensor([3, 4, 5, 0, 1, 2])] + torch.cat(h.split(2)) + torch.stack(h.unbind())
    ),
    "joined": lambda h: torch.cat([h, h.tanh()], 1) + torch.stack([h, h], 1).flatten(1, 2),
    "views of the batch": lambda h: (lambda a, b: a * b)(*torch.cat([h, h.tanh()]).sin().chunk(2)),
    "flipped": lambda h: h.flip(1) + h.flip(0).flip(0) + h.roll(1, 1) + h.roll(2, 0).tanh().roll(-2, 0),
    "diagonal": lambda h: torch.diagonal(square(h), 0, 1, 2) + torch.diagonal(square(h), 1, 1, 2).sum(1, keepdim=True),
    "diagonal over the batch": lambda h: (h[:, 0] @ h[:, 1].T).diagonal()[:, None],
    "windows": lambda h: h.unfold(1, 2, 1).sum(-1),
    "padded": lambda h: (
        functional.pad(h, (1, 2, 0, 1))
        + functional.pad(functional.pad(h, (0, 0, 0, 0, 1, 2)).tanh(), (0, 0, 0, 0, -1, -2)).sum((1, 2))[:, None, None]
    ),
    "padded images": lambda h: (
        functional.pad(image(h), (1, 1, 1, 1), mode="reflect") + functional.pad(image(h), (1, 1, 1, 1), mode="replicate")
    ),
    "pooled": lambda h: (
        functional.max_pool2d(image(h), 2).flatten(1).sum(1)[:, None]
        + functional.avg_pool2d(image(h), 2).flatten(1)
        + functional.adaptive_avg_pool2d(image(h), (2, 1)).flatten(1)
    ),
    "pooled lines": lambda h: functional.max_pool1d(h, 2) + functional.avg_pool1d(h, 2) + functional.adaptive_max_pool1d(h, 3),
    "pooled volumes": lambda h: functional.max_pool3d(image(h)[:, None], 2) + functional.avg_pool3d(image(h)[:, None], 2),
    "resized": lambda h: (
        functional.interpolate(image(h), scale_factor=2) + functional.interpolate(image(h), scale_factor=2, mode="bilinear")
    ),
    "resized lines": lambda h: (
        functional.interpolate(h, scale_factor=2) + functional.interpolate(h, scale_factor=2, mode="linear")
    ),
    "convolved": lambda h: (
        functional.conv2d(image(h), noise(3, 2, 2, 2))
        + functional.conv1d(h, noise(T, T, 3), padding=1).sum((1, 2))[:, None, None, None]
    ),
    "convolved transposed": lambda h: functional.conv_transpose1d(h, noise(T, 2, 3)),
    "patches": lambda h: functional.fold(functional.unfold(image(h), (2, 1), stride=(2, 1)), (4, 3), (2, 1), stride=(2, 1)),
    "shuffled": lambda h: (
        functional.pixel_shuffle(h.view(B, 4, 2, 3), 2).flatten(1)
        + functional.channel_shuffle(h.view(B, 4, 2, 3), 2).flatten(1)
    ),
    "unshuffled": lambda h: functional.pixel_unshuffle(h.view(B, 1, 4, 6), 2),
    "sampled": lambda h: functional.grid_sample(image(h), h[:, :2, :4].reshape(B, 2, 2, 2).tanh(), align_corners=False),
    "products": lambda h: h @ noise(D, D) + torch.bmm(h, h.transpose(1, 2)) @ h + torch.einsum("btd,bsd->bts", h, h) @ h,
    "products of one axis": lambda h: (
        h[:, 0] @ noise(D) + torch.addmv(h[:, 1, 0], h[:, 0], noise(D)) + torch.addmm(h[:, 0], h[:, 0], noise(D, D))[:, 0]
    ),
    "products and sums": lambda h: torch.baddbmm(h, h, noise(B, D, D)) + torch.matmul(h, noise(B, D, D)),
    "bilinear": lambda h: functional.bilinear(h[:, 0], h[:, 1], noise(3, D, D)),
    "distances": lambda h: torch.cdist(h, h + 1) + functional.pairwise_distance(h, 2 * h)[..., None],
    "attention": lambda h: (
        functional.scaled_dot_product_attention(h[:, None], h[:, None], h[:, None], is_causal=True)[:, 0]
        + functional.scaled_dot_product_attention(h, h, h)
    ),
    "algebra": lambda h: (
        torch.linalg.inv(square(h)) + torch.matrix_exp(0.1 * square(h)) + torch.linalg.det(square(h))[:, None, None]
    ),
    "decomposed": lambda h: torch.linalg.cholesky(square(h) @ square(h).transpose(1, 2) + 20 * torch.eye(D).double()),
    "complex": lambda h: torch.view_as_real(torch.view_as_complex(h.view(B, T, 3, 2)).exp()),
    "indexed": lambda h: (
        h[TWIN] + h[:, torch.tensor([1, 0, 3, 2])] + h.index_select(0, TWIN) + h.index_select(1, torch.tensor([1, 0, 3, 2]))
    ),
    "picked": lambda h: (
        h[torch.arange(B), torch.arange(B) % T] + h.gather(2, PICK).sum(1) + torch.take_along_dim(h, PICK, 2).sum(1)
    ),
    "masked": lambda h: torch.zeros(B, D).double().index_add(0, MASK.nonzero()[:, 0], h[MASK].tanh()),
    "masked one by one": lambda h: torch.zeros(B, T).double().masked_scatter(MASK, h[..., 0].masked_select(MASK).tanh()),
    "taken": lambda h: torch.take(h, torch.arange(B) * T * D),
    "sorted": lambda h: h.sort(1).values + h.topk(T, 2).values.sum(-1, keepdim=True) + h.kthvalue(2, 1).values[:, None],
    "sorted by length and back": lambda h: (lambda order: h[order].tanh()[order.argsort()])(h.detach().sum((1, 2)).argsort()),
    "put": lambda h: (
        torch.zeros_like(h).index_put((torch.arange(B), torch.arange(B) % T), h[:, 0])
        + torch.zeros_like(h).index_copy(0, TWIN, h)
    ),
    "scattered": lambda h: (
        torch.zeros_like(h).scatter(1, PICK % T, h)
        + torch.zeros_like(h).scatter_add(1, PICK % T, h)
        + torch.zeros_like(h).scatter_reduce(1, PICK % T, h, "sum")
        + h.index_fill(1, torch.tensor([0]), 0.0)
    ),
    "segments": lambda h: torch.segment_reduce(h.flatten(0, 1), "sum", lengths=torch.full((B,), T)),
    "routed": lambda h: (lambda rows: h[:, 0] + torch.zeros(B, D).double().index_add(0, rows, h[rows, 0].tanh()))(
        (noise(B) > 0).nonzero()[:, 0]
    ),
    "recurrent": lambda h: nn.GRU(D, D, batch_first=True).double()(h)[0] + nn.RNN(D, D, batch_first=True).double()(h)[0],
    "long memory": lambda h: nn.LSTM(D, D, batch_first=True).double()(h)[0],
    "mapped": lambda h: torch.vmap(lambda row: row.tanh() @ MATRIX)(h),
    "pairs in an environment": lambda h: h * h[TWIN],
    "losses": lambda h: sum(
        loss(h, h.detach() + 1, reduction="none")
        for loss in (
            functional.mse_loss,
            functional.l1_loss,
            functional.smooth_l1_loss,
            functional.huber_loss,
            functional.binary_cross_entropy_with_logits,
            functional.poisson_nll_loss,
        )
    ),
    "losses of shares": lambda h: (
        functional.binary_cross_entropy(h.sigmoid(), h.detach().sigmoid(), reduction="none")
        + functional.kl_div(h, h.detach().exp(), reduction="none")
        + functional.soft_margin_loss(h, h.detach().sign(), reduction="none")
        + functional.gaussian_nll_loss(h, h.detach(), h.exp(), reduction="none")
    ),
    "classes": lambda h: (
        functional.cross_entropy(h[:, 0], torch.arange(B), reduction="none")
        + functional.cross_entropy(h.transpose(1, 2), torch.zeros(B, T, dtype=torch.long), reduction="none").sum(1)
        + functional.multi_margin_loss(h[:, 0], torch.arange(B), reduction="none")
    ),
    "classes in order": lambda h: functional.ctc_loss(
        h.log_softmax(-1).transpose(0, 1),
        torch.ones(B, 1, dtype=torch.long),
        torch.full((B,), T),
        torch.full((B,), 1),
        reduction="none",
    ),
    "margins": lambda h: (
        functional.triplet_margin_loss(h[:, 0], h[:, 1], h[:, 2], reduction="none")
        + functional.margin_ranking_loss(h[:, 0, 0], h[:, 1, 0], torch.ones(B).double(), reduction="none")
    ),
    "changed in place": lambda h: changed(
        2 * h,
        lambda v: v[..., :2].copy_(h[..., :2].tanh()),
        lambda v: v[:, 1].mul_(h[:, 2]),
        lambda v: v[:, 0].add_(h[TWIN, 1]),
        lambda v: v[:2, 3].fill_(1.0),
        lambda v: v[2].cumsum_(0),
        lambda v: v[:, :2].add_(v[:, 3:].tanh()),
    ),
    "put together in place": lambda h: changed(
        torch.zeros(D, T, B).double(), lambda v: v.permute(2, 1, 0).copy_(h.tanh())
    ).permute(2, 1, 0),
    "one loss an example": lambda h: torch.stack(
        [functional.mse_loss(row, row.detach() + 1) + row.std() + row.norm() + row.max() + row.prod() for row in h]
    ),
}

MET = {
    "pairs across": lambda h: h * h[STRANGER],
    "a mean": lambda h: h - h.mean(0),
    "a row": lambda h: h + h[:1],
    "batch norm": lambda h: functional.batch_norm(h.transpose(1, 2), None, None, training=True),
    "attention over the batch": lambda h: functional.scaled_dot_product_attention(h[:, 0][None], h[:, 0][None], h[:, 0][None])[
        0
    ],
    "distances": lambda h: torch.cdist(h[:, 0], h[:, 0]),
    "cumulated": lambda h: h.cumsum(0),
    "softmax": lambda h: h.softmax(0),
    "sorted by value": lambda h: h[STRANGER].sort(0).values,
    "convolved over the batch": lambda h: functional.conv1d(h[:, 0].T[None], noise(D, D, 3), padding=1)[0].T,
    "fourier": lambda h: torch.fft.fft(h, dim=0).abs(),
    "changed in place, across": lambda h: changed(2 * h, lambda v: v[:, 0].add_(h[STRANGER, 0])),
    "broadcast in place": lambda h: changed(2 * h, lambda v: v[:, 0].add_(h[:1, 0])),
    "cumulated in place": lambda h: changed(2 * h, lambda v: v[:, 0].cumsum_(0)),
    "set in place": lambda h: (2 * h).index_put_((torch.tensor([0]),), h[1]),
}


def owners_of(rows, shape, index):
    """The environment of every element of a gradient, as `Rows` says it."""
    if rows.dim == WHOLE:
        return rows.owners.view([1] * len(shape)).expand(shape)
    along = index.repeat_interleave(rows.inner).repeat(rows.outer) if rows.owners is None else rows.owners
    assert len(along) == shape[rows.dim]
    return along.view([-1 if d == rows.dim else 1 for d in range(len(shape))]).expand(shape)


def owned(operation):
    """Walk, hold every read's gradient against the definition, and return what was lost."""
    layer = linear()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        losses = (
            operation(layer(noise(B, T, D, seed=1))).flatten(1)
            if operation not in FLAT
            else operation(layer(noise(B, T, D, seed=1)))
        )
    losses = (losses.real if losses.is_complex() else losses).reshape(B, -1).square().mean(1)
    groups = partition(IDS, B, losses.device)
    found = prove(survey(losses), {id(p): name for name, p in layer.named_parameters()}, groups)
    reads = [read for some in found.reads.values() for read in some]
    for e in range(groups.count):
        arrived = {}
        handles = [
            read.node.register_prehook(lambda deltas, node=read.node, to=arrived: to.__setitem__(node, deltas[0]))
            for read in reads
        ]
        own = (groups.index == e).to(losses)
        torch.autograd.grad(losses, list(layer.parameters()), own, retain_graph=True)
        for handle in handles:
            handle.remove()
        for read in reads:
            delta = arrived[read.node]
            assert not delta[owners_of(read.rows, delta.shape, groups.index) != e].any(), (read.node.name(), read.rows)
    return found


FLAT = (
    KEPT["products of one axis"], KEPT["one loss an example"], KEPT["taken"], KEPT["classes"], KEPT["classes in order"],
    KEPT["margins"],
)  # fmt: skip


FUSED = cpu_alone("recurrent layers whose nodes are known; cuDNN's is not known to keep rows apart")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=FUSED if name in ("recurrent", "long memory") else ()) for name in KEPT]
)
def test_what_keeps_examples_apart_is_proved(name):
    assert not owned(KEPT[name]).lost


@pytest.mark.parametrize("name", MET)
def test_what_makes_environments_meet_is_found_out(name):
    found = owned(MET[name])
    assert set(found.lost).union(*(made.names for made in found.made.values())) == {"weight", "bias"}


class Clipped(torch.autograd.Function):
    """A user's change in place, whose backward is no linear map."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient / gradient.norm()


@pytest.mark.parametrize(
    ("change", "dtype", "reason"),
    [
        (lambda v: Clipped.apply(v[:, 0]), torch.float64, "is no linear map"),
        (lambda v: v[:, 0].mul_(2), torch.bfloat16, "is tried in float32 and float64 alone"),
    ],
)
def test_what_cannot_be_tried_is_lost(change, dtype, reason):
    layer = linear()
    h = layer(noise(B, T, D)).to(dtype, copy=True)
    change(h)
    losses = h.double().flatten(1).square().mean(1)
    found = prove(survey(losses), {id(layer.weight): "weight"}, partition(IDS, B, losses.device))
    assert found.lost == {"weight": f"torch::autograd::CopySlices {reason}"}

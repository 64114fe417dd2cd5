"""Reads by convolutions, normalisations, lookups and the fused LSTM against the oracle."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from cpu_alone import cpu_alone
from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.engine import layers
from mechlearn.agreement.engine.analysis.rows import Rows
from reads_oracles import IDS, NEEDS, assert_exact, draw, leaf, losses_of, parameter, reads_of

DTYPES = [torch.float64, torch.float32]


def built(make, dtype=torch.float64):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = make().to(dtype)
        for p in model.parameters():
            nn.init.normal_(p)
    return model


def parameters(model):
    return dict(model.named_parameters())


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
@settings(max_examples=10)
@given(data=st.data(), ids=st.sampled_from(list(IDS.values())), groups=st.integers(1, 2), bias=st.booleans())
def test_convolutions(dimensions, transposed, data, ids, groups, bias):
    def per_dimension(low, high):
        return data.draw(st.tuples(*[st.integers(low, high)] * dimensions))

    kinds = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d) if transposed else (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    kernel, stride, dilation, padding = (per_dimension(*r) for r in ((1, 3), (1, 2), (1, 2), (0, 1)))
    extra = {"output_padding": tuple(s - 1 for s in stride)} if transposed and all(d == 2 for d in dilation) else {}
    if transposed and extra == {}:
        dilation = (1,) * dimensions
    model = built(
        lambda: kinds[dimensions - 1](
            2 * groups, 3 * groups, kernel, stride, padding, dilation=dilation, groups=groups, bias=bias, **extra
        )
    )
    x = leaf(6, 2 * groups, *[6] * dimensions)
    assert_exact(losses_of(model(x)), ids, parameters(model), [x])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_wide_convolution_takes_tiles(ids, dtype, monkeypatch):
    monkeypatch.setattr("mechlearn.agreement.engine.layers.convolution.UNFOLD_ELEMENTS", 1)
    monkeypatch.setattr("mechlearn.agreement.engine.layers.products.CHUNK_ELEMENTS", 64)
    model = built(lambda: nn.Conv2d(3, 5, 3, stride=2, padding=(1, 2), dilation=(1, 2)), dtype)
    x = leaf(6, 3, 8, 9, dtype=dtype)
    assert_exact(losses_of(model(x)), ids, parameters(model), [x])


NORMS = {
    "layer, of positions": (lambda: nn.LayerNorm(4), Rows(0)),
    "layer, of images": (lambda: nn.LayerNorm((3, 4)), Rows(0)),
    "layer, of all": (lambda: nn.LayerNorm((2, 3, 4)), Rows(0)),
    "group": (lambda: nn.GroupNorm(2, 2, eps=0.1), Rows(0)),
    "group, one": (lambda: nn.GroupNorm(1, 2), Rows(0)),
    "batch, eval": (lambda: nn.BatchNorm2d(2).eval(), Rows(0)),
    "instance": (lambda: nn.InstanceNorm2d(2, affine=True), Rows(0, 1, 2)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("kind", NORMS)
def test_normalisations(kind, ids, dtype):
    make, rows = NORMS[kind]
    model = built(make, dtype)
    x = leaf(6, 2, 3, 4, dtype=dtype)
    at = ["RepeatBackward0"] if kind == "instance" else []
    assert_exact(losses_of(model(x)), ids, parameters(model), [x], rows, at)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_a_layer_norm_of_steps_that_lie_first(ids, dtype):
    model = built(lambda: nn.LayerNorm(4), dtype)
    x = leaf(5, 6, 4, dtype=dtype)
    node = "NativeLayerNormBackward0"
    assert_exact(losses_of(model(x).transpose(0, 1)), ids, parameters(model), [x], {node: Rows(1)}, [node])


def test_batch_norm_of_one_environment_uses_the_call_s_statistics():
    model = built(lambda: nn.BatchNorm2d(2))
    x = leaf(6, 2, 3, 4)
    assert_exact(losses_of(model(x)), [0] * 6, parameters(model), [x])


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("frequency", [False, True])
@pytest.mark.parametrize("sequence_first", [False, True])
def test_embeddings(ids, padding, frequency, sequence_first):
    tokens, table = torch.randint(0, 6, (6, 9), generator=torch.Generator().manual_seed(0)), parameter(6, 4)
    first = nn.functional.embedding(
        tokens.T.contiguous() if sequence_first else tokens, table, padding, scale_grad_by_freq=frequency
    )
    y = (first.transpose(0, 1) if sequence_first else first).tanh()
    read = Rows(1) if sequence_first else Rows(0)
    # The table's reads lie below the embedding itself: a leaf of its own stands for the rest of a network.
    x = leaf(6, 9, 4)
    assert_exact(losses_of(y * x), ids, {"table": table}, [x], {"EmbeddingBackward0": read}, ["EmbeddingBackward0"], share=0.3)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_tied_embeddings(ids):
    tokens, table = torch.randint(0, 6, (6, 9), generator=torch.Generator().manual_seed(0)), parameter(6, 4)
    y = nn.functional.embedding(tokens, table).tanh() * draw(4, seed=4) @ table.T
    x = leaf(6, 9, 6)
    rows = {"EmbeddingBackward0": Rows(0), "MmBackward0": Rows(0, 1, 9)}
    assert_exact(losses_of(y * x), ids, {"table": table}, [x], rows, ["EmbeddingBackward0", "MmBackward0"], share=0.3)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_embedding_bags(ids, mode, padding, weighted):
    if weighted and mode != "sum":
        return
    tokens, table = torch.randint(0, 6, (20,), generator=torch.Generator().manual_seed(0)), parameter(6, 4)
    weights = draw(20, seed=5) if weighted else None
    offsets = torch.tensor([0, 3, 4, 9, 9, 15])
    y = nn.functional.embedding_bag(tokens, table, offsets, mode=mode, padding_idx=padding, per_sample_weights=weights)
    x = leaf(6, 4)
    name = ["EmbeddingBagBackward0"]
    assert_exact(losses_of(y.tanh() * x), ids, {"table": table}, [x], Rows(0), name, share=0.3)


def test_a_bag_of_maxima_has_no_formula():
    table, x = parameter(6, 4), leaf(2, 4)
    y = nn.functional.embedding_bag(torch.tensor([[0, 1], [2, 3]]), table, mode="max") * x
    (read,) = reads_of(losses_of(y), {"table": table}, [x], Rows(0), ["EmbeddingBagBackward0"])
    assert "maxima" in layers.covers(read)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("select", [False, True])
def test_rows_picked_by_examples(ids, select):
    picked, p = torch.tensor([0, 2, 5, -1 if not select else 5, 2, 2]), parameter(6, 4, 2)
    x = leaf(6, 4, 2)
    y = (p.index_select(0, picked) if select else p[picked]) * x
    names = ["IndexSelectBackward0", "IndexBackward0"]
    assert_exact(losses_of(y), ids, {"p": p}, [x], Rows(0), names, share=0.3)


@cpu_alone("the node of a fused LSTM is oneDNN's")
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("read", ["all", "last", "cell"])
def test_fused_lstm(ids, layers, bidirectional, batch_first, read):
    options = {"num_layers": layers, "bidirectional": bidirectional, "batch_first": batch_first}
    model = built(lambda: nn.LSTM(3, 4, **options), torch.float32)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0.5)
    x = leaf(6, 5, 3, dtype=torch.float32)
    states, (hidden, cell) = model(x if batch_first else x.transpose(0, 1))
    states = states if batch_first else states.transpose(0, 1)
    y = {"all": states, "last": states[:, -1] + hidden[0].sin().repeat(1, 1 + bidirectional), "cell": cell.transpose(0, 1)}[
        read
    ]
    losses = losses_of(y)
    names = parameters(model)
    assert_exact(losses, ids, names, [x], Rows(1), needs=NEEDS - {"log_magnitude"}, share=0.0)


class Twice(nn.Module):
    """A bilinear layer of one input, used as both."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Bilinear(4, 4, 3)

    def forward(self, x):
        return self.layer(x, x)


WHOLES = {
    "linear": (lambda: nn.Linear(4, 3), (5, 4)),
    "linear, vector": (lambda: nn.Linear(4, 3), (4,)),
    "convolution": (lambda: nn.Conv1d(4, 3, 2), (2, 4, 6)),
    "layer norm": (lambda: nn.LayerNorm(4), (5, 4)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
    "batch norm": (lambda: nn.BatchNorm1d(4), (5, 4, 2)),
    "prelu": (lambda: nn.PReLU(4), (5, 4)),
    "bilinear": (Twice, (5, 4)),
}


@pytest.mark.parametrize("kind", WHOLES)
@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0, 1]])
def test_a_forward_pass_for_each_environment(kind, ids):
    make, shape = WHOLES[kind]
    model, x = built(make), leaf(3, *shape)
    named, rows, losses = parameters(model), {}, []
    for e, part in zip(ids, x, strict=True):
        loss = losses_of(model(part)[None]).sum()
        losses.append(loss)
        for read in reads_of(loss, named, [x], Rows(0)):
            rows[read.node] = Rows(-1, owners=torch.tensor([e]))
    assert_exact(torch.stack(losses), ids, named, [x], rows)


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8", "ignore:.*one backward pass for each environment")
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_bytes_as_an_index_are_a_mask(ids):
    class Picked(nn.Module):
        def __init__(self):
            super().__init__()
            self.of_all, self.of_each = nn.Parameter(torch.randn(5)), nn.Parameter(torch.randn(9, 2))

        def forward(self, x):
            shared = (x[:, :3] * self.of_all[torch.tensor([1, 0, 1, 0, 1], dtype=torch.uint8)]).sum(1)
            own = self.of_each[torch.tensor([1, 1, 0, 1, 0, 1, 0, 1, 1], dtype=torch.uint8)]
            return shared + (x[:, :2] * own).sum(1)

    model, x = built(Picked), leaf(6, 3)
    assert_definition(Agreement(model, AndMask(0.6)), (model(x) - 1) ** 2, ids)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimensions", [1, 2])
def test_transposed_convolution_of_points_whose_channels_lie_last(dimensions, dtype):
    model = built(lambda: (nn.ConvTranspose1d, nn.ConvTranspose2d)[dimensions - 1](4, 6, 3, groups=2), dtype)
    x = torch.randn(5, *[1] * dimensions, 4, dtype=dtype, generator=torch.Generator().manual_seed(0)).movedim(-1, 1)
    losses = model(x).square().flatten(1).sum(1)
    assert set(Agreement(model, AndMask(0.6)).backward(losses, range(5)).paths.values()) == {"layer"}
    if dtype == torch.float64:
        assert_definition(Agreement(model, AndMask(0.6)), model(x).square().flatten(1).sum(1), range(5))
